"""Continues a suspended program after a decision, once."""

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from time import perf_counter
from typing import Final

import anyio

from pegboard.core.calls.call import (
    CallCancellation,
    CallRecord,
    ConfirmationRefusal,
    Outcome,
    ProviderFailure,
    Refusal,
    ToolCall,
    ToolFailure,
)
from pegboard.core.calls.programs import StartedRun, StoredRun
from pegboard.core.calls.tickets import Ticket, TicketState
from pegboard.core.model.ids import CallId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID
from pegboard.gateway.confirmation import STORE_TIMEOUT_S
from pegboard.gateway.programs.answer import (
    other_caller_message,
    program_answer,
    program_failure,
    running_message,
    still_waiting_message,
    too_narrow_message,
    unreadable_message,
)
from pegboard.gateway.programs.calls import CallOrigin, NestedCalls, WaitingCall
from pegboard.gateway.programs.clock import Slot
from pegboard.gateway.programs.runs import NO_SLOT_MESSAGE, ProgramRuns, RunAnswer, timeout_answer
from pegboard.gateway.programs.state import SavedRun, code_digest, deserialize_run
from pegboard.gateway.ticket_tool import new_call_id
from pegboard.ports.audit import Audit, AuditQuery
from pegboard.ports.sandbox import (
    HostReply,
    InvalidRunStateError,
    PendingCall,
    PendingDecision,
    RunResult,
    RunSuspension,
    Sandbox,
    SandboxUnavailable,
)
from pegboard.ports.stores import RunsUnavailable

log = logging.getLogger(__name__)


async def resume_run(
    runs: ProgramRuns, audit: Audit, found: StoredRun, ticket: Ticket, origin: CallOrigin
) -> Outcome | Refusal:
    """Asked by the caller whose ticket it is. What stands in the way is told without using anybody's yes."""
    call, clock = origin.call, runs.routes.clock
    if found.state is None:
        return _text_failure(
            unreadable_message(found, ticket) if found.claimed_at is None else running_message(found.claimed_at, ticket)
        )
    kept = deserialize_run(found.state, runs.backend.key(), found.id, call.principal, call.client)
    if kept is None:
        log.warning("What is kept of program %s is not what this gateway kept, or is another caller's", found.id)
        return _text_failure(other_caller_message(ticket))
    if ticket.state_at(clock()) is TicketState.WAITING:
        return _text_failure(still_waiting_message(ticket, call))
    if (beyond := await _hidden_function(runs, kept, origin.view)) is not None:
        return _text_failure(too_narrow_message(ticket, beyond))
    started, version = perf_counter(), runs.routes.board.policy.decisions.version
    async with runs.acquire_slot(call, kept.timeout_s) as turn:
        if turn is None:
            return program_failure(
                "TimeoutError", NO_SLOT_MESSAGE.format(kept.timeout_s), kept.call_summaries, kept.note
            )
        try:
            sandbox = runs.backend.sandbox(kept.python)
        except SandboxUnavailable as error:
            return program_failure("RuntimeError", str(error), kept.call_summaries, kept.note)
        tickets = await _tickets(runs, kept)
        if not await _claim(runs, found):
            return _text_failure(running_message(None, ticket))
        ended: Outcome | Refusal = CallCancellation()
        part = _continuation_call(found.id, call, runs)
        try:
            ended = await _continue_run(runs, kept, tickets, sandbox, origin, part, turn)
        finally:
            took = timedelta(seconds=perf_counter() - started)
            audit.record(CallRecord(part, PYTHON_ID, ended, took, version))
        return ended


def is_other_program(found: StoredRun, key: bytes, code: str, call: ToolCall) -> bool:
    """Whether what the caller takes for the program that waits is certainly not that."""
    kept = None if found.state is None else deserialize_run(found.state, key, found.id, call.principal, call.client)
    return kept is not None and kept.digest not in ("", code_digest(code))


async def _continue_run(
    runs: ProgramRuns,
    kept: SavedRun,
    tickets: Mapping[str, Ticket | None],
    sandbox: Sandbox,
    origin: CallOrigin,
    part: ToolCall,
    turn: Slot,
) -> RunAnswer:
    host = runs.make_host(origin, kept.functions, kept.timeout_s, kept.python, turn, left=kept.remaining_s)
    host.call_summaries.update(kept.call_summaries)
    host.stdout, host.digest = kept.stdout, kept.digest
    host.waiting_calls.update({wait.ordinal: wait for wait in kept.waiting_calls})
    stays = False
    try:
        with runs.track(host, part):
            ended = await _continue_sandbox(kept, tickets, sandbox, host)
        if host.clock.is_over:
            return await timeout_answer(host)
        if isinstance(ended, RunResult):
            await host.withdraw_waiting_calls()
            return program_answer(ended, host.call_summaries, kept.note)
        again = await runs.suspend(ended, host, kept.python, kept.note)
        stays = isinstance(again, ConfirmationRefusal)
        return again
    except SandboxUnavailable as error:
        return program_failure("RuntimeError", str(error), host.call_summaries, kept.note)
    except InvalidRunStateError as error:
        text = f"The program cannot go on: {error} What it did before is done, and so is the call that waited."
        return program_failure("RuntimeError", text, host.call_summaries, kept.note)
    finally:
        if not stays:
            await _end_run(runs, kept.run)


async def _continue_sandbox(
    kept: SavedRun, tickets: Mapping[str, Ticket | None], sandbox: Sandbox, host: NestedCalls
) -> RunResult | RunSuspension:
    """With the answers to all calls that are decided by now, and not only to the one that was asked about."""
    replies: dict[int, HostReply] = {}

    async def decide(wait: WaitingCall) -> None:
        replies[wait.ordinal] = await host.resume_call(wait, tickets[wait.ticket])

    # Nothing of it goes on before it has these answers.
    host.set_idle(True)
    async with anyio.create_task_group() as tasks:
        for wait in kept.waiting_calls:
            tasks.start_soon(decide, wait, name=f"call {wait.ordinal} of a program")
    host.set_idle(False)
    answers = {ordinal: reply for ordinal, reply in replies.items() if not isinstance(reply, PendingDecision)}
    if answers:
        return await sandbox.resume(kept.state, answers, host, host.limits)
    return RunSuspension(
        kept.state, tuple(PendingCall(wait.ordinal, wait.ticket) for wait in host.waiting_calls.values())
    )


async def _hidden_function(runs: ProgramRuns, kept: SavedRun, view: View) -> str | None:
    """A function that waits, and that this request alone does not let its caller know of: the yes is not for that."""
    board = runs.routes.board
    known = (await board.resolve_off_loop(view)).names
    unknown = [wait for wait in kept.waiting_calls if wait.tool not in known]
    if not unknown:
        return None
    own = (await board.resolve_off_loop(View(view.principal))).names
    return next((wait.name for wait in unknown if wait.tool in own), None)


async def _tickets(runs: ProgramRuns, kept: SavedRun) -> Mapping[str, Ticket | None]:
    """Raises `TicketsUnavailable`: nothing has been used up then."""
    find = runs.routes.confirmation.tickets.find
    with anyio.fail_after(STORE_TIMEOUT_S):
        return {wait.ticket: await find(wait.ticket) for wait in kept.waiting_calls}


async def _claim(runs: ProgramRuns, found: StoredRun) -> bool:
    assert runs.backend.runs is not None, "it was found in there"
    with anyio.fail_after(STORE_TIMEOUT_S):
        return await runs.backend.runs.claim(found, runs.routes.clock())


async def _end_run(runs: ProgramRuns, run: CallId) -> None:
    assert runs.backend.runs is not None, "it was found in there"
    try:
        with anyio.fail_after(STORE_TIMEOUT_S, shield=True):
            await runs.backend.runs.end(run)
    except (RunsUnavailable, TimeoutError) as error:
        # It stays claimed: nobody goes on with it, and it goes when its time is over.
        log.warning("The end of program %s could not be kept: %s", run, error)


def _continuation_call(run: CallId, call: ToolCall, runs: ProgramRuns) -> ToolCall:
    """Of the same program, so it has a record of its own that names the call which started it."""
    return ToolCall(
        new_call_id(),
        WireName(PYTHON_ID.name),
        {},
        call.principal,
        runs.routes.clock(),
        client=call.client,
        parent=run,
        presentation=call.presentation,
        made_by=call.made_by,
        audience=call.audience,
    )


def _text_failure(text: str) -> ToolFailure:
    return ToolFailure(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())


# Programs that were under way when their gateway was killed: each gets the record that nobody could write then.

GATEWAY_ENDED: Final = ProviderFailure(
    "the gateway ended while the program ran: what it had done by then is done, and nobody got its answer",
    may_have_run=True,
)
_PAGE_SIZE: Final = 1_000


async def record_interrupted_runs(audit: Audit, left: Sequence[StartedRun]) -> int:
    """How many had no record. They are in the store when this returns. Raises `StoreUnavailable`."""
    if not left:
        return 0
    known = await _recorded_calls(audit, left)
    lost = [each for each in left if each.id not in known]
    for begun in lost:
        call = ToolCall(
            begun.id,
            WireName(PYTHON_ID.name),
            {},
            begun.principal,
            begun.at,
            client=begun.client,
            parent=begun.parent,
            presentation=begun.presentation,
        )
        audit.record(CallRecord(call, PYTHON_ID, GATEWAY_ENDED, timedelta(), begun.policy_version))
    # Whoever asks for this waits until it is written.
    await audit.latest_number()
    return len(lost)


async def _recorded_calls(audit: Audit, left: Sequence[StartedRun]) -> set[str]:
    since = min(each.at for each in left)
    found: set[str] = set()
    before: int | None = None
    while True:
        query = AuditQuery(tool=str(PYTHON_ID), since=since, before=before, limit=_PAGE_SIZE)
        back = await audit.page_before(query)
        found.update(row.call_id for row in back.rows)
        if back.before is None:
            return found
        before = back.before
