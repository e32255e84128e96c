"""A program with three pipes to it, started alike on every event loop.

Not by the loop: uvloop leaves a second copy of each pipe in the child, so that a program which closes its output still
seems to have it open, and each pipe is a socket there, which no program can open as `/dev/stderr`.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final, Protocol

import anyio

from pegboard.processes import cleanup

_CHUNK_BYTES: Final = 65_536
_PIPE_BUFFER_BYTES: Final = 262_144
"""Bytes that a program may have written before we read them: with fewer, a large answer takes more turns."""


class ChildProcess(Protocol):
    """What `asyncio` shows of a process of its own, and no more than is used here."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdin(self) -> asyncio.StreamWriter | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    @property
    def stderr(self) -> asyncio.StreamReader | None: ...
    async def wait(self) -> int: ...
    def terminate(self) -> None: ...


async def start_child(
    words: Sequence[str], environment: Mapping[str, str], folder: str | None, lent: Sequence[int] = ()
) -> ChildProcess:
    """In a session of its own; `groups.stop` ends it. `lent` are descriptors of ours that it gets, under their numbers;
    not on Windows. Raises `OSError` and `ValueError` as `subprocess` does."""
    if sys.platform == "win32":
        pipe = subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *words, env=environment, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe
        )
    process = _spawn(words, environment, folder, lent)
    cleanup.watch_group(process.pid)
    child = _PosixChild(process)
    try:
        await child.connect()
    except BaseException:
        process.kill()
        child.close()
        cleanup.release_group(process.pid)
        raise
    return child


def close_pipes(child: ChildProcess) -> None:
    """Close our ends of the pipes, whatever is unread or unsent."""
    if isinstance(child, _PosixChild):
        child.close()


async def read_chunk(stream: asyncio.StreamReader) -> bytes:
    """What has come since; empty at the end."""
    return await stream.read(_CHUNK_BYTES)


def _spawn(
    words: Sequence[str], environment: Mapping[str, str], folder: str | None, lent: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Within a millisecond or two: nothing of this process is copied for it."""
    for ended in [process for process in tuple(_UNREAPED) if process.poll() is not None]:
        _UNREAPED.discard(ended)
    return subprocess.Popen(  # noqa: S603 - to run what the settings name is what a server's declaration is for
        words,
        bufsize=0,
        env=environment,
        cwd=folder,
        start_new_session=True,
        pass_fds=lent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


_UNREAPED: Final[set[subprocess.Popen[bytes]]] = set()
"""Processes whose end was not seen yet. If their event loop ends first, the next start collects them."""


class _PosixChild:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._exited = asyncio.Event()
        self._close_callbacks: list[Callable[[], None]] = []
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._reap_when_ended()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def connect(self) -> None:
        stdin, stdout, stderr = self._pipes()
        loop = asyncio.get_running_loop()
        if sys.platform == "linux":
            import fcntl

            with suppress(OSError):
                fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, _PIPE_BUFFER_BYTES)
        # Made for a reader too, because it is the one public protocol that can tell a writer when there is room.
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), loop=loop)
        transport, _ = await loop.connect_write_pipe(lambda: protocol, stdin)
        self._close_callbacks.append(
            lambda: transport.abort() if transport.get_write_buffer_size() else transport.close()
        )
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        self.stdout = await self._connect_reader(loop, stdout)
        self.stderr = await self._connect_reader(loop, stderr)

    async def _connect_reader(self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes]) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(loop=loop)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), pipe)
        self._close_callbacks.append(transport.close)
        return reader

    def close(self) -> None:
        # A pipe that has a transport is the transport's to close.
        unconnected = self._pipes()[len(self._close_callbacks) :]
        for close in (*self._close_callbacks, *(pipe.close for pipe in unconnected)):
            close()

    async def wait(self) -> int:
        await self._exited.wait()
        assert self._process.returncode is not None
        return self._process.returncode

    def terminate(self) -> None:
        self._process.terminate()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        return process.stdin, process.stdout, process.stderr

    def _reap_when_ended(self) -> None:
        loop = asyncio.get_running_loop()
        _UNREAPED.add(self._process)
        try:
            ending = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            # No event tells it here, and one thread that waits costs less than to ask again and again.
            threading.Thread(target=self._wait_in_thread, args=(loop,), daemon=True).start()
            return

        def reap() -> None:
            loop.remove_reader(ending)
            os.close(ending)
            self._process.poll()
            _UNREAPED.discard(self._process)
            self._exited.set()

        loop.add_reader(ending, reap)

    def _wait_in_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop has ended before the program
            loop.call_soon_threadsafe(self._exited.set)


# A child with all that it started: what it gets of our descriptors, and its end.

_POLL_INTERVAL_S: Final = 0.02
_LAST_STANDARD_DESCRIPTOR: Final = 2
"""Input, output and errors: the descriptors that every process has."""


class GroupLeader(Protocol):
    """A process of ours that leads a group of its own."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def terminate(self) -> None: ...


def kill_group(process: GroupLeader) -> None:
    """By force, with all that is still in its group, whether or not it has ended itself."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def prevent_descriptor_inheritance() -> None:
    """What this process was started with is not for its children: uvloop passes on all that may be inherited."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            for name in os.listdir(folder):
                if int(name) > _LAST_STANDARD_DESCRIPTOR:
                    with suppress(OSError):  # the one that the folder was read by is gone already
                        os.set_inheritable(int(name), False)
            return


async def stop_process_group(process: GroupLeader, end_input: Callable[[], Awaitable[None]], within: float) -> None:
    """The end of its input first, then a request to end, then force; each for its share of the time.

    Whoever is left of its group goes too, even when the process itself left politely.
    """
    try:
        await _stop_in_steps(process, end_input, within)
    finally:
        if process.returncode is not None and not _is_group_alive(process.pid):
            cleanup.release_group(process.pid)


async def _stop_in_steps(process: GroupLeader, end_input: Callable[[], Awaitable[None]], within: float) -> None:
    strays = set(_escaped_descendants(process.pid))
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await end_input()
    share = within * 0.4
    if await _wait_until_gone(process, strays, share):
        return
    strays |= set(_escaped_descendants(process.pid))
    _send_signal(process, strays, signal.SIGTERM)
    if await _wait_until_gone(process, strays, share):
        return
    strays |= set(_escaped_descendants(process.pid))
    _send_signal(process, strays, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    await _wait_until_gone(process, strays, within - 2 * share)


async def _wait_until_gone(process: GroupLeader, strays: Iterable[tuple[int, str]], within: float) -> bool:
    """Whether all of it has ended in time: the process, its group, and those who left the group."""
    with anyio.move_on_after(within):
        # Asking is the only way: no event tells that a group or a process that is not our child has ended.
        while process.returncode is None or _is_group_alive(process.pid) or any(map(_is_alive, strays)):  # noqa: ASYNC110 - see above
            await anyio.sleep(_POLL_INTERVAL_S)
        return True
    return False


def _send_signal(process: GroupLeader, strays: Iterable[tuple[int, str]], number: signal.Signals) -> None:
    if sys.platform == "win32":
        if process.returncode is None:
            process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
    for stray in strays:
        if _is_alive(stray):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray[0], number)


def _is_group_alive(group: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # The dead that nobody has reaped still answer: in a container without an init they do so for ever.
    running = _process_ids()
    return not running or any(read is not None and read[1] == group for read in map(_process_stat, running))


def _escaped_descendants(ancestor: int) -> Iterator[tuple[int, str]]:
    """Descendants that left the group, as browsers do that a server starts: each with the moment it began.

    Only where `/proc` tells who descends from whom. The moment keeps us from ending a stranger that got the number.
    """
    parents: dict[int, list[tuple[int, int, str]]] = {}
    for entry in _process_ids():
        if (read := _process_stat(entry)) is not None:
            parent, group, began = read
            parents.setdefault(parent, []).append((entry, group, began))
    known = [ancestor]
    while known:
        for child, group, began in parents.get(known.pop(), ()):
            known.append(child)
            if group != ancestor:
                yield child, began


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _process_stat(process: int) -> tuple[int, int, str] | None:
    """Parent, group and start of a process that runs; None for one that has ended, reaped or not."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            # The name in parentheses may itself hold parentheses and spaces.
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else (int(fields[1]), int(fields[2]), fields[19])


def _is_alive(stray: tuple[int, str]) -> bool:
    read = _process_stat(stray[0])
    return read is not None and read[2] == stray[1]


# What a child process inherits of our environment: enough to run, and nothing that was meant for us alone.

_INHERITED_NAMES: Final = (
    frozenset(
        {
            "APPDATA",
            "COMSPEC",
            "HOMEDRIVE",
            "HOMEPATH",
            "LOCALAPPDATA",
            "PATH",
            "PATHEXT",
            "PROCESSOR_ARCHITECTURE",
            "SYSTEMDRIVE",
            "SYSTEMROOT",
            "TEMP",
            "TMP",
            "USERNAME",
            "USERPROFILE",
            "WINDIR",
        }
    )
    if sys.platform == "win32"
    else frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"})
)
_CERTIFICATE_VARIABLES: Final = frozenset(
    {"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
)
"""Where certificates lie: no secret, and without them a server behind a company's proxy hangs without a word."""


def inherited_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        # A value that begins so is a shell function of old bash, and runs when a shell starts.
        if (name in _INHERITED_NAMES or name in _CERTIFICATE_VARIABLES or name.startswith("LC_"))
        and not value.startswith("()")
    }


# Programs of our own that run beside the gateway, each the `main` of a module, by an interpreter of their own.


@cache
def program_arguments(module: str, *packages: str) -> Sequence[str]:
    """For a Python interpreter. The program finds these packages, its own among them, behind those of its interpreter
    and wherever they are installed here; elsewhere on our own path may be anything."""
    boot = (
        "import sys; sys.path += [path for path in sys.argv[1:] if path not in sys.path]; "
        f"from {module} import main; main()"
    )
    found = [spec.origin for name in packages if (spec := find_spec(name)) is not None and spec.origin is not None]
    folders = [path.parents[path.name == "__init__.py"] for path in map(Path, found)]
    return ("-I", "-X", "utf8", "-c", boot, *dict.fromkeys(map(str, folders)))
