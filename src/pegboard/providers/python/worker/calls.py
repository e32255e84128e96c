"""Calls as they run in a worker: what is async, many at a time on one loop; anything else alone, on the main thread.

A function that is not async needs no loop around it, and may start one of its own.
"""

import json
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pegboard.providers.python.protocol import MAX_RESULT_BYTES, TOOL_INDEX, WorkerFrameKind
from pegboard.providers.python.worker.channel import NumberedFrame, WorkerChannel
from pegboard.tools import FunctionTool, Secrets, ToolContext
from pegboard.tools.context import ToolCancelledError
from pegboard.tools.function import BadResultError
from pegboard.tools.parameters import BadArgumentsError

if TYPE_CHECKING:
    import asyncio


# What a model is told of a call that failed: the error's own words, without places on this machine and secrets.

_MIB: Final = 1024 * 1024
_MAX_MESSAGE_CHARS: Final = 4_000
_MAX_ERRORS: Final = 5
_PACKAGE_FOLDER: Final = os.path.join(Path(__file__).parents[3], "")


class ToolErrorFormatter:
    """How the errors of one toolset are told."""

    def __init__(self, memory: int, places: Mapping[str, str], secrets: Sequence[str]) -> None:
        """`places` are folders and what stands for each in a message."""
        self._memory = memory
        self._folder_names = places
        self._secrets = secrets

    def format_error_result(self, error: BaseException) -> bytes:
        return error_result(self.format_error(error))

    def format_error(self, error: BaseException) -> str:
        """Raises nothing, whatever the error does when it is asked for its words."""
        match error:
            case BadArgumentsError():
                listed = "\n".join(f"- {problem}" for problem in error.problems)
                return f"The arguments do not fit:\n{listed}\nCorrect them and call again."
            case MemoryError():
                return f"The tool ran out of the memory it may use ({self._memory // _MIB} MB)."
            case BadResultError():
                return str(error)
            case SystemExit():
                return f"The tool ended itself (sys.exit with {_short_repr(error.code)})."
            case RecursionError():
                return "The tool called itself too often (RecursionError)."
            case _:
                return self.redact("\n".join(_error_lines(error)))

    def redact(self, text: str) -> str:
        """Without places on this machine, and without secrets."""
        from pegboard.processes.output import SecretFilter

        erased = SecretFilter(self._secrets)(text[: 4 * _MAX_MESSAGE_CHARS])
        for place, name in self._folder_names.items():
            erased = erased.replace(place, name)
        return _absolute_path_pattern().sub(r"…/\1", erased)[:_MAX_MESSAGE_CHARS]


def error_result(text: str) -> bytes:
    # Escaped, because a text with half a character in it is no UTF-8.
    return json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode()


def write_traceback(error: BaseException) -> None:
    """To the log, beginning with the tool's own lines."""
    began = error.__traceback__
    while began is not None and began.tb_frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        began = began.tb_next
    traceback.print_exception(type(error), error, began)
    sys.stderr.flush()


def _error_lines(error: BaseException) -> Iterator[str]:
    """Of a group of errors, those that are in it: that there is a group tells nobody anything."""
    leaves = [*_leaves(error)]
    for leaf in leaves[:_MAX_ERRORS]:
        yield f"{type(leaf).__name__}: {words}" if (words := _error_text(leaf)) else type(leaf).__name__
        yield from (str(note) for note in getattr(leaf, "__notes__", ()))
    if len(leaves) > _MAX_ERRORS:
        yield f"and {len(leaves) - _MAX_ERRORS} more errors"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _error_text(error: BaseException) -> str:
    try:
        # A key error's own text is the key as Python writes it, which is right for keys and wrong for sentences.
        if isinstance(error, KeyError) and error.args and isinstance(text := error.args[0], str) and " " in text:
            return text
        return str(error).strip()
    except Exception:  # noqa: BLE001 - an author's own class of errors, and one error at a time is enough
        return ""


def _short_repr(value: object) -> str:
    return repr(value)[:100]


def _absolute_path_pattern() -> re.Pattern[str]:
    """Any absolute path that begins with a folder which this machine has; of it, the last part is told.

    What only looks like a path, such as that of a web address, stays.
    """
    try:
        roots = [re.escape(name) for name in os.listdir(os.sep)]
    except OSError:
        roots = []
    return re.compile(rf"(?<![\w.:/~])/(?:{'|'.join(roots) or '(?!)'})(?:/[^/\s'\"<>|:]+)*/([^/\s'\"<>|:]+)/?")


_LOG_BURST: Final = 100
_LOG_RATE_PER_S: Final = 50.0
"""Words of a running call that are passed on: so many at once, and so many a second from then on."""
_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_MAX_LOG_CHARS: Final = 16_384


class CallReporter:
    """What one running call says, and whether anybody still waits for it."""

    def __init__(self, channel: WorkerChannel, number: int, polls: bool) -> None:
        self._channel = channel
        self._number = number
        self._polls = polls
        self._is_over = False
        self._credit = float(_LOG_BURST)
        self._last_time = time.monotonic()
        self._dropped_progress: bytes | None = None

    @property
    def is_cancelled(self) -> bool:
        if self._is_over:
            return True
        if self._polls and self._number not in self._channel.cancelled_calls:
            self._channel.poll_cancellations()
        return self._number in self._channel.cancelled_calls

    def progress(self, done: float, total: float | None, words: str | None) -> None:
        step = json.dumps([float(done), None if total is None else float(total), words and str(words)[:_MAX_LOG_CHARS]])
        self._dropped_progress = None
        if self._take_credit():
            self._channel.send(WorkerFrameKind.PROGRESS, self._number, step.encode())
        else:
            # The last word is told in the end, whatever was dropped on the way.
            self._dropped_progress = step.encode()

    def log(self, level: str, message: str) -> None:
        level = level if level in _LEVELS else "info"
        if self._take_credit():
            told = json.dumps([level, str(message)[:_MAX_LOG_CHARS]])
            self._channel.send(WorkerFrameKind.LOG, self._number, told.encode())

    def end(self) -> None:
        self._is_over = True
        if self._dropped_progress is not None:
            self._channel.send(WorkerFrameKind.PROGRESS, self._number, self._dropped_progress)

    def _take_credit(self) -> bool:
        if self._is_over:
            return False
        now = time.monotonic()
        self._credit = min(float(_LOG_BURST), self._credit + (now - self._last_time) * _LOG_RATE_PER_S)
        self._last_time = now
        if self._credit < 1:
            return False
        self._credit -= 1
        return True


class WorkerCallServer:
    def __init__(
        self,
        channel: WorkerChannel,
        functions: Sequence[FunctionTool],
        words: ToolErrorFormatter,
        toolset: str,
        workspace: Path | None,
        secrets: Secrets,
    ) -> None:
        self._channel = channel
        self._functions = functions
        self._error_formatter = words
        self._toolset = toolset
        self._workspace = workspace
        self._secrets = secrets
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._is_gateway_gone = False

    def serve(self) -> None:
        """Until the gateway is gone."""
        loop: asyncio.AbstractEventLoop | None = None
        try:
            while True:
                frame = self._channel.take()
                if frame[0] != WorkerFrameKind.CALL:
                    continue
                if not self._function_of(frame).is_async:
                    self._run_sync(frame)
                    continue
                if loop is None:
                    loop = self._new_loop()
                self._start_call(loop, frame)
                self._handle_frames(loop, self._channel.take_all(readable=False))
                loop.run_forever()
                if self._is_gateway_gone:
                    return
        except EOFError:
            return

    def _function_of(self, frame: NumberedFrame) -> FunctionTool:
        place: int = TOOL_INDEX.unpack_from(frame[2])[0]
        return self._functions[place]

    def _run_sync(self, frame: NumberedFrame) -> None:
        _, number, body = frame
        function = self._function_of(frame)
        if number in self._channel.cancelled_calls:
            self._send_answer(number, None)
            return
        heard = CallReporter(self._channel, number, polls=True) if function.wants_context else None
        try:
            told = function.run(body[TOOL_INDEX.size :], None if heard is None else self._context(heard))
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises is told to whoever called it
            self._send_failure(number, error, heard)
        else:
            if heard is not None:
                heard.end()
            self._send_answer(number, told)

    def _new_loop(self) -> "asyncio.AbstractEventLoop":
        import asyncio

        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.add_reader(self._channel.input_fd, self._on_readable, loop)
        return loop

    def _on_readable(self, loop: "asyncio.AbstractEventLoop") -> None:
        try:
            frames = self._channel.take_all(readable=True)
        except EOFError:
            self._is_gateway_gone = True
            for task in self._tasks.values():
                task.cancel()
            loop.call_soon(loop.stop)
        else:
            self._handle_frames(loop, frames)

    def _handle_frames(self, loop: "asyncio.AbstractEventLoop", frames: list[NumberedFrame]) -> None:
        for place, frame in enumerate(frames):
            if frame[0] == WorkerFrameKind.CALL and not self._function_of(frame).is_async:
                # It must not run within the loop, which it may want to start itself.
                self._channel.put_back(frames[place:])
                loop.stop()
                break
            if frame[0] == WorkerFrameKind.CALL:
                self._start_call(loop, frame)
        for number in self._channel.cancelled_calls & self._tasks.keys():
            self._tasks[number].cancel()

    def _start_call(self, loop: "asyncio.AbstractEventLoop", frame: NumberedFrame) -> None:
        self._tasks[frame[1]] = loop.create_task(self._run_async(frame))

    async def _run_async(self, frame: NumberedFrame) -> None:
        _, number, body = frame
        function = self._function_of(frame)
        heard = CallReporter(self._channel, number, polls=False) if function.wants_context else None
        try:
            told = await function.call(body[TOOL_INDEX.size :], None if heard is None else self._context(heard))
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises is told to whoever called it
            self._send_failure(number, error, heard)
        else:
            if heard is not None:
                heard.end()
            self._send_answer(number, told)
        finally:
            del self._tasks[number]

    def _context(self, heard: CallReporter) -> ToolContext:
        return ToolContext(self._toolset, self._workspace, self._secrets, heard)

    def _send_answer(self, number: int, told: bytes | None) -> None:
        kind = WorkerFrameKind.RESULT
        if told is None:
            kind, told = WorkerFrameKind.CALL_FAILED, b""
        elif len(told) > MAX_RESULT_BYTES:
            size, most = len(told) // 1_000_000, MAX_RESULT_BYTES // 1_000_000
            text = f"The tool ran, and its result of {size} MB is larger than the {most} MB that a result may have."
            kind, told = WorkerFrameKind.CALL_FAILED, error_result(text)
        self._channel.cancelled_calls.discard(number)
        self._channel.send(kind, number, told)

    def _send_failure(self, number: int, error: BaseException, heard: CallReporter | None) -> None:
        is_given_up = number in self._channel.cancelled_calls
        worn = isinstance(error, MemoryError)
        if worn:
            # What filled the memory is held by the frames of the error.
            import traceback

            traceback.clear_frames(error.__traceback__)
        if heard is not None:
            heard.end()
        if worn:
            self._channel.send(WorkerFrameKind.OUT_OF_MEMORY, number, b"")
        if isinstance(error, ToolCancelledError) or is_given_up:
            self._send_answer(number, None)
            return
        if not isinstance(error, BadArgumentsError):
            write_traceback(error)
        self._channel.send(WorkerFrameKind.CALL_FAILED, number, self._error_formatter.format_error_result(error))
