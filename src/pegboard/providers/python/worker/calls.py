"""Calls as they run in a worker: what is async, many at a time on one loop; anything else alone, on the main thread.

A function that is not async needs no loop around it, and may start one of its own.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pegboard.providers.python.frames import MOST_RESULT, TOOL, Frame, Kind
from pegboard.tools import Function, Secrets, ToolContext
from pegboard.tools.context import Cancelled
from pegboard.tools.parameters import BadArgumentsError

from . import failing
from .channel import Channel

if TYPE_CHECKING:
    import asyncio

_AT_ONCE: Final = 100
_A_SECOND: Final = 50.0
"""Words of a running call that are passed on: so many at once, and so many a second from then on."""
_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_LONGEST: Final = 16_384


class Heard:
    """What one running call says, and whether anybody still waits for it."""

    def __init__(self, channel: Channel, number: int, polls: bool) -> None:
        self._channel = channel
        self._number = number
        self._polls = polls
        self._over = False
        self._credit = float(_AT_ONCE)
        self._last = time.monotonic()
        self._unsaid: bytes | None = None

    @property
    def cancelled(self) -> bool:
        if self._over:
            return True
        if self._polls and self._number not in self._channel.cancelled:
            self._channel.look()
        return self._number in self._channel.cancelled

    def progress(self, done: float, total: float | None, words: str | None) -> None:
        step = json.dumps([float(done), None if total is None else float(total), words and str(words)[:_LONGEST]])
        self._unsaid = None
        if self._may_speak():
            self._channel.send(Kind.PROGRESS, self._number, step.encode())
        else:
            # The last word is told in the end, whatever was dropped on the way.
            self._unsaid = step.encode()

    def log(self, level: str, message: str) -> None:
        level = level if level in _LEVELS else "info"
        if self._may_speak():
            told = json.dumps([level, str(message)[:_LONGEST]])
            self._channel.send(Kind.LOG, self._number, told.encode())

    def end(self) -> None:
        self._over = True
        if self._unsaid is not None:
            self._channel.send(Kind.PROGRESS, self._number, self._unsaid)

    def _may_speak(self) -> bool:
        if self._over:
            return False
        now = time.monotonic()
        self._credit = min(float(_AT_ONCE), self._credit + (now - self._last) * _A_SECOND)
        self._last = now
        if self._credit < 1:
            return False
        self._credit -= 1
        return True


class Calls:
    def __init__(
        self,
        channel: Channel,
        functions: Sequence[Function],
        words: failing.Words,
        toolset: str,
        workspace: Path | None,
        secrets: Secrets,
    ) -> None:
        self._channel = channel
        self._functions = functions
        self._words = words
        self._toolset = toolset
        self._workspace = workspace
        self._secrets = secrets
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._ended = False

    def serve(self) -> None:
        """Until the gateway is gone."""
        loop: asyncio.AbstractEventLoop | None = None
        try:
            while True:
                frame = self._channel.take()
                if frame[0] != Kind.CALL:
                    continue
                if not self._function(frame).is_async:
                    self._run(frame)
                    continue
                if loop is None:
                    loop = self._new_loop()
                self._begin(loop, frame)
                self._take(loop, self._channel.take_all(readable=False))
                loop.run_forever()
                if self._ended:
                    return
        except EOFError:
            return

    def _function(self, frame: Frame) -> Function:
        place: int = TOOL.unpack_from(frame[2])[0]
        return self._functions[place]

    def _run(self, frame: Frame) -> None:
        _, number, body = frame
        function = self._function(frame)
        if number in self._channel.cancelled:
            self._answer(number, None)
            return
        heard = Heard(self._channel, number, polls=True) if function.wants_context else None
        try:
            told = function.run(body[TOOL.size :], None if heard is None else self._context(heard))
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises is told to whoever called it
            self._fail(number, error, heard)
        else:
            if heard is not None:
                heard.end()
            self._answer(number, told)

    def _new_loop(self) -> "asyncio.AbstractEventLoop":
        import asyncio

        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.add_reader(self._channel.incoming, self._readable, loop)
        return loop

    def _readable(self, loop: "asyncio.AbstractEventLoop") -> None:
        try:
            frames = self._channel.take_all(readable=True)
        except EOFError:
            self._ended = True
            for task in self._tasks.values():
                task.cancel()
            loop.call_soon(loop.stop)
        else:
            self._take(loop, frames)

    def _take(self, loop: "asyncio.AbstractEventLoop", frames: list[Frame]) -> None:
        for place, frame in enumerate(frames):
            if frame[0] == Kind.CALL and not self._function(frame).is_async:
                # It must not run within the loop, which it may want to start itself.
                self._channel.put_back(frames[place:])
                loop.stop()
                break
            if frame[0] == Kind.CALL:
                self._begin(loop, frame)
        for number in self._channel.cancelled & self._tasks.keys():
            self._tasks[number].cancel()

    def _begin(self, loop: "asyncio.AbstractEventLoop", frame: Frame) -> None:
        self._tasks[frame[1]] = loop.create_task(self._call(frame))

    async def _call(self, frame: Frame) -> None:
        _, number, body = frame
        function = self._function(frame)
        heard = Heard(self._channel, number, polls=False) if function.wants_context else None
        try:
            told = await function.call(body[TOOL.size :], None if heard is None else self._context(heard))
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises is told to whoever called it
            self._fail(number, error, heard)
        else:
            if heard is not None:
                heard.end()
            self._answer(number, told)
        finally:
            del self._tasks[number]

    def _context(self, heard: Heard) -> ToolContext:
        return ToolContext(self._toolset, self._workspace, self._secrets, heard)

    def _answer(self, number: int, told: bytes | None) -> None:
        kind = Kind.RESULT
        if told is None:
            kind, told = Kind.FAILED, b""
        elif len(told) > MOST_RESULT:
            size, most = len(told) // 1_000_000, MOST_RESULT // 1_000_000
            text = f"The tool ran, and its result of {size} MB is larger than the {most} MB that a result may have."
            kind, told = Kind.FAILED, failing.result(text)
        self._channel.cancelled.discard(number)
        self._channel.send(kind, number, told)

    def _fail(self, number: int, error: BaseException, heard: Heard | None) -> None:
        is_given_up = number in self._channel.cancelled
        worn = isinstance(error, MemoryError)
        if worn:
            # What filled the memory is held by the frames of the error.
            import traceback

            traceback.clear_frames(error.__traceback__)
        if heard is not None:
            heard.end()
        if worn:
            self._channel.send(Kind.WORN, number, b"")
        if isinstance(error, Cancelled) or is_given_up:
            self._answer(number, None)
            return
        if not isinstance(error, BadArgumentsError):
            failing.write_traceback(error)
        self._channel.send(Kind.FAILED, number, self._words.failed(error))
