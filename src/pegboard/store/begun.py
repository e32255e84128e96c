"""Programs that have begun, in a file of the process that runs them: what is left when it is killed is found later.

A line is written before a program can do anything, and the system has it then, whatever becomes of this process. The
file says nothing of the program itself.
"""

import json
import logging
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from pegboard.children.held import create_locked, lock_abandoned
from pegboard.core.begun import StartedRun
from pegboard.core.ids import CallId, PrincipalId
from pegboard.ports import Clock

log = logging.getLogger(__name__)

PROGRAMS_FOLDER: Final = "programs"
_FILE_SUFFIX: Final = ".begun"
RECORDED_AFTER: Final = timedelta(seconds=10)
"""After which the record of a program that has ended is in the store for certain."""
_MAX_FILE_BYTES: Final = 4 << 20
"""Bytes of a file of ours. A program's line has two hundred, and there are few at a time."""


class ActiveProgramLog:
    """Those of this process. Never fails: a program is run all the same where no line can be written."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._folder: Final = directory / PROGRAMS_FOLDER
        self._clock: Final = clock
        self._path: Path | None = None
        self._descriptor = -1
        self._active: set[CallId] = set()
        self._last_end: datetime | None = None

    def begin(self, begun: StartedRun) -> None:
        try:
            if self._descriptor < 0:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path, self._descriptor = create_locked(self._make_file)
            elif self._can_truncate():
                os.ftruncate(self._descriptor, 0)
                os.lseek(self._descriptor, 0, os.SEEK_SET)
            self._write(_program_members(begun))
        except OSError as error:
            log.warning("Should this gateway be killed, nobody will know of program %s: %s", begun.id, error)
        self._active.add(begun.id)

    def end(self, id: CallId) -> None:
        """Its record is on its way."""
        self._active.discard(id)
        self._last_end = self._clock()
        with suppress(OSError):
            self._write({"end": id, "at": self._last_end.isoformat()})

    def close(self) -> None:
        """Every record is written."""
        if self._descriptor >= 0 and self._path is not None:
            os.close(self._descriptor)
            self._descriptor = -1
            self._path.unlink(missing_ok=True)

    def _make_file(self) -> Path:
        path = self._folder / f"{secrets.token_hex(8)}{_FILE_SUFFIX}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def _can_truncate(self) -> bool:
        return not self._active and (self._last_end is None or self._clock() - self._last_end > RECORDED_AFTER)

    def _write(self, line: object) -> None:
        if self._descriptor >= 0:
            os.write(self._descriptor, json.dumps(line, separators=(",", ":")).encode() + b"\n")


@contextmanager
def abandoned_programs(directory: Path) -> Iterator[Sequence[StartedRun]]:
    """What processes that are no more had begun, and may not have recorded. Their files go when the block ends well."""
    found: list[StartedRun] = []
    files: list[Path] = []
    with ExitStack() as ours:
        for path in sorted((directory / PROGRAMS_FOLDER).glob(f"*{_FILE_SUFFIX}")):
            descriptor = ours.enter_context(lock_abandoned(path))
            if descriptor is not None:
                files.append(path)
                with open(descriptor, "rb", closefd=False) as lines:
                    found += _unfinished_programs(lines.read(_MAX_FILE_BYTES))
        yield found
    for path in files:
        # Whoever came by at the same time may have been quicker.
        path.unlink(missing_ok=True)


def _unfinished_programs(text: bytes) -> list[StartedRun]:
    begun: dict[str, StartedRun] = {}
    ended: dict[str, datetime] = {}
    latest: datetime | None = None
    for line in text.splitlines():
        # The last line may be half a line.
        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            at = datetime.fromisoformat(said["at"])
            latest = at if latest is None else max(latest, at)
            if "end" in said:
                ended[said["end"]] = at
            else:
                begun[said["id"]] = _parse_program(said, at)
    return [
        each for id, each in begun.items() if id not in ended or latest is None or latest - ended[id] <= RECORDED_AFTER
    ]


def _program_members(begun: StartedRun) -> dict[str, str | int | None]:
    return {
        "id": begun.id,
        "at": begun.at.isoformat(),
        "principal": begun.principal,
        "client": begun.client,
        "parent": begun.parent,
        "presentation": begun.presentation,
        "version": begun.policy_version,
    }


def _parse_program(said: "dict[str, str]", at: datetime) -> StartedRun:
    parent = said["parent"]
    return StartedRun(
        CallId(said["id"]),
        at,
        PrincipalId(said["principal"]),
        str(said["client"]),
        None if parent is None else CallId(parent),
        str(said["presentation"]),
        int(said["version"]),
    )
