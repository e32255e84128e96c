"""A terminal for these tests: commands in this process or in one of their own, with a home that holds nothing else."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.servers.peers import warm_command
from tests.support.fork_server import python as warm_python

PROGRAM = [sys.executable, "-m", "pegboard"]
"""In a fresh process, for tests about processes."""
PATIENCE = 60.0


def warm_program() -> list[str]:
    """The same, forked from a process that has imported it."""
    return [warm_python(), "-m", "pegboard"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Fails if standard output is anything but one JSON document."""
        return json.loads(self.out)


class Pegboard(Protocol):
    """One command in this process, by the same code as in one of its own; `stdin` is what it may read."""

    def __call__(self, *words: str | Path, stdin: str = "") -> Done: ...


def clean_environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "COVERAGE_PROCESS_START") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHON_FOR_DEMO": warm_python(), "DESK_DIR": str(home / "desk")}


def program(
    home: Path, *words: str | Path, cwd: Path | None = None, python: Path | str | None = None, **environ: str
) -> Done:
    """The program as people start it, by a warm Python or by the one that is given."""
    done = subprocess.run(
        [str(python or warm_python()), "-m", "pegboard", *map(str, words)],
        env={**clean_environment(home), **environ},
        cwd=cwd or home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def started(
    home: Path, *words: str | Path, cwd: Path | None = None, python: str | None = None, **environ: str
) -> Iterator[subprocess.Popen[str]]:
    """A program that goes on running; it is gone when the block has ended. By a warm Python, or by the one given."""
    with subprocess.Popen(
        [python or warm_python(), "-m", "pegboard", *map(str, words)],
        env={**clean_environment(home), **environ},
        cwd=cwd or home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str], number: signal.Signals) -> Done:
    """How it ends when it gets this signal."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return Done(process.returncode, out, err)


@dataclass(frozen=True)
class Gateway:
    """A gateway in a process of its own that listens; commands find it by its data directory."""

    told: Mapping[str, Any]
    """The one line of JSON it printed when it listened."""
    config: Path
    data_dir: Path
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return str(self.told["endpoint"]).removesuffix("/mcp")

    @property
    def token(self) -> str:
        return str(json.loads((self.data_dir / "gateway.json").read_text())["token"])


@contextmanager
def serving(
    home: Path, config: Path, data_dir: Path, *more: str, python: str | None = None, **environ: str
) -> Iterator[Gateway]:
    """By a warm Python, unless another is given: a test about its process wants a fresh one, `sys.executable`."""
    words: list[str | Path] = ["serve", "--config", config, "--data-dir", data_dir, "--port", "0", "--json", *more]
    with started(home, *words, cwd=None, python=python, **environ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield Gateway(json.loads(line), config, data_dir, process)
        if process.poll() is None:
            assert ended(process, signal.SIGTERM).out == "", "more than one line on standard output"


def peer(name: str, *arguments: str, **more: object) -> dict[str, object]:
    """A server of `tests/servers` as pegboard.yaml declares it."""
    executable, *rest = warm_command(name, *arguments)
    return {"command": executable, "args": rest, **more}


def board(file: Path, servers: Mapping[str, object], **more: object) -> Path:
    """A pegboard.yaml; JSON is YAML too."""
    file.write_text(json.dumps({"servers": servers, **more}, indent=1), "utf-8")
    return file


def of_folder(home: Path) -> str:
    """What is told first of a file that nobody named."""
    return f"  … with {home / 'pegboard.yaml'}, the one of this folder\n"


def of_board(directory: Path, *, empty: bool = True) -> str:
    """What is told of a directory on which no gateway runs, with the answer of its store."""
    never = ", and nothing was ever decided there" if empty else ""
    return (
        f"  … no gateway runs on {directory}{never}. "
        "If you mean another board, name its directory: --data-dir, or PEGBOARD_DATA_DIR\n"
    )


def usual_board(home: Path, *, empty: bool = True) -> str:
    return of_board(home / ".local" / "share" / "pegboard", empty=empty)


def by_id(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {row["id"]: row for row in rows}
