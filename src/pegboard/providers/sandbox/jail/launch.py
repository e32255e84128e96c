"""A jailed process from its start until it is ready for a program, and its end."""

import importlib.util
import json
import marshal
import os
import platform
import struct
import sys
import sysconfig
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio
import msgspec

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import SandboxUnavailable
from pegboard.processes.frames import FrameError
from pegboard.processes.output import one_line
from pegboard.processes.worker import WorkerProcess, start_worker
from pegboard.providers.sandbox.jail.inside.channel import has_too_many_values
from pegboard.providers.sandbox.jail.inside.seccomp import SYSCALL_TABLES
from pegboard.providers.sandbox.jail.inside.stdlib import ZONE_PREFIX, ImageEntry

# The standard library as one block of memory that every jailed process maps: it has no files to import from.

_EXCLUDED_MODULES: Final = frozenset(
    {
        *("__pycache__", "site-packages", "dist-packages", "lib-dynload", "test", "tests", "idle_test", "idlelib"),
        *("lib2to3", "ensurepip", "tkinter", "turtledemo", "turtle", "distutils", "pydoc_data", "venv", "msilib"),
        *("curses", "antigravity", "this", "__phello__", "_pyrepl"),
    }
)
_MAX_ZONE_BYTES: Final = 64 << 10
_HEADER_BYTES: Final = 8
_ZONE_MAGIC: Final = b"TZif"


def build_library_image() -> int:
    """A descriptor of it, sealed: nobody who has it can change a byte. Takes a tenth of a second."""
    assert sys.platform == "linux"
    index: dict[str, ImageEntry] = {}
    parts: list[bytes] = []
    length = 0
    for name, text, is_package in (*_module_entries(), *_zone_entries()):
        index[name] = length, len(text), is_package
        parts.append(text)
        length += len(text)
    table = marshal.dumps(index)
    descriptor = os.memfd_create("pegboard-library", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(descriptor, "wb", closefd=False) as written:
            written.write(len(table).to_bytes(_HEADER_BYTES, "little"))
            written.write(table)
            written.writelines(parts)
        import fcntl

        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _module_entries() -> Iterator[tuple[str, bytes, bool]]:
    yield from _folder_entries(Path(sysconfig.get_path("stdlib")), "")


def _folder_entries(folder: Path, package: str) -> Iterator[tuple[str, bytes, bool]]:
    for entry in sorted(folder.iterdir()):
        name = entry.stem
        if name in _EXCLUDED_MODULES or not name.isidentifier():
            continue
        if entry.is_dir():
            if (start := entry / "__init__.py").is_file():
                yield package + name, _module_code(start), True
                yield from _folder_entries(entry, f"{package}{name}.")
        elif entry.suffix == ".py" and name != "__init__":
            yield package + name, _module_code(entry), False


def _module_code(source: Path) -> bytes:
    """As Python has compiled it already, or as it was written."""
    text = source.read_bytes()
    try:
        compiled = Path(importlib.util.cache_from_source(str(source))).read_bytes()
    except OSError:
        return text
    time = int(source.stat().st_mtime) & 0xFFFF_FFFF
    expected = b"".join(
        (importlib.util.MAGIC_NUMBER, bytes(4), time.to_bytes(4, "little"), len(text).to_bytes(4, "little"))
    )
    return compiled if compiled.startswith(expected) else text


def _zone_entries() -> Iterator[tuple[str, bytes, bool]]:
    root = next((path for path in map(Path, zoneinfo.TZPATH) if path.is_dir()), None)
    if root is None:
        return
    for path in sorted(root.rglob("*")):
        key = path.relative_to(root).as_posix()
        if key.startswith(("right/", "posix/")) or not path.is_file():
            continue
        text = path.read_bytes()[: _MAX_ZONE_BYTES + 1]
        if text.startswith(_ZONE_MAGIC) and len(text) <= _MAX_ZONE_BYTES:
            yield ZONE_PREFIX + key, text, False


# Whether the process of a program does anything, seen from outside: what it says of that itself is not believed.

LOOK_INTERVAL_S: Final = 0.2
"""Seconds between two looks."""
_CPU_TIME_FIELDS: Final = slice(11, 13)
"""Of what follows the name: how much it has computed for itself, and in the kernel."""


class ActivityMonitor:
    def __init__(self, process: int) -> None:
        self._process: Final = process
        self._innermost: int | None = None
        self._previous_times: list[str] | None = None

    def is_idle(self) -> bool:
        """Whether it neither computes nor has since the last look. One that cannot be seen is taken to rest: how much
        it computes is bounded elsewhere."""
        if self._innermost is None:
            self._innermost = innermost_process(self._process)
        try:
            with open(f"/proc/{self._innermost}/stat", encoding="utf-8", errors="replace") as stat:
                told = stat.read().rpartition(")")[2].split()
        except OSError:
            return True
        before, self._previous_times = self._previous_times, told[_CPU_TIME_FIELDS]
        return told[:1] != ["R"] and before == self._previous_times


def innermost_process(process: int) -> int:
    """The last of a line of processes: bubblewrap stands before ours where it is used."""
    while True:
        try:
            with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as children:
                first = children.read().split()
        except OSError:
            return process
        if not first:
            return process
        process = int(first[0])


# What a jailed process says, read without trust: it may say anything at all, at any length.

_HEADER: Final = struct.Struct("<I")


class _JailFrameBase(msgspec.Struct, tag_field="t", forbid_unknown_fields=True, frozen=True):
    pass


class JailReady(_JailFrameBase, tag="ready", frozen=True):
    """All walls that stand before a program comes are up."""


class JailFailure(_JailFrameBase, tag="broken", frozen=True):
    why: str


class JailOutput(_JailFrameBase, tag="print", frozen=True):
    s: str


class JailCall(_JailFrameBase, tag="call", frozen=True):
    n: int
    f: int
    a: dict[str, Any]


class JailErrorDetails(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    type: str
    message: str
    line: int | None = None


class JailResult(_JailFrameBase, tag="done", frozen=True):
    r: Any
    e: JailErrorDetails | None
    x: bool
    u: tuple[tuple[int, int], ...] = ()
    """Calls that were not made: the number of each function, and a line."""


JailFrame: TypeAlias = JailReady | JailFailure | JailOutput | JailCall | JailResult

_decoder: Final[msgspec.json.Decoder[JailFrame]] = msgspec.json.Decoder(JailFrame)


class JailProtocolError(Exception):
    """It said what no program of ours makes it say."""


def decode_frame(body: bytes) -> JailFrame:
    """In time that grows with its length. Raises `JailProtocolError`."""
    if has_too_many_values(body):
        raise JailProtocolError("more values than may leave the sandbox at once")
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JailProtocolError(f"what is no frame: {error}") from error


def encode_frame(value: Json) -> bytes:
    """Raises `ValueError` or `RecursionError` for what is no JSON."""
    # Not by msgspec, which has no word for integers beyond 64 bits.
    body = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return _HEADER.pack(len(body)) + body


SOURCE: Final = Path(__file__).parents[1]
_START_TIMEOUT_S: Final = 30.0
_LAST_WORDS_TIMEOUT_S: Final = 5.0
_MAX_STARTUP_BYTES: Final = 4_096


def boot_code(module: str) -> str:
    """Text that runs a module of `inside`: its package without the rest of ours, and without a path to import from."""
    return (
        "import sys, types; root = types.ModuleType('sandbox'); root.__path__ = [sys.argv.pop(1)]; "
        f"sys.modules['sandbox'] = root; from sandbox.jail.inside.{module} import main; main()"
    )


@dataclass(frozen=True)
class JailLauncher:
    """How processes are started here."""

    image: int
    """The descriptor of the standard library."""
    bubblewrap: str | None = None
    """The program, where it works."""
    source: Path = SOURCE
    """The folder that the jailed process takes our modules from."""

    async def start(self) -> WorkerProcess:
        """A process with its walls up, waiting for one program. Raises `SandboxUnavailable`."""
        words = self._command()
        try:
            jailed = await start_worker(words, {}, "/", _HEADER, _MAX_STARTUP_BYTES, lent=(self.image,))
        except OSError as error:
            raise SandboxUnavailable(f"full: {words[0]} cannot be started: {error}.") from error
        try:
            with anyio.fail_after(_START_TIMEOUT_S):
                await _wait_until_ready(jailed)
        except TimeoutError as error:
            await jailed.end()
            raise SandboxUnavailable(
                f"full: the jailed process was not ready within {_START_TIMEOUT_S:g} seconds."
            ) from error
        except BaseException:
            await jailed.end()
            raise
        return jailed

    def _command(self) -> list[str]:
        machine = platform.machine()
        if machine not in SYSCALL_TABLES:
            raise SandboxUnavailable(
                f"full: there is no filter of system calls for {machine}; only for {', '.join(SYSCALL_TABLES)}."
            )
        python = str(getattr(sys, "_base_executable", None) or sys.executable)
        parent = os.getpid() if self.bubblewrap is None else 0
        inner = [
            python,
            "-I",
            "-S",
            "-X",
            "utf8",
            "-c",
            boot_code("main"),
            str(self.source),
            str(self.image),
            machine,
            str(parent),
        ]
        return (
            inner
            if self.bubblewrap is None
            else [self.bubblewrap, *_bubblewrap_options(python, self.source), "--", *inner]
        )


def _bubblewrap_options(python: str, source: Path) -> list[str]:
    """No network, no other processes, and of all files only what Python starts from: even this is gone before a
    program runs."""
    seen = {Path(sys.base_prefix), Path(python).resolve().parent.parent, source, *map(Path, ("/usr", "/lib", "/lib64"))}
    words = ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--clearenv", "--hostname", "sandbox"]
    for place in sorted((*seen, Path("/etc/ld.so.cache"))):
        words += ["--ro-bind-try", str(place), str(place)]
    return [*words, "--proc", "/proc", "--dev", "/dev", "--chdir", "/"]


async def _wait_until_ready(jailed: WorkerProcess) -> None:
    """Raises `SandboxUnavailable` when a wall does not stand."""
    try:
        first = await jailed.next_frame()
        frame = None if first is None else decode_frame(first[1])
    except (FrameError, JailProtocolError) as error:
        raise SandboxUnavailable(f"full: the jailed process said {error} before it was ready.") from error
    match frame:
        case JailReady():
            return
        case None:
            words = one_line(await jailed.last_words(_MAX_STARTUP_BYTES, _LAST_WORDS_TIMEOUT_S), 500)
            raise SandboxUnavailable(f"full: the jailed process ended before it was ready: {words or 'without a word'}")
        case _:
            why = frame.why if isinstance(frame, JailFailure) else "the jailed process said something else first"
            raise SandboxUnavailable(f"full: a wall does not stand on this machine: {one_line(why, 500)}")
