"""A jailed process from its start until it is ready for a program, and its end."""

import os
import platform
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from pegboard.children import orphans
from pegboard.children.child import ChildProcess, close_pipes, read_chunk, start_child
from pegboard.children.lines import one_line
from pegboard.ports.sandbox import SandboxUnavailable

from .frames import JailFailure, JailFrameReader, JailProtocolError, JailReady, decode_frame
from .inside.calls import SYSCALL_TABLES

SOURCE: Final = Path(__file__).parents[1]
_START_TIMEOUT_S: Final = 30.0
_END_TIMEOUT_S: Final = 5.0
_MAX_STARTUP_BYTES: Final = 4_096


def boot_code(module: str) -> str:
    """Text that runs a module of `inside`: its package without the rest of ours, and without a path to import from."""
    return (
        "import sys, types; root = types.ModuleType('sandbox'); root.__path__ = [sys.argv.pop(1)]; "
        f"sys.modules['sandbox'] = root; from sandbox.full.inside.{module} import main; main()"
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

    async def start(self) -> "JailedProcess":
        """A process with its walls up, waiting for a program. Raises `SandboxAway`."""
        words = self._command()
        try:
            child = await start_child(words, {}, "/", lent=(self.image,))
        except OSError as error:
            raise SandboxUnavailable(f"full: {words[0]} cannot be started: {error}.") from error
        jailed = JailedProcess(child)
        try:
            with anyio.fail_after(_START_TIMEOUT_S):
                await jailed.wait_until_ready()
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


class JailedProcess:
    """A process that waits for a program, runs it, and is never used again."""

    def __init__(self, child: ChildProcess) -> None:
        self.child = child
        self.frames = JailFrameReader(_MAX_STARTUP_BYTES)

    @property
    def is_alive(self) -> bool:
        return self.child.returncode is None

    async def wait_until_ready(self) -> None:
        """Raises `SandboxAway` when a wall does not stand."""
        assert self.child.stdout is not None
        assert self.child.stderr is not None
        try:
            while said := await read_chunk(self.child.stdout):
                for body in self.frames.feed(said):
                    frame = decode_frame(body)
                    if isinstance(frame, JailReady):
                        return
                    why = (
                        frame.why if isinstance(frame, JailFailure) else "the jailed process said something else first"
                    )
                    raise SandboxUnavailable(f"full: a wall does not stand on this machine: {one_line(why, 500)}")
        except JailProtocolError as error:
            raise SandboxUnavailable(f"full: the jailed process said {error} before it was ready.") from error
        words = (await self.child.stderr.read(_MAX_STARTUP_BYTES)).decode(errors="replace")
        raise SandboxUnavailable(
            f"full: the jailed process ended before it was ready: {one_line(words, 500) or 'without a word'}"
        )

    async def end(self) -> int | None:
        """At once, whatever it does; what it ended with, if it had before."""
        before = self.child.returncode
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child.pid, signal.SIGKILL)
            close_pipes(self.child)
            with anyio.move_on_after(_END_TIMEOUT_S):
                await self.child.wait()
        if self.child.returncode is not None:
            orphans.release_group(self.child.pid)
        return before
