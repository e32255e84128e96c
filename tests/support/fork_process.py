"""The process that forks: it has imported what tests start, has no threads, and does nothing but wait for requests.

For each request it forks a monitor, which forks the program, passes signals on to it, and reports how it ended. A
client that is gone (SIGKILL) takes its program with it.
"""

import _socket
import atexit
import gc
import io
import os
import runpy
import select
import signal
import sys
import threading
from array import array
from contextlib import suppress
from importlib import import_module
from marshal import loads
from pathlib import Path
from typing import NoReturn

PRELOADED = (
    *(
        "pegboard.bootstrap.serve",
        "pegboard.bootstrap.serve",
        "pegboard.bootstrap.application",
        "pegboard.bootstrap.serve",
    ),
    *("pegboard.gateway.gateway", "pegboard.providers.mcp", "pegboard.store", "pegboard.surfaces.http.server"),
    *(
        "pegboard.surfaces.mcp.endpoint",
        "pegboard.surfaces.mcp.sdk_endpoint",
        "pegboard.surfaces.mcp.stdio",
        "pegboard.surfaces.http.router",
        "pegboard.surfaces.sign_in",
    ),
    *("pegboard.surfaces.cli.client", "pegboard.surfaces.mcp.endpoint", "pegboard.surfaces.web.site"),
    *("pegboard.config.settings", "pegboard.surfaces.rest.app", "pegboard.surfaces.cli.main", "alembic.command"),
    *("pegboard.bootstrap.launcher", "pegboard.gateway.access.token_requirement", "pegboard.providers.composite"),
    *("pegboard.providers.embedding.minilm", "aiosqlite", "greenlet", "pydantic.v1", "uvicorn.lifespan.off"),
    *("anyio._backends._asyncio", "anyio._core._signals", "anyio._core._sockets", "anyio._core._resources"),
    *(
        "pegboard.surfaces.cli.main",
        "pegboard.surfaces.cli.startup_progress",
        "mcp.server.mcpserver",
        "mcp.server.lowlevel",
        "uvicorn",
        "uvloop",
    ),
)


def main(address: str) -> None:
    """Returns in each program that was asked for; the server itself ends when its standard input does."""
    from pegboard.surfaces.cli.main import COMMANDS

    for name in PRELOADED:
        import_module(name)
    for command in COMMANDS.values():
        command.load()
    # Building the REST application costs a program more than the rest of its start.
    sys.path.insert(1, os.getcwd())
    import_module("tests.support.shared_api").build_before_forking()
    del sys.path[1]
    gc.freeze()
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(128)
    # Reaped, not ignored: only then the CPU seconds of the programs are added to those of this process.
    signal.signal(signal.SIGCHLD, _reap)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(1, b"ready\n")
    while True:
        ready, _, _ = select.select([0, listener.fileno()], [], [])
        if 0 in ready:
            os._exit(0)
        descriptor, _ = listener._accept()  # type: ignore[attr-defined]  # of the C class
        if os.fork() == 0:
            listener.close()
            _monitor(_socket.socket(fileno=descriptor))
            return
        os.close(descriptor)


def _reap(number: int, frame: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _monitor(client: _socket.socket) -> None:
    """Returns in the program; the monitor ends here."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, ancillary, _, _ = client.recvmsg(4, _socket.CMSG_LEN(3 * array("i").itemsize))
    if len(head) < 4:
        os._exit(0)
    streams = array("i")
    streams.frombytes(ancillary[0][2][: 3 * streams.itemsize])
    size = int.from_bytes(head, "big")
    request = b""
    while len(request) < size:
        request += client.recv(min(size - len(request), 1 << 20))
    arguments, environ, folder, ignored = loads(request)
    woken, waker = os.pipe()
    program = os.fork()
    if program == 0:
        for descriptor in (client.fileno(), woken, waker):
            os.close(descriptor)
        client.detach()
        _become(list(streams), arguments, environ, folder, ignored)
        return
    for stream in streams:
        os.close(stream)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    _watch(client, program, woken)


def _watch(client: _socket.socket, program: int, woken: int) -> NoReturn:
    while True:
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            with suppress(OSError):
                client.sendall(status.to_bytes(4, "big"))
            os._exit(0)
        ready, _, _ = select.select([client.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        if client.fileno() in ready:
            numbers = client.recv(64)
            for number in numbers:
                os.kill(program, number)
            if not numbers:
                os.kill(program, signal.SIGKILL)
                os.waitpid(program, 0)
                os._exit(0)


def _become(streams: list[int], arguments: list[str], environ: dict[str, str], folder: str, ignored: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        if stream > 2:
            os.close(stream)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.stdin = io.TextIOWrapper(
        io.BufferedReader(io.FileIO(0, "rb", closefd=False)), "utf-8", errors="surrogateescape"
    )
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "wb", closefd=False)), "utf-8", errors="surrogateescape"
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "wb", closefd=False)), "utf-8", errors="backslashreplace", line_buffering=True
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]  # as at a start
    global request
    request = arguments


def run_to_end(arguments: list[str]) -> NoReturn:
    """Ends without taking the interpreter apart: with everything imported, that takes longer than most programs."""
    code: object = 0
    try:
        run(arguments)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  whatever it is, Python prints it and ends with 1
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the end of every program does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    os._exit(code if isinstance(code, int) else 0)


def run(arguments: list[str]) -> None:
    """As `python ARGUMENTS` would."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")


request: list[str] = []

if __name__ == "__main__":
    main(sys.argv[1])
    run_to_end(request)
