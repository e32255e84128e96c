"""Imports and removals stand on the version of the policy that somebody looked at."""

from pathlib import Path

import pytest
from tests.support.toolsets import MINE, brought, housed, laid_out, manifest

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.gateway.toolsets.reader import ImportConflictError

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("rest.import_on_version")
async def test_on_another_version_nothing_is_imported_or_removed(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    async with housed(tmp_path / "data") as house:
        board = house.gateway.board
        with pytest.raises(ImportConflictError) as refused:
            await brought(house, folder, version=board.policy.version + 1)
        assert (refused.value.current_version, MINE in board.policy.toolsets) == (board.policy.version, False)
        looked_at = board.policy.version
        await brought(house, folder, version=looked_at)
        assert MINE in board.policy.toolsets
        with pytest.raises(ImportConflictError) as refused:
            await house.installer.remove(MINE, LOCAL_PRINCIPAL, keep_workspace=False, version=looked_at)
        assert (refused.value.current_version, MINE in board.policy.toolsets) == (board.policy.version, True)
        await house.gateway.operator.execute(SetSwitch(MINE, enabled=True), LOCAL_PRINCIPAL)
        await house.installer.remove(MINE, LOCAL_PRINCIPAL, keep_workspace=False, version=board.policy.version)
        assert MINE not in board.policy.toolsets
