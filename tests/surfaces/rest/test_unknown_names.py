"""Unknown names in the settings, as the operator's API shows them: in every list, and in the answer why."""

from dataclasses import replace

import pytest
from tests.core.boards import FILE
from tests.support.house import declared
from tests.surfaces.rest.desk import GITHUB, NOTES, at_desk, problem

from pegboard.core.decision.unknown_names import UnknownName
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import Selection
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.maintenance import notice_text

pytestmark = pytest.mark.anyio

DENIED = str(
    UnknownName(
        "selection.disabled_tools",
        "wrte",
        FILE,
        suggestions=("write",),
        locked_tools=(ToolId(GITHUB, "write"),),
        is_denial=True,
    )
)
CHOSEN = str(UnknownName("selection.enabled_tools", "jott", FILE, suggestions=("jot",)))


def misspelled() -> DeclaredSettings:
    selection = Selection(enabled=("jott",), disabled=("wrte",))
    return replace(declared(GITHUB, NOTES), selection=selection, selected_at=FILE)


@pytest.mark.behaviour("names.unknown_is_shown")
async def test_unknown_names_are_in_the_notices_of_every_list() -> None:
    async with at_desk(misspelled()) as desk:
        for path in ("/status", "/tools", "/servers"):
            (notice,) = (await desk.get(path))["notices"]
            assert notice["subject"] == "unknown_names"
            assert notice["message"].splitlines() == notice_text([DENIED, CHOSEN]).splitlines()
        findings = (await desk.get("/doctor"))["findings"]
        assert [finding["message"] for finding in findings] == [DENIED, CHOSEN]


@pytest.mark.behaviour("names.unknown_is_shown")
async def test_why_names_the_entry_for_the_misspelled_name_and_for_the_tool_that_may_be_meant() -> None:
    async with at_desk(misspelled()) as desk:
        status, text = problem(await desk.ask("GET", "/why", params={"tool": "wrte"}))
        assert (status, DENIED in text) == (404, True)
        write = await desk.get("/why", tool="write")
        assert (write["status"], write["unknownNames"]) == ("disabled_unknown", [DENIED])
        assert write["message"].startswith("selection.disabled_tools names 'wrte' (pegboard.yaml:7)")
        assert (await desk.get("/why", tool="jot"))["unknownNames"] == [CHOSEN]
        assert (await desk.get("/why", tool="read"))["unknownNames"] == []
