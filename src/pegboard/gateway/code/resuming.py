"""A program that waited, once somebody has decided: the call is made or refused, and the program goes on, once."""

import json
import logging
from collections.abc import Mapping
from datetime import timedelta
from time import perf_counter

import anyio

from pegboard.core.call import Call, CallRecord, Cancelled, NotConfirmed, Outcome, Refusal, ToolFailed
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import CallId, WireName
from pegboard.core.suspended import FoundRun
from pegboard.core.ticket import State, Ticket
from pegboard.core.view import View
from pegboard.gateway.confirmation import STORE_SECONDS
from pegboard.gateway.ticket_tool import fresh_call
from pegboard.ports import Audit, RunsAway
from pegboard.ports.sandbox import BadState, Pending, Ran, Reply, Sandbox, SandboxAway, Suspended, Waits

from .answer import answer, failed
from .keeping import Kept, digest_of, opened
from .nested import Nested, Origin, Wait
from .runs import BUSY, Answered, Runs, timed_out
from .turns import Turn
from .words import foreign, going_on, still, too_narrow, unreadable

log = logging.getLogger(__name__)


async def resumed(runs: Runs, audit: Audit, found: FoundRun, ticket: Ticket, origin: Origin) -> Outcome | Refusal:
    """Asked by the caller whose ticket it is. What stands in the way is told without using anybody's yes."""
    call, clock = origin.call, runs.roads.clock
    if found.state is None:
        return _text(unreadable(found, ticket) if found.claimed is None else going_on(found.claimed, ticket))
    kept = opened(found.state, runs.means.key(), found.id, call.principal, call.client)
    if kept is None:
        log.warning("What is kept of program %s is not what this gateway kept, or is another caller's", found.id)
        return _text(foreign(ticket))
    if ticket.at(clock()) is State.WAITING:
        return _text(still(ticket, call.presentation))
    if (beyond := await _left_out(runs, kept, origin.view)) is not None:
        return _text(too_narrow(ticket, beyond))
    started, version = perf_counter(), runs.roads.board.policy.decided.version
    async with runs.turn(call, kept.wall) as turn:
        if turn is None:
            return failed("TimeoutError", BUSY.format(kept.wall), kept.made, kept.note)
        try:
            sandbox = runs.means.sandbox(kept.python)
        except SandboxAway as error:
            return failed("RuntimeError", str(error), kept.made, kept.note)
        tickets = await _tickets(runs, kept)
        if not await _claimed(runs, found):
            return _text(going_on(None, ticket))
        ended: Outcome | Refusal = Cancelled()
        part = _part(found.id, call, runs)
        try:
            ended = await _went_on(runs, kept, tickets, sandbox, origin, part, turn)
        finally:
            took = timedelta(seconds=perf_counter() - started)
            audit.record(CallRecord(part, PYTHON_ID, ended, took, version))
        return ended


def is_another(found: FoundRun, key: bytes, code: str, call: Call) -> bool:
    """Whether what the caller takes for the program that waits is certainly not that."""
    kept = None if found.state is None else opened(found.state, key, found.id, call.principal, call.client)
    return kept is not None and kept.digest not in ("", digest_of(code))


async def _went_on(
    runs: Runs,
    kept: Kept,
    tickets: Mapping[str, Ticket | None],
    sandbox: Sandbox,
    origin: Origin,
    part: Call,
    turn: Turn,
) -> Answered:
    host = runs.host(origin, kept.functions, kept.wall, kept.python, turn, left=kept.left)
    host.made.update(kept.made)
    host.stdout, host.digest = kept.stdout, kept.digest
    host.waiting.update({wait.ordinal: wait for wait in kept.waiting})
    stays = False
    try:
        with runs.under_way(host, part):
            ended = await _continued(kept, tickets, sandbox, host)
        if host.wall.is_over:
            return await timed_out(host)
        if isinstance(ended, Ran):
            await host.give_up_waiting()
            return answer(ended, host.made, kept.note)
        again = await runs.kept(ended, host, kept.python, kept.note)
        stays = isinstance(again, NotConfirmed)
        return again
    except SandboxAway as error:
        return failed("RuntimeError", str(error), host.made, kept.note)
    except BadState as error:
        text = f"The program cannot go on: {error} What it did before is done, and so is the call that waited."
        return failed("RuntimeError", text, host.made, kept.note)
    finally:
        if not stays:
            await _end(runs, kept.run)


async def _continued(
    kept: Kept, tickets: Mapping[str, Ticket | None], sandbox: Sandbox, host: Nested
) -> Ran | Suspended:
    """With the answers to all calls that are decided by now, and not only to the one that was asked about."""
    replies: dict[int, Reply] = {}

    async def decide(wait: Wait) -> None:
        replies[wait.ordinal] = await host.decided(wait, tickets[wait.ticket])

    # Nothing of it goes on before it has these answers.
    host.rests(True)
    async with anyio.create_task_group() as tasks:
        for wait in kept.waiting:
            tasks.start_soon(decide, wait, name=f"call {wait.ordinal} of a program")
    host.rests(False)
    answers = {ordinal: reply for ordinal, reply in replies.items() if not isinstance(reply, Waits)}
    if answers:
        return await sandbox.resume(kept.state, answers, host, host.limits)
    return Suspended(kept.state, tuple(Pending(wait.ordinal, wait.ticket) for wait in host.waiting.values()))


async def _left_out(runs: Runs, kept: Kept, view: View) -> str | None:
    """A function that waits, and that this request alone does not let its caller know of: the yes is not for that."""
    board = runs.roads.board
    known = (await board.worked_out(view)).names
    unknown = [wait for wait in kept.waiting if wait.tool not in known]
    if not unknown:
        return None
    own = (await board.worked_out(View(view.principal))).names
    return next((wait.name for wait in unknown if wait.tool in own), None)


async def _tickets(runs: Runs, kept: Kept) -> Mapping[str, Ticket | None]:
    """Raises `TicketsAway`: nothing has been used up then."""
    find = runs.roads.confirmation.tickets.find
    with anyio.fail_after(STORE_SECONDS):
        return {wait.ticket: await find(wait.ticket) for wait in kept.waiting}


async def _claimed(runs: Runs, found: FoundRun) -> bool:
    assert runs.means.runs is not None, "it was found in there"
    with anyio.fail_after(STORE_SECONDS):
        return await runs.means.runs.claim(found, runs.roads.clock())


async def _end(runs: Runs, run: CallId) -> None:
    assert runs.means.runs is not None, "it was found in there"
    try:
        with anyio.fail_after(STORE_SECONDS, shield=True):
            await runs.means.runs.end(run)
    except (RunsAway, TimeoutError) as error:
        # It stays claimed: nobody goes on with it, and it goes when its time is over.
        log.warning("The end of program %s could not be kept: %s", run, error)


def _part(run: CallId, call: Call, runs: Runs) -> Call:
    """Of the same program, so it has a record of its own that names the call which started it."""
    return Call(
        fresh_call(),
        WireName(PYTHON_ID.name),
        {},
        call.principal,
        runs.roads.clock(),
        client=call.client,
        parent=run,
        presentation=call.presentation,
        made_by=call.made_by,
    )


def _text(text: str) -> ToolFailed:
    return ToolFailed(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())
