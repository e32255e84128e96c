"""The worker's program: it opens one database, does one thing after another, and ends with its input."""

import os
import queue
import sys
import threading
from contextlib import suppress
from typing import BinaryIO, Final, Protocol

from pegboard.core.database import Answer, Checked, Failed, Fault, Limits, Schema
from pegboard.core.folded import Json

from . import frames
from .frames import HEAD, Ask, Setup, Tell, frame

NO_MEMORY: Final = "The statement needs more memory than a source's worker may use. Read fewer rows or shorter values."


class Away(Exception):  # noqa: N818 - it is told to a person as a sentence
    """The database cannot be opened: why, and what to do."""


class Session(Protocol):
    """One database, opened when it is needed first. All but `interrupt` raise `Away`."""

    def check(self) -> Checked: ...
    def schema(self) -> Schema: ...
    def stamp(self) -> str: ...
    def run(
        self, statement: str, parameters: list[Json] | dict[str, Json], limits: Limits, *, write: bool
    ) -> Answer: ...
    def interrupt(self) -> None:
        """From another thread: what runs ends soon, and what was written is undone."""
        ...


def main() -> None:
    source, sink = sys.stdin.buffer, _own_output()
    asked = _frame(source)
    if asked is None or asked[0] != Ask.SETUP:
        return
    setup = frames.setup.decode(asked[1])
    _cap(setup)
    try:
        session = _session(setup)
    except Away as away:
        sink.write(frame(Tell.AWAY, frames.Away(str(away))))
        return
    sink.write(frame(Tell.READY, ""))
    asks: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, asks, session), daemon=True).start()
    with suppress(BrokenPipeError):
        while True:
            sink.write(_answer(session, *asks.get()))


def _listen(source: BinaryIO, asks: "queue.SimpleQueue[tuple[int, bytes]]", session: Session) -> None:
    while (asked := _frame(source)) is not None:
        if asked[0] == Ask.STOP:
            session.interrupt()
        else:
            asks.put(asked)
    # Whoever asked is gone. What is being written is undone first, if that takes no longer than a moment.
    session.interrupt()
    threading.Timer(1.0, os._exit, (0,)).start()
    asks.put((0, b""))


def _answer(session: Session, kind: int, body: bytes) -> bytes:
    try:
        match kind:
            case Ask.CHECK:
                return frame(Tell.CHECKED, session.check())
            case Ask.SCHEMA:
                return frame(Tell.SCHEMA, session.schema())
            case Ask.STAMP:
                return frame(Tell.STAMP, session.stamp())
            case Ask.RUN:
                run = frames.run.decode(body)
                return frames.told(session.run(run.statement, run.parameters, run.limits, write=run.write))
            case _:
                os._exit(0)
    except Away as away:
        return frame(Tell.AWAY, frames.Away(str(away)))
    except MemoryError:
        return frames.told(Failed(NO_MEMORY, fault=Fault.MEMORY))


def _session(setup: Setup) -> Session:
    if setup.engine == "duckdb":
        from pegboard.providers.builtin.database.duckdb.session import DuckdbSession

        return DuckdbSession(setup.path, setup.access)
    from pegboard.providers.builtin.database.sqlite.session import SqliteSession

    return SqliteSession(setup.path, setup.access, writes=setup.writes)


def _frame(source: BinaryIO) -> tuple[int, bytes] | None:
    head = source.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    length, kind = HEAD.unpack(head)
    body = source.read(length)
    return (kind, body) if len(body) == length else None


def _own_output() -> BinaryIO:
    """What a library prints must not come between our frames."""
    ours = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return ours


def _cap(setup: Setup) -> None:
    """By the kernel, because no engine's own limit holds for all that it does."""
    with suppress(ImportError):
        import resource

        for what, most in (
            (resource.RLIMIT_AS, setup.memory),
            (resource.RLIMIT_FSIZE, setup.file),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(what)
            capped = most if hard == resource.RLIM_INFINITY else min(most, hard)
            # Not every system lets each of them be set; the engine's own limits hold there alone.
            with suppress(ValueError, OSError):
                resource.setrlimit(what, (capped, capped))


if __name__ == "__main__":
    main()
