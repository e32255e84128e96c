"""Walls around a worker of Monty: put up by this process, which then becomes the worker."""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from . import confinement
from .seccomp import MONTY_RULES

TRIAL_FLAG: Final = "--try-what-is-forbidden"
TRIAL_PASSED_CODE: Final = 120
_NOT_STARTED_CODE: Final = 121
_MAX_MEMORY_BYTES: Final = 2 << 30
"""Bytes of address space. The interpreter keeps each program to far less; this holds when that does not."""
_MAX_DESCRIPTORS: Final = 16
_LIBRARY_PATHS: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")


def main() -> None:
    machine, program, *arguments = sys.argv[1:]
    try:
        # What a worker says when it breaks is of no use to anybody, and a program could fill a disk with it.
        os.dup2(os.open("/dev/null", os.O_RDWR), 2)
        confinement.close_other_descriptors()
        confinement.lower_priority()
        confinement.drop_privileges(machine, to_be_nobody=False)
        confinement.limit_resources(_MAX_MEMORY_BYTES, _MAX_DESCRIPTORS)
        confinement.restrict_files((program, *_LIBRARY_PATHS))
        confinement.filter_syscalls(machine, MONTY_RULES)
        if arguments == [TRIAL_FLAG]:
            _try_forbidden_acts()
            os._exit(TRIAL_PASSED_CODE)
        os.execve(program, [program, *arguments], {})  # noqa: S606 - the interpreter that these walls are for
    except BaseException as error:  # noqa: BLE001 - whatever keeps it from starting is told
        with suppress(OSError):
            os.write(1, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(_NOT_STARTED_CODE)


def _try_forbidden_acts() -> None:
    """Raises `ConfinementError` when anything of it can be done."""
    tries: dict[str, Callable[[], object]] = {
        "a file can be read": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "a file can be made": lambda: os.open("/tmp/pegboard-escaped", os.O_WRONLY | os.O_CREAT),  # noqa: S108 - it cannot
        "a folder can be listed": lambda: os.listdir("/"),
        "a program can be run": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606 - it cannot
        "a process can be made": os.fork,
        "a socket can be made": socket.socket,
        "a signal can be sent": lambda: os.kill(os.getppid(), 0),
    }
    for what, attempt in tries.items():
        try:
            attempt()
        except PermissionError:
            continue
        raise confinement.ConfinementError(what)
