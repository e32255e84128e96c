"""No program runs another: each wall by itself, and what comes back to the gateway through a server."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.gateway.programs.programs import READ, place, said, words_of
from tests.support.house import call_of

from pegboard.core.calls.call import ConfirmationRefusal, MissingConfirmation, ToolCall
from pegboard.core.calls.programs import NESTED_PROGRAM_TEXT, PROGRAM_META, is_program_call
from pegboard.core.calls.tickets import TICKET_ID
from pegboard.core.commands.commands import SetOverride
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID, CodeSettings, PythonSandbox
from pegboard.core.overrides.model import Override
from pegboard.gateway.programs.calls import CallOrigin, ProgramFunctions
from pegboard.ports.sandbox import CallFailure, SandboxFunction

pytestmark = pytest.mark.anyio

LISTED = CodeSettings(is_listed=True)


def coming_back(name: str = "python_execution", id: str = "back", **arguments: str) -> ToolCall:
    """As a call that a program made comes in again, through whatever servers."""
    return replace(call_of(name, {**arguments}, id=id, client="cli 1"), beside=PROGRAM_META)


@pytest.mark.behaviour("programs.runs_no_other", "code.not_itself")
async def test_what_runs_programs_is_no_function_of_one(tmp_path: Path) -> None:
    async with place(tmp_path, settings=LISTED) as here:
        board = here.house.gateway.board
        assert PYTHON_ID in board.resolution(View()).open_ids
        own = "await builtin.python_execution(code='1')\nawait builtin.pegboard_ticket(ticket='1')"
        code = f"{own}\nawait files.read(path='a')"
        given = await ProgramFunctions().bind(code, board.resolution(View()), board.policy)
        assert given.tools == {"files.read": READ}
        assert [(each.module, each.name) for each in given.program.functions] == [("files", "read")]


@pytest.mark.behaviour("programs.runs_no_other", "code.not_itself")
@pytest.mark.parametrize("never", [PYTHON_ID, TICKET_ID])
async def test_what_runs_programs_is_not_called_even_where_it_is_a_function(tmp_path: Path, never: ToolId) -> None:
    async with place(tmp_path, settings=LISTED) as here:
        origin = CallOrigin(call_of("python_execution", {}).id, call_of("python_execution", {}), View())
        tools = {"builtin.it": never}
        host = here.house.gateway.code_mode.runs.make_host(origin, tools, 10.0, PythonSandbox.MONTY)
        assert await host.call(1, SandboxFunction("builtin", "it"), {"code": "1", "ticket": "1"}) == CallFailure(
            "LookupError", "There is no function builtin.it here."
        )
        assert (host.call_summaries, here.records()) == ({}, [])


@pytest.mark.behaviour("programs.comes_back", "programs.runs_no_other")
async def test_every_call_of_a_program_says_that_it_is_one(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.answers("await files.read(path='a')")
        (read,) = here.files.calls
        assert (dict(read.call.beside), is_program_call(read.call)) == (dict(PROGRAM_META), True)
        assert PROGRAM_META == {"_meta": b'{"pegboard/program": true}'}
        outside = call_of("read", {"path": "b"}, id="outside")
        await here.house.gateway.caller.call(outside, View())
        assert here.files.calls[-1].call.beside == {}


@pytest.mark.behaviour("programs.comes_back", "programs.runs_no_other")
@pytest.mark.parametrize("listed", [True, False])
async def test_a_program_that_a_program_asks_for_through_a_server_does_not_run(tmp_path: Path, listed: bool) -> None:
    async with place(tmp_path, settings=CodeSettings(is_listed=listed)) as here:
        answer = said(
            await here.house.gateway.calls.run_program(coming_back(code="await files.read(path='a')"), View())
        )
        assert answer["error"] == {"type": "PermissionError", "message": NESTED_PROGRAM_TEXT, "line": None}
        assert here.files.calls == []
        assert here.records() == [("python_execution", None, "ToolFailure")]


@pytest.mark.behaviour("programs.comes_back")
@pytest.mark.parametrize("listed", [True, False])
async def test_nobody_is_asked_about_a_program_that_a_program_asks_for(tmp_path: Path, listed: bool) -> None:
    async with place(tmp_path, settings=CodeSettings(is_listed=listed)) as here:
        await here.house.does(SetOverride(Override(PYTHON_ID.toolset, PYTHON_ID, requires_confirmation=True)))
        ended = await here.house.gateway.calls.run_program(coming_back(code="1"), View())
        assert ended == ConfirmationRefusal(PYTHON_ID, MissingConfirmation.UNASKED, NESTED_PROGRAM_TEXT)
        assert await here.house.gateway.tickets.latest_tickets() == []


@pytest.mark.behaviour("programs.comes_back")
async def test_a_program_goes_on_with_no_other_by_a_ticket_that_it_got_through_a_server(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        stopped = await here.runs("await files.delete(path='a')")
        assert isinstance(stopped, ConfirmationRefusal)
        assert stopped.ticket is not None
        await here.decides(stopped.ticket)
        back = coming_back("pegboard_ticket", ticket=stopped.ticket)
        told = words_of(await here.house.gateway.caller.call(back, View()))
        assert told.startswith("A program waits for nobody by a call of its own")
        assert here.called("delete") == []
        assert said(await here.waits(stopped.ticket))["result"] == "a is gone"


@pytest.mark.parametrize(
    ("meta", "inside"),
    [
        (b'{"pegboard\\/program": false, "a": 1}', True),
        (b'{"a": "pegboard/program"}', False),
        (b'["pegboard/program"]', False),
        (b"no json", False),
        (b"[" * 100_000, False),
    ],
)
def test_the_mark_is_read_as_json_and_nothing_else_is_taken_for_it(meta: bytes, inside: bool) -> None:
    assert is_program_call(replace(call_of("read", {}), beside={"_meta": meta})) is inside
