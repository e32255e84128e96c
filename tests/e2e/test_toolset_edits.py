"""A linked folder whose author makes mistakes: they are told wherever one looks, and the last good tools stay."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.toolsets import MINE, PATIENCE, WORDS, brought, called, housed, laid_out, manifest, tool, until_open

from pegboard.bootstrap.application import Application
from pegboard.core.model.catalogue import ProviderAsleep, ProviderUp
from pegboard.core.model.ids import ToolsetKey
from pegboard.core.model.selection import View
from pegboard.gateway.doctor import BoardIssue, diagnose
from pegboard.providers.python.provider import broken_edit_notice
from pegboard.surfaces.rest.toolsets import toolset_info

pytestmark = pytest.mark.anyio

KEY = ToolsetKey(MINE)


async def flaws(house: Application, *, any: bool = True) -> list[str]:
    """What is wrong with the list, once something is, or nothing is any more."""
    board = house.gateway.board
    with anyio.fail_after(PATIENCE), board.changes.subscribe() as bell:
        while bool(board.catalogue.listings[KEY].problems) is not any:
            await bell.wait()
    shape: Any = toolset_info(board.policy.toolsets[MINE], board, board.resolution(View()), {})
    return [problem["message"] for problem in shape["problems"]]


async def until_asleep(house: Application) -> None:
    board = house.gateway.board
    with anyio.fail_after(PATIENCE), board.changes.subscribe() as bell:
        while not isinstance(board.catalogue.listings[KEY].health, ProviderAsleep):
            await bell.wait()


@pytest.mark.behaviour("toolsets.linked", "providers.python_reload")
async def test_a_broken_edit_of_a_linked_folder_is_told_until_it_is_mended(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(tool("shout"), tool("count")))
    good = (folder / "toolset.yaml").read_text()
    async with housed(tmp_path / "data") as house:
        await brought(house, folder, link=True)
        await until_open(house, "mine:shout", "mine:count")
        assert await called(house, "shout", text="a") == "A"
        before = "gives a list that is from before the last edit, because the files as they are now cannot be used:"
        (folder / "toolset.yaml").write_text(f"versoin: 2\n{good}")
        (told,) = await flaws(house)
        assert isinstance(house.gateway.board.catalogue.listings[KEY].health, ProviderUp)
        assert told == f"{before} mine/toolset.yaml:1: versoin: unknown key. Did you mean 'version'?"
        (flaw,) = broken_edit_notice("")
        assert diagnose(house.gateway.board) == (
            BoardIssue("mine", f"Toolset mine {told}", flaw.fix, severity="warning"),
        )
        assert await called(house, "count", text="abc") == "3"
        (folder / "toolset.yaml").write_text(good)
        assert await flaws(house, any=False) == []
        (folder / "tools/words.py").write_text(f"{WORDS}\nodd =\n")
        (told,) = await flaws(house)
        assert told.startswith(f"{before} tools/words.py:10: invalid syntax. ")
        assert await called(house, "shout", text="b") == "B"


@pytest.mark.behaviour("toolsets.linked_in_part")
async def test_what_is_not_followed_of_a_linked_manifest_is_told_until_it_is_imported_again(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(tool("shout"), tool("count")))
    edited = manifest(tool("shout", requires_confirmation=True), tool("count"), limits={"time": 5})
    async with housed(tmp_path / "data") as house:
        await brought(house, folder, link=True)
        await until_open(house, "mine:shout", "mine:count")
        await until_asleep(house)
        laid_out(folder, edited)
        assert await flaws(house) == [
            "gives a list that is without what the manifest says now under tool_overrides, limits, which counts when "
            "it is imported again."
        ]
        assert [each.fix for each in diagnose(house.gateway.board)] == [f"pegboard toolset import {folder} --link"]
        await brought(house, folder, link=True)
        await until_open(house, "mine:count")
        assert await called(house, "count", text="abc") == "3"
        assert await flaws(house, any=False) == []
