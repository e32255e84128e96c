"""What an image says of its tools, in its label."""

import pytest
from tests.providers.container.boxes import containers
from tests.servers.containers import IMAGE, LABEL, LABELLED, Host

from pegboard.config.manifest.model import CommandEntry
from pegboard.config.manifest.reader import read_label
from pegboard.ports.providers import ToolDescriptionError
from pegboard.providers.container.flags import ContainerNamespace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.behaviour("providers.container_discovered")
async def test_the_tools_of_an_image_stand_in_its_label(host: Host, board: ContainerNamespace) -> None:
    engine = containers(host.settings, board)
    told: list[str] = []
    await engine.fetch(LABELLED, told.append)
    assert await engine.label(LABELLED, told.append) == LABEL
    assert read_label(LABEL, LABELLED) == (CommandEntry("shout", ("tr", "a-z", "A-Z"), "Shouts."),)
    assert await engine.label(IMAGE, told.append) is None
    assert told == []


async def test_an_image_that_is_not_here_is_fetched_and_if_it_cannot_be_that_is_told(
    host: Host, board: ContainerNamespace
) -> None:
    told: list[str] = []
    # Nothing listens at that port, so it cannot be had.
    image = "127.0.0.1:9/nowhere:1"
    with pytest.raises(ToolDescriptionError) as problem:
        await containers(host.settings, board).label(image, told.append)
    assert told == [f"fetching the image {image}"]
    (why,) = problem.value.problems
    assert why.startswith(f"the image {image} is not here and cannot be fetched: {host.name} says: ")
    with pytest.raises(ToolDescriptionError, match="'dir:/etc' does not name an image"):
        await containers(host.settings, board).label("dir:/etc")
