"""A person at a real terminal: a command on a pseudo-terminal of its own, read and typed at by these tests."""

import os
import pty
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from tests.surfaces.cli.terminal import PATIENCE, clean_environment, warm_program

END_OF_INPUT = "\x04"
CTRL_C = "\x03"


class Typing:
    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self._process = process
        self._terminal = terminal
        self.seen = ""
        """Everything that the terminal showed, what was typed included."""

    def until(self, text: str) -> str:
        """Reads until this is shown, and tells all that was."""
        limit = monotonic() + PATIENCE
        while text not in self.seen:
            if not self._read(limit - monotonic()):
                raise AssertionError(f"{text!r} was never shown, but: {self.seen!r}")
        return self.seen

    def type(self, keys: str) -> None:
        """Half a surrogate stands for a byte that is no text."""
        os.write(self._terminal, keys.encode("utf-8", "surrogateescape"))

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def code(self) -> int:
        """How it ended, once everything was read."""
        limit = monotonic() + PATIENCE
        while self._read(limit - monotonic()):
            pass
        return self._process.wait(PATIENCE)

    def _read(self, seconds: float) -> bool:
        """Whether there was something to read before the end, or before so many seconds."""
        if not select.select([self._terminal], [], [], max(0.0, seconds))[0]:
            return False
        try:
            more = os.read(self._terminal, 65536)
        except OSError:  # so Linux tells that the other side is gone
            return False
        self.seen += more.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(more)


@contextmanager
def at_terminal(home: Path, *words: str | Path, **environ: str) -> Iterator[Typing]:
    """The command as people start it in a shell: the terminal is its own, so Ctrl-C there is a signal to it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*warm_program(), *map(str, words)],
        env={**clean_environment(home), "TERM": "xterm", **environ},
        cwd=home,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_controlled,
    )
    os.close(theirs)
    try:
        yield Typing(process, ours)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait(PATIENCE)
        os.close(ours)


def _controlled() -> None:
    """The terminal at standard input becomes the one that the session obeys."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
