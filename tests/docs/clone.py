"""A clone as a reader has it, with everything set up, and a reader who types into two terminals."""

import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from tests.docs.pages import ROOT
from tests.support.fork_server import python as warm_python

DEADLINE = 60
"""For one line that is typed, or one wait. A page takes as long as its lines do."""
_NO_INDEX = {"PIP_NO_INDEX": "1"}
"""What every reader of a page would fetch again for search by meaning takes longer than the page."""


def cloned(folder: Path) -> Path:
    """The examples and the Makefile, and in place of a virtual environment two ways into that of the tests."""
    for part in ("examples", "Makefile", "pyproject.toml", "requirements"):
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, folder / part)
    for name, words in (("python", ""), ("pegboard", " -m pegboard")):
        program = folder / ".venv" / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{warm_python()}"{words} "$@"\n', "utf-8")
        program.chmod(0o755)
    # Newer than what they are made from, as after a first `make`.
    for stamp in (".build", ".run", ".semantic"):
        (folder / ".venv" / stamp).touch()
    return folder


@dataclass
class Said:
    code: int
    text: str


@dataclass
class Reader:
    """Works in one clone, with an empty home."""

    folder: Path
    typed: list[str] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """What the gateway in the first terminal has printed so far."""
    _more: anyio.Event = field(default_factory=anyio.Event)

    @property
    def environment(self) -> dict[str, str]:
        """The Makefile takes the port from here: a free one."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PORT": "0", **_NO_INDEX}

    async def types(self, line: str) -> Said:
        """One line in the second terminal. What it exports holds for the lines after it."""
        self.typed.append(line)
        script = "\n".join((*self.exports, line))
        if line.startswith("export "):
            self.exports.append(line)
        with anyio.fail_after(DEADLINE):
            done = await anyio.run_process(
                ["sh", "-c", script], cwd=self.folder, env=self.environment, stderr=-2, check=False
            )
        return Said(done.returncode, done.stdout.decode())

    @asynccontextmanager
    async def runs(self, line: str) -> AsyncIterator[None]:
        """A line in the first terminal, running until the block ends, then ended as Ctrl-C does."""
        self.typed.append(line)
        process = await anyio.open_process(
            ["sh", "-c", f"exec {line}"], cwd=self.folder, env=self.environment, stderr=-2, start_new_session=True
        )
        async with process, anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, process)
            try:
                yield
            finally:
                await _ended(process)
                tasks.cancel_scope.cancel()

    async def hears(self, *texts: str) -> None:
        """Waits until the gateway has printed these."""
        with anyio.fail_after(DEADLINE):
            while not all(any(text in line for line in self.heard) for text in texts):
                await self._more.wait()

    async def _listen(self, process: Process) -> None:
        assert process.stdout is not None
        rest = ""
        async for text in TextReceiveStream(process.stdout):
            *lines, rest = (rest + text).split("\n")
            self.heard += lines
            self._more.set()
            self._more = anyio.Event()


async def _ended(process: Process) -> None:
    """A terminal sends Ctrl-C to all that runs in it."""
    with anyio.CancelScope(shield=True):
        for number in (signal.SIGINT, signal.SIGKILL):
            if process.returncode is None:
                os.killpg(process.pid, number)
            with anyio.move_on_after(DEADLINE):
                await process.wait()
