"""Images that speak MCP: servers like any other, in a box."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import pytest
from tests.providers.container.boxes import Bench, containers, text_of
from tests.providers.mcp.running import PATIENCE, admitted, as_it_is, nothing_left
from tests.servers.containers import IMAGE, Host

from pegboard.config.keys.features import ContainerSettings
from pegboard.core.calls.call import Outcome, ProviderFailure
from pegboard.core.model.catalogue import ProviderAsleep, ProviderDown, ProviderUp
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import DeclaredAt, Server, StartOnDemand, StartPolicy, StartWithGateway, Stdio, Timeouts
from pegboard.core.model.tool import ContainerImage
from pegboard.ports.providers import Expand, Provider
from pegboard.providers.container.flags import ContainerNamespace
from pegboard.providers.mcp.provider import McpServerProvider

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

_ALWAYS = StartWithGateway()
SPEAKER = ServerKey(ToolsetId("demo"), ServerId("speaker"))


def _connect(server: Server, expand: Expand) -> Provider:
    return McpServerProvider(server, expand, lambda: datetime.now(UTC), chance=lambda: 0.0)


def _provider(
    settings: ContainerSettings,
    board: ContainerNamespace,
    image: ContainerImage,
    starts: StartPolicy = _ALWAYS,
    stop: float = 5.0,
) -> Provider:
    server = Server(
        SPEAKER,
        Stdio("replaced by what runs the image"),
        DeclaredAt("toolset.yaml", 1),
        timeouts=Timeouts(30.0, 30.0, stop),
        starts=starts,
    )
    return containers(settings, board).mcp_provider(server, image, as_it_is, _connect)


@asynccontextmanager
async def speaking(host: Host, board: ContainerNamespace, provider: Provider) -> AsyncIterator[Bench]:
    at_work = Bench(provider)
    async with nothing_left(), anyio.create_task_group() as tasks:
        tasks.start_soon(provider.run, at_work.ring)
        try:
            yield at_work
        finally:
            tasks.cancel_scope.cancel()
    assert host.left() == []


def _image(*words: str, **given: str) -> ContainerImage:
    return ContainerImage(IMAGE, args=("sh", "/tools/speaker.sh", *words), env=given)


async def _call(at_work: Bench, name: str) -> Outcome:
    tool = next(tool for tool in at_work.provider.listing().tools if tool.id.name == name)
    with anyio.fail_after(PATIENCE):
        return await at_work.provider.call(admitted(name, {})._replace(tool=tool))


@pytest.mark.behaviour("containers.speaks_mcp", "containers.docker")
async def test_an_image_that_speaks_mcp_is_a_server_of_its_toolset(host: Host, board: ContainerNamespace) -> None:
    provider = _provider(host.settings, board, _image("${word", GREETING="good day"))
    async with speaking(host, board, provider) as at_work:
        listing = await at_work.until(ProviderUp)
        assert [str(tool.id) for tool in listing.tools] == [
            "mcp:demo~speaker:greet",
            "mcp:demo~speaker:die",
            "mcp:demo~speaker:hang",
        ]
        assert text_of(await _call(at_work, "greet")).startswith("good day from ${word ")
        assert len(host.left()) == 1
        assert "speaker is up with GREETING=good day" in at_work.provider.log()


@pytest.mark.behaviour("containers.speaks_mcp")
async def test_one_that_dies_is_started_again_and_leaves_nothing(host: Host, board: ContainerNamespace) -> None:
    async with speaking(host, board, _provider(host.settings, board, _image())) as at_work:
        await at_work.until(ProviderUp)
        outcome = await _call(at_work, "die")
        assert isinstance(outcome, ProviderFailure)
        await at_work.until(ProviderDown)
        await at_work.until(ProviderUp)
        assert text_of(await _call(at_work, "greet")).startswith("hello from")
        with anyio.fail_after(PATIENCE):
            while len(await anyio.to_thread.run_sync(host.left)) != 1:  # noqa: ASYNC110 - no bell rings for it
                await anyio.sleep(0.1)


@pytest.mark.behaviour("containers.speaks_mcp", "containers.nothing_left")
async def test_one_that_ignores_every_request_to_end_is_gone_all_the_same(
    host: Host, board: ContainerNamespace
) -> None:
    provider = _provider(host.settings, board, _image("--stubborn"), stop=1.0)
    async with speaking(host, board, provider) as at_work:
        await at_work.until(ProviderUp)
        assert len(host.left()) == 1


@pytest.mark.behaviour("containers.speaks_mcp", "containers.nothing_left")
async def test_one_that_nobody_calls_is_stopped_and_a_call_starts_it(host: Host, board: ContainerNamespace) -> None:
    provider = _provider(host.settings, board, _image("--stubborn"), StartOnDemand(0.2), stop=1.0)
    async with speaking(host, board, provider) as at_work:
        await at_work.until(ProviderAsleep)
        with anyio.fail_after(PATIENCE):
            while await anyio.to_thread.run_sync(host.left):  # noqa: ASYNC110 - no bell rings for it
                await anyio.sleep(0.1)
        assert text_of(await _call(at_work, "greet")).startswith("hello from --stubborn")


@pytest.mark.behaviour("containers.speaks_mcp")
async def test_one_whose_image_is_gone_says_so_and_what_to_do(host: Host, board: ContainerNamespace) -> None:
    provider = _provider(host.settings, board, ContainerImage("localhost/pegboard/nowhere:1"))
    async with speaking(host, board, provider) as at_work:
        health = (await at_work.until(ProviderDown)).health
        assert isinstance(health, ProviderDown)
        image = "localhost/pegboard/nowhere:1"
        assert (
            health.why
            == f"cannot run the image {image}: {host.missing(image)}. Import the toolset again, which fetches it"
        )


@pytest.mark.behaviour("containers.engine_missing")
async def test_without_an_engine_it_is_down_and_says_what_to_install(
    board: ContainerNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = _provider(ContainerSettings("enginette"), board, _image())
    at_work = Bench(provider)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(provider.run, at_work.ring)
        listing = await at_work.until(ProviderDown)
        assert isinstance(listing.health, ProviderDown)
        assert listing.health.why.startswith("needs the container engine 'enginette', which was not found. Install it")
        tasks.cancel_scope.cancel()
