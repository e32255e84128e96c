"""The worker's program: it opens one database, handles one request after another, and ends with its input."""

import os
import queue
import threading
from contextlib import suppress
from typing import Any, BinaryIO

from pegboard.core.databases.rows import StatementFailure, StatementFault
from pegboard.core.model.databases import Dialect
from pegboard.processes.frames import limit_resources, take_pipes
from pegboard.providers.database.worker.frames import (
    HEADER,
    Message,
    RunStatement,
    WorkerRequest,
    WorkerSetup,
    decode,
    encode,
)
from pegboard.providers.database.worker.session import NO_MEMORY, FileSession, UnavailableError


def main() -> None:
    incoming, outgoing = take_pipes()
    source, sink = os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb", buffering=0)
    setup = _read_message(source)
    if not isinstance(setup, WorkerSetup):
        return
    # By the kernel, because an engine's own limits do not cover all that it does.
    limit_resources((("RLIMIT_AS", setup.memory), ("RLIMIT_FSIZE", setup.file)))
    try:
        session = _session(setup)
    except UnavailableError as error:
        sink.write(_unavailable(error))
        return
    sink.write(encode(""))
    requests: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, requests, session), daemon=True).start()
    with suppress(BrokenPipeError):
        while True:
            sink.write(_handle(session, requests.get()))


def _listen(source: BinaryIO, requests: "queue.SimpleQueue[Message | None]", session: FileSession[Any]) -> None:
    while (request := _read_message(source)) is not None:
        if request is WorkerRequest.STOP:
            session.interrupt()
        else:
            requests.put(request)
    # The gateway is gone. A running write is undone first, if that takes no longer than a moment.
    session.interrupt()
    threading.Timer(1.0, os._exit, (0,)).start()
    requests.put(None)


def _handle(session: FileSession[Any], request: Message | None) -> bytes:
    try:
        match request:
            case WorkerRequest.CHECK:
                return encode(session.check())
            case WorkerRequest.SCHEMA:
                return encode(session.schema())
            case WorkerRequest.STAMP:
                return encode(session.stamp())
            case RunStatement():
                return encode(session.run(request))
            case _:
                os._exit(0)
    except UnavailableError as error:
        return _unavailable(error)
    except MemoryError:
        return encode(NO_MEMORY)


def _session(setup: WorkerSetup) -> FileSession[Any]:
    if setup.dialect is Dialect.DUCKDB:
        from pegboard.providers.database.duckdb.engine import DuckdbSession

        return DuckdbSession(setup.path, setup.access)
    from pegboard.providers.database.sqlite.engine import SqliteSession

    return SqliteSession(setup.path, setup.access, writes=setup.writes)


def _unavailable(error: UnavailableError) -> bytes:
    return encode(StatementFailure(str(error), fault=StatementFault.UNAVAILABLE))


def _read_message(source: BinaryIO) -> Message | None:
    header = source.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length, kind = HEADER.unpack(header)
    body = source.read(length)
    return decode(kind, body) if len(body) == length else None
