"""Imports by processes that have a board each, as commands have without a gateway: none goes over another's unseen."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.toolsets import brought, housed, laid_out, manifest, tool

from pegboard.core.model.ids import ToolsetId
from pegboard.gateway.toolsets.reader import ImportRefusedError
from pegboard.ports.providers import DescribedTool

pytestmark = pytest.mark.anyio

MINE = ToolsetId("mine")


@pytest.mark.behaviour("toolsets.imports_see_each_other")
async def test_what_another_process_imported_meanwhile_is_not_replaced_by_a_plan_from_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = laid_out(tmp_path / "older", manifest())
    newer = laid_out(tmp_path / "newer", manifest(tool("count"), version="3.0"))
    async with housed(tmp_path / "data") as one, housed(tmp_path / "data") as other:
        describe = one.installer._describe

        async def described_meanwhile(*asked: Any, **more: Any) -> tuple[DescribedTool, ...]:
            await brought(other, newer)
            return await describe(*asked, **more)

        monkeypatch.setattr(one.installer, "_describe", described_meanwhile)
        with pytest.raises(ImportRefusedError) as refused:
            await brought(one, older)
        assert str(refused.value) == (
            "Toolset mine was imported or removed by somebody else meanwhile. Nothing was changed. Look at the "
            "differences again."
        )
        assert one.gateway.board.policy.decisions == other.gateway.board.policy.decisions
        assert one.gateway.board.policy.toolsets[MINE].version == "3.0"
        monkeypatch.undo()
        # What it has heard of by now is told as what it is.
        with pytest.raises(ImportRefusedError, match=r"^mine 3\.0 is installed, and this is 1\.0\.0, which is older\."):
            await brought(one, older)


@pytest.mark.behaviour("toolsets.downgrades_are_known")
async def test_no_version_is_no_way_around_the_word_that_going_back_needs(tmp_path: Path) -> None:
    async with housed(tmp_path / "data") as house:
        await brought(house, laid_out(tmp_path / "mine", manifest(version="5.0")))
        bare = laid_out(tmp_path / "mine", {key: said for key, said in manifest().items() if key != "version"})
        with pytest.raises(
            ImportRefusedError, match=r"^mine 5\.0 is installed, and this has no version, so that it may be older"
        ):
            await brought(house, bare)
        await brought(house, bare, allow_downgrade=True)
        assert house.gateway.board.policy.toolsets[MINE].version == ""
