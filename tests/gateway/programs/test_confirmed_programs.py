"""Programs that a person must confirm, where the tool that runs them does not hang on the board: asked about as any."""

from pathlib import Path

import pytest
from tests.gateway.programs.programs import Place, ok, place, said, ticket_of, words_of
from tests.support.asking import AskedClient
from tests.support.house import call_of

from pegboard.core.calls.call import BadArguments, ConfirmationRefusal, LockedToolRefusal, MissingConfirmation
from pegboard.core.calls.tickets import ConsentScope
from pegboard.core.commands.commands import SetOverride
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.overrides.model import Override
from pegboard.gateway.caller import CallOutcome

pytestmark = pytest.mark.anyio
EACH = SetOverride(Override(PYTHON_ID.toolset, PYTHON_ID, requires_confirmation=True))
NEVER = SetOverride(Override(PYTHON_ID.toolset, PYTHON_ID, enabled=False))
YES: dict[str, Json] = {"action": "accept", "content": {"answer": "yes"}}
NO: dict[str, Json] = {"action": "accept", "content": {"answer": "no"}}
CODE = "(await files.add(a=1, b=2))['sum']"


async def _asked(here: Place, peer: AskedClient | None = None, **arguments: Json) -> CallOutcome:
    call = call_of("python_execution", {"code": CODE, **arguments}, id="run-1", client="cli 1")
    return await here.house.gateway.calls.run_program(call, View(LOCAL_PRINCIPAL), None, peer)


@pytest.mark.behaviour("code.confirmed")
async def test_a_program_that_must_be_confirmed_waits_for_a_ticket_and_runs_after_a_yes(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.house.does(EACH)
        waits = await _asked(here)
        ticket = ticket_of(waits)
        assert isinstance(waits, ConfirmationRefusal)
        assert (waits.tool, here.called("add")) == (PYTHON_ID, [])
        assert "it has not run. It waits as" in words_of(await here.waits(ticket))
        await here.decides(ticket)
        assert said(await here.waits(ticket)) == ok(3, "add")
        assert "used" in words_of(await here.waits(ticket))
        assert len(here.called("add")) == 1
        assert [(name, ended) for name, _, ended in here.records() if name != "pegboard_ticket"] == [
            ("python_execution", "confirmation_required"),
            ("add", "ToolSuccess"),
            ("python_execution", "ToolSuccess"),
        ]


@pytest.mark.behaviour("code.confirmed")
@pytest.mark.parametrize("answer", [YES, NO], ids=["yes", "no"])
async def test_whoever_can_be_asked_through_their_client_is(answer: dict[str, Json], tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.house.does(EACH)
        client = AskedClient(answer)
        ended = await _asked(here, client)
        assert [method for method, _ in client.asked] == ["elicitation/create"]
        if answer is YES:
            assert said(ended) == ok(3, "add")
        else:
            assert isinstance(ended, ConfirmationRefusal)
            assert (ended.reason, here.called("add")) == (MissingConfirmation.DENIED, [])


@pytest.mark.behaviour("code.confirmed")
async def test_a_yes_to_all_programs_of_a_caller_is_remembered(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.house.does(EACH)
        ticket = ticket_of(await _asked(here))
        assert await here.house.gateway.tickets.allow(
            ticket, ConsentScope.ALWAYS, LOCAL_PRINCIPAL, confirms_destructive=True
        )
        assert said(await here.waits(ticket)) == ok(3, "add")
        assert said(await _asked(here)) == ok(3, "add")


@pytest.mark.behaviour("code.confirmed")
async def test_a_yes_opens_nothing_that_was_closed_meanwhile(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.house.does(EACH)
        ticket = ticket_of(await _asked(here))
        await here.decides(ticket)
        await here.house.does(NEVER)
        assert isinstance(await here.waits(ticket), LockedToolRefusal)
        assert here.called("add") == []


@pytest.mark.behaviour("code.confirmed")
async def test_nobody_is_asked_about_a_program_that_cannot_run(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.house.does(EACH)
        ended = await _asked(here, timeout_s="soon")
        assert isinstance(ended, BadArguments)
        assert await here.house.gateway.tickets.latest_tickets() == []
