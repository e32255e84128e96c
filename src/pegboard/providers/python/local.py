"""Functions of the program that the gateway is part of, as a source of tools: called in this very process.

Nothing keeps them apart from the gateway; whoever wants that runs them as a toolset.
"""

import asyncio
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import anyio

from pegboard.children.lines import LastLines
from pegboard.core.call import Admitted, Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.catalogue import Health, Listing, Off, Starting, Up
from pegboard.core.ids import ToolId, ToolsetKey
from pegboard.core.tool import Tool
from pegboard.ports import Clock, Peer, Progress, Ring
from pegboard.tools import Function, ToolContext
from pegboard.tools.context import Cancelled
from pegboard.tools.parameters import BadArgumentsError

from .arguments import Unsendable, encoded
from .worker.failing import Words

_NO_LIMIT: Final = 0


class LocalTools:
    library = None

    def __init__(self, source: ToolsetKey, functions: Mapping[str, Function], clock: Clock, seconds: float) -> None:
        """`seconds` is how long a call may take. A function that is not async goes on in its thread after that."""
        self.source = source
        self._functions = functions
        self._clock = clock
        self._seconds = seconds
        self._ring: Ring = _unheard
        self._lines = LastLines()
        self._words = Words(_NO_LIMIT, {}, ())
        tools = tuple(Tool(ToolId(source, name), function.spec) for name, function in functions.items())
        self._listing = Listing(source, Starting(1, clock()), tools)

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._lines.all()

    def restart(self) -> None:
        """There is nothing to start over."""

    async def run(self, ring: Ring) -> None:
        self._ring = ring
        self._become(Up(self._clock()))
        try:
            await anyio.sleep_forever()
        finally:
            self._become(Off())

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        function = self._functions.get(name := admitted.tool.id.name)
        if function is None:
            return ProviderFailed(f"{self.source} does not have {name!r}. List the tools again", may_have_run=False)
        raw = admitted.call.raw
        try:
            arguments = encoded(admitted.call.arguments) if raw is None else raw
        except Unsendable as problem:
            return ProviderFailed(f"{self.source} was not asked: {problem}", may_have_run=False)
        heard = _Heard(str(self.source), progress, peer, self._say)
        try:
            # Not `fail_after`: a function may well raise a TimeoutError of its own.
            with anyio.move_on_after(self._seconds):
                return Returned(await function.call(arguments, ToolContext(str(self.source), _heard=heard)))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises is told to whoever called it
            return self._failed(error)
        finally:
            heard.cancelled = True
        return ProviderFailed(f"{self.source} did not end within {self._seconds:g} s", may_have_run=True)

    def _failed(self, error: BaseException) -> ToolFailed:
        if not isinstance(error, BadArgumentsError | Cancelled):
            self._say("".join(traceback.format_exception(error)).rstrip())
        return ToolFailed(self._words.failed(error))

    def _say(self, text: str) -> None:
        self._lines.feed(f"{text}\n".encode("utf-8", "replace"), str)

    def _become(self, health: Health) -> None:
        self._listing = Listing(self.source, health, self._listing.tools)
        self._ring()


class _Heard:
    """What one running call says. Functions that are not async say it from their threads."""

    def __init__(self, logger: str, progress: Progress | None, peer: Peer | None, say: Callable[[str], None]) -> None:
        self._logger = logger
        self._progress = progress
        self._peer = peer
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.cancelled = False
        """Set when the call is over, and nobody waits any more."""

    def progress(self, done: float, total: float | None, words: str | None) -> None:
        if self._progress is not None:
            self._tell(partial(self._progress, done, total, words))

    def log(self, level: str, message: str) -> None:
        self._tell(partial(self._say, f"{level}: {message}"))
        if self._peer is not None:
            told = {"level": level, "logger": self._logger, "data": message}
            self._tell(partial(self._peer.note, "notifications/message", told))

    def _tell(self, act: Callable[[], None]) -> None:
        if self.cancelled:
            return
        if threading.get_ident() == self._thread:
            act()
        else:
            self._loop.call_soon_threadsafe(act)


def _unheard() -> None:
    """Nobody listens before `run`."""
