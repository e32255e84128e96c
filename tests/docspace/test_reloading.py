"""A DocSpace whose settings change under a running gateway: what is on the board follows, and so does whom it asks."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
import yaml
from tests.docspace.boards import PATIENCE, housed, said_of
from tests.docspace.stand_in import BOB_KEY, stand_in
from tests.support.house import call_of

from pegboard.bootstrap.application import Application
from pegboard.config.settings import Settings, load_settings_file
from pegboard.core.calls.call import ToolSuccess
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.ids import ToolsetId, ToolsetKey
from pegboard.core.model.selection import View

pytestmark = pytest.mark.anyio
FILES = ToolsetKey(ToolsetId("files"))


async def redeclared(house: Application, folder: Path, **said: object) -> None:
    (folder / "pegboard.yaml").write_text(yaml.safe_dump(said))
    loaded = load_settings_file(folder / "pegboard.yaml")
    assert isinstance(loaded, Settings), str(loaded)
    assert not await house.gateway.operator.apply_settings(loaded.declared)


async def until(house: Application, holds: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE), house.gateway.board.changes.subscribe() as bell:
        while not holds():
            await bell.wait()


async def wrote(house: Application) -> str:
    ended = await house.gateway.caller.call(call_of("download_file_as_text", {"fileId": 101}), View())
    return str(ended.body) if isinstance(ended, ToolSuccess) else repr(ended)


async def until_wrote(house: Application, text: str) -> None:
    """The next call may still come before the change."""
    with anyio.fail_after(PATIENCE):
        while text not in await wrote(house):
            await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("docspace.declared", "docspace.misconfigured")
async def test_an_edit_of_the_file_is_followed_in_each_direction(tmp_path: Path) -> None:
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace)) as house:
        board = house.gateway.board

        def health() -> object:
            return board.catalogue.health(FILES)

        before = await wrote(house)
        (tmp_path / "bob").write_text(BOB_KEY)
        await redeclared(house, tmp_path, docspace={"base_url": docspace.url, "api_key": "${file:bob}"})
        await until_wrote(house, "Bob wrote this.")
        await redeclared(house, tmp_path, docspace={"base_url": docspace.url})
        await until(house, lambda: isinstance(health(), ProviderDown))
        down = health()
        await redeclared(house, tmp_path)
        await until(house, lambda: health() is None)
        gone = dict(board.resolution(View()).verdicts)
    assert "Ada wrote this." in before
    assert isinstance(down, ProviderDown)
    assert down.why == "DocSpace is misconfigured: No authentication method"
    assert gone == {}


@pytest.mark.behaviour("docspace.declared")
async def test_another_key_in_the_file_it_is_read_from_is_used_from_the_next_start_of_its_toolset_on(
    tmp_path: Path,
) -> None:
    async with stand_in() as docspace, housed(tmp_path, said_of(docspace)) as house:
        (tmp_path / "key").write_text(BOB_KEY)
        before = await wrote(house)
        assert house.gateway.providers.restart(FILES)
        await until_wrote(house, "Bob wrote this.")
    assert "Ada wrote this." in before
