"""One program from start to end: checked, run, and answered for; or kept, where a person must decide first."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.begun import Begun
from pegboard.core.call import BadArguments, Call, NotConfirmed, Outcome, Refusal, Returned, ToolFailed
from pegboard.core.code import PYTHON_ID, SUSPENDED, CodeLimits, CodeSettings, Python
from pegboard.core.ids import CallId, ToolId
from pegboard.core.inside import INSIDE, is_inside
from pegboard.core.question import ELICITATION, unaskable
from pegboard.core.suspended import KeptRun
from pegboard.core.ticket import Ticket
from pegboard.core.view import View
from pegboard.gateway.confirmation import STORE_SECONDS
from pegboard.ports import Peer, Progress, RunsAway, TicketsAway
from pegboard.ports.sandbox import Limits, Ran, Sandbox, SandboxAway, Suspended

from .answer import answer, complained, failed, helped
from .code import Means
from .functions import Functions, Given
from .keeping import Kept, digest_of, signed
from .nested import Nested, Origin, Roads
from .turns import Turn, Turns
from .wall import Wall
from .words import waits

KEPT: Final = timedelta(days=1)
"""How long a program waits for people at most. Their tickets mostly end before, and it goes little later than they."""
GRACE: Final = 10.0
"""Seconds after which a program is ended whose sandbox should have ended it before."""
PERSONS: Final = 3_600.0
"""Seconds more for a sandbox, where people may be asked meanwhile: our own clock stands still for them."""
FELL_BACK: Final = "This ran in the full Python, because the other one lacks something that the program needs: {}"
NO_SECOND: Final = "The full Python might run it, but it cannot be had now: {}"
BUSY: Final = (
    "So many programs run now that this one got no turn within {:g} seconds. Nothing of it has run. Try again."
)
LACKED: Final = (
    " A person was asked, and when it could go on there was no turn for it, because so many programs run. "
    "What it did before is done: see tool_calls."
)

Answered = Returned | ToolFailed | NotConfirmed


@dataclass(frozen=True)
class Asked:
    code: str
    wall: float


class Runs:
    def __init__(self, roads: Roads, means: Means) -> None:
        self.roads: Final = roads
        self.means: Final = means
        self._functions = Functions()
        self._under_way: set[CallId] = set()
        self._turns = Turns()

    @property
    def settings(self) -> CodeSettings:
        return self.roads.board.policy.declared.code

    async def ran(self, call: Call, view: View, progress: Progress | None, peer: Peer | None) -> Outcome | Refusal:
        """The call of `python_execution`, wherever it came from. Whoever calls this records it."""
        settings = self.settings
        asked = _asked(call, settings.limits)
        if isinstance(asked, BadArguments):
            return asked
        if is_inside(call) or (call.parent is not None and call.parent in self._under_way):
            return failed("PermissionError", INSIDE)
        async with self.turn(call, asked.wall) as turn:
            if turn is None:
                return failed("TimeoutError", BUSY.format(asked.wall))
            given = await self._given(asked.code, view)
            host = self.host(
                Origin(call.id, call, view, progress, peer), given.tools, asked.wall, settings.python, turn
            )
            host.digest = digest_of(asked.code)
            with self.under_way(host, call):
                ended = await self._run(given, host, settings)
            return await timed_out(host) if host.wall.is_over else ended

    async def _run(self, given: Given, host: Nested, settings: CodeSettings) -> Answered:
        python, note = settings.python, ""
        falls = settings.fallback and python is Python.MONTY
        ended: Ran | Suspended | None = None
        try:
            sandbox = self.means.sandbox(python)
            complaints = await sandbox.check(given.program, host.limits) if settings.check else ()
            if complaints and not (falls and all(each.is_lacking for each in complaints)):
                # What is wrong by the tools' own types is wrong in either Python.
                return complained(complaints, given.missing, given.modules)
            if not complaints:
                ended = await sandbox.run(given.program, host, host.limits)
        except SandboxAway as error:
            return failed("RuntimeError", str(error), host.made)
        lacks = next((each.message for each in complaints if each.is_lacking), "") or _lacks(ended)
        if falls and lacks and not host.made:
            try:
                second = await self._second(given, host)
            except SandboxAway as error:
                note = NO_SECOND.format(error)
            else:
                return await self._ended(second, host, Python.FULL, given, FELL_BACK.format(lacks))
        if ended is None:
            return complained(complaints, given.missing, given.modules, note)
        return await self._ended(ended, host, python, given, note)

    async def _second(self, given: Given, host: Nested) -> Ran | Suspended:
        """From its beginning: nothing that it did before is known to anybody."""
        sandbox: Sandbox = self.means.sandbox(Python.FULL)
        host.stdout, host.can_wait = "", Python.FULL in SUSPENDED
        return await sandbox.run(given.program, host, host.limits)

    async def _ended(self, ended: Ran | Suspended, host: Nested, python: Python, given: Given, note: str) -> Answered:
        if isinstance(ended, Ran):
            await host.give_up_waiting()
            return answer(helped(ended, given.missing, given.modules), host.made, note)
        return await self.kept(ended, host, python, note)

    async def kept(self, stopped: Suspended, host: Nested, python: Python, note: str) -> Answered:
        """The program as it stands, until somebody decides; the answer says who is waited for, and what to do."""
        store, call = self.means.runs, host.origin.call
        assert store is not None, "without a place to keep it, no call of a program waits"
        waiting = tuple(host.waiting[pending.ordinal] for pending in stopped.waiting)
        now = self.roads.clock()
        whole = Kept(
            host.origin.run,
            call.principal,
            call.client,
            python,
            stopped.state,
            host.functions,
            host.made,
            waiting,
            host.wall.seconds,
            host.wall.left,
            note,
            host.stdout,
            host.digest,
        )
        run = KeptRun(host.origin.run, tuple(wait.ticket for wait in waiting), b"", now + KEPT, call.principal)
        try:
            state = await anyio.to_thread.run_sync(signed, whole, self.means.key())
            with anyio.fail_after(STORE_SECONDS):
                await store.keep(replace(run, state=state), now)
        except (RunsAway, TimeoutError) as error:
            why = (str(error) or "the store does not answer").rstrip(".")
            names = ", ".join(wait.name for wait in waiting)
            text = (
                f"A person must confirm {names} first, and the program cannot wait for that: {why}. It was ended "
                "there, and what it did before is done. Call that tool by itself, outside of a program."
            )
            await host.give_up_waiting()
            return failed("RuntimeError", text, host.made, note, host.stdout)
        tickets = [await self.ticket(wait.ticket) for wait in waiting]
        because = self.roads.confirmation.ticket_reason(call.principal, waiting[0].tool, host.origin.peer)
        return waits(waiting, tickets, len(host.made), call.presentation, because)

    async def ticket(self, id: str) -> Ticket | None:
        try:
            with anyio.fail_after(STORE_SECONDS):
                return await self.roads.confirmation.tickets.find(id)
        except (TicketsAway, TimeoutError):
            return None

    def host(
        self,
        origin: Origin,
        tools: Mapping[str, ToolId],
        seconds: float,
        python: Python,
        turn: Turn | None = None,
        *,
        left: float | None = None,
    ) -> Nested:
        """`left`: it has run before, and a person may have been asked then; so much of the seconds remains."""
        peer, limits = origin.peer, self.settings.limits
        ours = left is not None or (peer is not None and unaskable(peer.can, ELICITATION, {}) is None)
        # A sandbox that ends a program itself can tell where it was, but its clock goes on while a person thinks.
        wall = Wall(seconds, 0.0 if ours else GRACE, left)
        theirs = _limits(limits, seconds + PERSONS if ours else seconds)
        can_wait = self.means.runs is not None and python in SUSPENDED
        return Nested(self.roads, origin, tools, theirs, wall, can_wait, turn=turn)

    @contextmanager
    def under_way(self, host: Nested, call: Call) -> Iterator[None]:
        """Goes on behind the block when its time is over, and leaves nothing running. `call` is what is recorded."""
        run, begun = host.origin.run, self.means.begun
        self._under_way.add(run)
        if begun is not None:
            version = self.roads.board.policy.decided.version
            begun.begin(Begun(call.id, call.at, call.principal, call.client, call.parent, call.presentation, version))
        try:
            with host.wall.running():
                yield
        finally:
            self._under_way.discard(run)
            host.close()
            if begun is not None:
                begun.end(call.id)

    def turn(self, call: Call, within: float) -> AbstractAsyncContextManager[Turn | None]:
        """No more programs run at once than the settings say."""
        return self._turns.turn(call.principal, within, self.settings)

    async def _given(self, code: str, view: View) -> Given:
        board = self.roads.board
        resolution = await board.worked_out(view)
        return await self._functions.given(code, resolution, board.policy)


async def timed_out(host: Nested) -> Answered:
    await host.give_up_waiting()
    text = f"The program was ended after {host.wall.seconds:g} seconds."
    if host.turn is not None and host.turn.is_lacking:
        text += LACKED
    return failed("TimeoutError", text, host.made, stdout=host.stdout)


def _asked(call: Call, limits: CodeLimits) -> Asked | BadArguments:
    code, wall = call.arguments.get("code"), call.arguments.get("timeout_s", limits.wall)
    problems: list[str] = []
    if not isinstance(code, str):
        problems.append("code: must be the text of a Python program")
    elif len(code.encode("utf-8", "surrogatepass")) > limits.code:
        problems.append(f"code: is longer than {limits.code} bytes, which is the limit. Do it in several programs")
    if isinstance(wall, bool) or not isinstance(wall, int | float) or not 0 < wall <= limits.wall:
        problems.append(f"timeout_s: must be a number of seconds up to {limits.wall:g}")
    if problems or not isinstance(code, str) or not isinstance(wall, int | float):
        return BadArguments(PYTHON_ID, tuple(problems))
    return Asked(code, float(wall))


def _lacks(ended: Ran | Suspended | None) -> str:
    if not isinstance(ended, Ran) or ended.error is None or not ended.error.is_lacking:
        return ""
    return ended.error.message


def _limits(said: CodeLimits, wall: float) -> Limits:
    return Limits(
        cpu=said.cpu,
        wall=wall,
        memory=said.memory,
        calls=said.calls,
        concurrency=said.concurrency,
        result=said.result,
        stdout=said.stdout,
        code=said.code,
        sleep=said.sleep,
    )
