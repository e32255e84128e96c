"""The worker's program: it opens one database, handles one request after another, and ends with its input."""

import os
import queue
import sys
import threading
from contextlib import suppress
from typing import BinaryIO, Protocol

from pegboard.core.database import Answer, Checked, Limits, Schema
from pegboard.core.folded import Json

from .errors import NO_MEMORY, UnavailableError
from .frames import (
    HEADER,
    RequestKind,
    ResponseKind,
    Setup,
    Unavailable,
    answer_frame,
    frame,
    run_decoder,
    setup_decoder,
)


class Session(Protocol):
    """One database, opened on first use. All but `interrupt` raise `UnavailableError`."""

    def check(self) -> Checked: ...
    def schema(self) -> Schema: ...
    def stamp(self) -> str: ...
    def run(
        self, statement: str, parameters: list[Json] | dict[str, Json], limits: Limits, *, write: bool
    ) -> Answer: ...
    def interrupt(self) -> None:
        """From another thread: the running statement ends soon, and what it wrote is undone."""
        ...


def main() -> None:
    source, sink = sys.stdin.buffer, _take_stdout()
    request = _read_frame(source)
    if request is None or request[0] != RequestKind.SETUP:
        return
    setup = setup_decoder.decode(request[1])
    _limit(setup)
    try:
        session = _session(setup)
    except UnavailableError as error:
        sink.write(frame(ResponseKind.UNAVAILABLE, Unavailable(str(error))))
        return
    sink.write(frame(ResponseKind.READY, ""))
    requests: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, requests, session), daemon=True).start()
    with suppress(BrokenPipeError):
        while True:
            sink.write(_handle(session, *requests.get()))


def _listen(source: BinaryIO, requests: "queue.SimpleQueue[tuple[int, bytes]]", session: Session) -> None:
    while (request := _read_frame(source)) is not None:
        if request[0] == RequestKind.STOP:
            session.interrupt()
        else:
            requests.put(request)
    # The gateway is gone. A running write is undone first, if that takes no longer than a moment.
    session.interrupt()
    threading.Timer(1.0, os._exit, (0,)).start()
    requests.put((0, b""))


def _handle(session: Session, kind: int, body: bytes) -> bytes:
    try:
        match kind:
            case RequestKind.CHECK:
                return frame(ResponseKind.CHECKED, session.check())
            case RequestKind.SCHEMA:
                return frame(ResponseKind.SCHEMA, session.schema())
            case RequestKind.STAMP:
                return frame(ResponseKind.STAMP, session.stamp())
            case RequestKind.RUN:
                run = run_decoder.decode(body)
                return answer_frame(session.run(run.statement, run.parameters, run.limits, write=run.write))
            case _:
                os._exit(0)
    except UnavailableError as error:
        return frame(ResponseKind.UNAVAILABLE, Unavailable(str(error)))
    except MemoryError:
        return answer_frame(NO_MEMORY)


def _session(setup: Setup) -> Session:
    if setup.engine == "duckdb":
        from pegboard.providers.builtin.database.duckdb.session import DuckdbSession

        return DuckdbSession(setup.path, setup.access)
    from pegboard.providers.builtin.database.sqlite.session import SqliteSession

    return SqliteSession(setup.path, setup.access, writes=setup.writes)


def _read_frame(source: BinaryIO) -> tuple[int, bytes] | None:
    header = source.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length, kind = HEADER.unpack(header)
    body = source.read(length)
    return (kind, body) if len(body) == length else None


def _take_stdout() -> BinaryIO:
    """What a library prints must not come between our frames."""
    stdout = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return stdout


def _limit(setup: Setup) -> None:
    """By the kernel, because an engine's own limits do not cover all that it does."""
    with suppress(ImportError):
        import resource

        for limit, value in (
            (resource.RLIMIT_AS, setup.memory),
            (resource.RLIMIT_FSIZE, setup.file),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(limit)
            soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
            # Not every system can set each of them; there the engine's own limits hold.
            with suppress(ValueError, OSError):
                resource.setrlimit(limit, (soft, soft))


if __name__ == "__main__":
    main()
