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

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.model.catalogue import Health, Listing, ProviderOff, ProviderStart, ProviderUp
from pegboard.core.model.ids import ToolId, ToolsetKey
from pegboard.core.model.tool import Tool
from pegboard.ports.providers import ChangeCallback, ClientPeer, Clock, Progress, ignore
from pegboard.processes.output import LogTail
from pegboard.providers.python.provider import UnencodableArgumentsError, encode_arguments
from pegboard.providers.python.worker.calls import ToolErrorFormatter
from pegboard.tools import FunctionTool, ToolContext
from pegboard.tools.context import ToolCancelledError
from pegboard.tools.parameters import BadArgumentsError

_NO_LIMIT: Final = 0


class LocalTools:
    resources = None

    def __init__(self, source: ToolsetKey, functions: Mapping[str, FunctionTool], clock: Clock, seconds: float) -> None:
        """`seconds` is how long a call may take. A function that is not async goes on in its thread after that."""
        self.source = source
        self._functions = functions
        self._clock = clock
        self._timeout_s = seconds
        self._notify: ChangeCallback = ignore
        self._lines = LogTail()
        self._error_formatter = ToolErrorFormatter(_NO_LIMIT, {}, ())
        tools = tuple(Tool(ToolId(source, name), function.spec) for name, function in functions.items())
        self._listing = Listing(source, ProviderStart(1, clock()), tools)

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._lines.tail()

    def restart(self) -> None:
        """There is nothing to start over."""

    async def run(self, ring: ChangeCallback) -> None:
        self._notify = ring
        self._set_health(ProviderUp(self._clock()))
        try:
            await anyio.sleep_forever()
        finally:
            self._set_health(ProviderOff())

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        function = self._functions.get(name := admitted.tool.id.name)
        if function is None:
            return ProviderFailure(f"{self.source} does not have {name!r}. List the tools again", may_have_run=False)
        raw = admitted.call.raw
        try:
            arguments = encode_arguments(admitted.call.arguments) if raw is None else raw
        except UnencodableArgumentsError as problem:
            return ProviderFailure(f"{self.source} was not asked: {problem}", may_have_run=False)
        heard = _LocalCallReporter(str(self.source), progress, peer, self._write_log)
        try:
            # Not `fail_after`: a function may well raise a TimeoutError of its own.
            with anyio.move_on_after(self._timeout_s):
                return ToolSuccess(await function.call(arguments, ToolContext(str(self.source), _listener=heard)))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises is told to whoever called it
            return self._failure(error)
        finally:
            heard.is_cancelled = True
        return ProviderFailure(f"{self.source} did not end within {self._timeout_s:g} s", may_have_run=True)

    def _failure(self, error: BaseException) -> ToolFailure:
        if not isinstance(error, BadArgumentsError | ToolCancelledError):
            self._write_log("".join(traceback.format_exception(error)).rstrip())
        return ToolFailure(self._error_formatter.format_error_result(error))

    def _write_log(self, text: str) -> None:
        self._lines.feed(f"{text}\n".encode("utf-8", "replace"), str)

    def _set_health(self, health: Health) -> None:
        self._listing = Listing(self.source, health, self._listing.tools)
        self._notify()


class _LocalCallReporter:
    """What one running call says. Functions that are not async say it from their threads."""

    def __init__(
        self, logger: str, progress: Progress | None, peer: ClientPeer | None, say: Callable[[str], None]
    ) -> None:
        self._logger = logger
        self._progress = progress
        self._peer = peer
        self._write_log = say
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.is_cancelled = False
        """Set when the call is over, and nobody waits any more."""

    def progress(self, done: float, total: float | None, words: str | None) -> None:
        if self._progress is not None:
            self._run_on_loop(partial(self._progress, done, total, words))

    def log(self, level: str, message: str) -> None:
        self._run_on_loop(partial(self._write_log, f"{level}: {message}"))
        if self._peer is not None:
            told = {"level": level, "logger": self._logger, "data": message}
            self._run_on_loop(partial(self._peer.notify, "notifications/message", told))

    def _run_on_loop(self, act: Callable[[], None]) -> None:
        if self.is_cancelled:
            return
        if threading.get_ident() == self._thread:
            act()
        else:
            self._loop.call_soon_threadsafe(act)
