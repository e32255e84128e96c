"""The same walls around the workers of Monty: a program that puts them up and then becomes a worker.

They hold what the interpreter itself should hold already: whoever breaks out of it stands in a process without files,
network, other processes or rights. Linux only, and only where they can be put up.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pegboard.children.held import create_locked, lock_abandoned

from .inside.calls import SYSCALL_TABLES
from .inside.worker import TRIAL_FLAG, TRIAL_PASSED_CODE
from .launch import SOURCE, boot_code

_TRIAL_TIMEOUT_S: Final = 30.0
_PROGRAM_NAME: Final = "monty"
_FOLDER_PREFIX: Final = "pegboard-workers-"


class ConfinementUnavailableError(Exception):
    """Why there are no walls here."""


class ConfinedBinary:
    """A program to start in place of `binary`; its folder goes with `remove`."""

    def __init__(self, binary: str) -> None:
        """Raises `NotAround`. Takes a tenth of a second."""
        machine = platform.machine()
        if sys.platform != "linux" or machine not in SYSCALL_TABLES:
            raise ConfinementUnavailableError(
                f"its walls are those of Linux on {' or '.join(SYSCALL_TABLES)}, and this is {machine}"
            )
        remove_stale_folders()
        self._folder, self._held = create_locked(lambda: Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX)))
        try:
            self.program = self._folder / _PROGRAM_NAME
            self.program.write_text(_script([machine, str(Path(binary).resolve())]))
            self.program.chmod(0o700)
            _verify_confinement(self.program)
        except (OSError, subprocess.SubprocessError) as error:
            self.remove()
            raise ConfinementUnavailableError(str(error)) from error
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def remove_stale_folders() -> None:
    """Takes away the folders of processes that were killed, and touches nobody's who lives."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        with lock_abandoned(folder) as descriptor:
            if descriptor is not None and folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)


def _script(arguments: Sequence[str]) -> str:
    python = str(getattr(sys, "_base_executable", None) or sys.executable)
    words = [python, "-I", "-S", "-X", "utf8", "-c", boot_code("worker"), str(SOURCE), *arguments]
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def _verify_confinement(program: Path) -> None:
    """Raises `NotAround` when a wall does not stand, or when what it forbids can be done."""
    done = subprocess.run(  # noqa: S603 - the program that was written above
        [str(program), TRIAL_FLAG],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TRIAL_TIMEOUT_S,
        env={},
        check=False,
    )
    if done.returncode != TRIAL_PASSED_CODE:
        words = done.stdout.decode(errors="replace").strip()[:500]
        raise ConfinementUnavailableError(words or f"a process with these walls ended with {done.returncode}")
