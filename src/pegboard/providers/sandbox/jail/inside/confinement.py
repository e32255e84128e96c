"""The walls around this process, put up by itself and for good: what it may use, name and ask of the kernel."""

import ctypes
import os
import resource
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from .seccomp import SYSCALL_TABLES, SyscallRules, bpf_program

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

_NICENESS: Final = 5
_SET_DEATH_SIGNAL: Final = 1
_SET_DUMPABLE: Final = 4
_SET_SECCOMP: Final = 22
_DROP_BOUNDING_CAPABILITY: Final = 24
_NO_NEW_PRIVILEGES: Final = 38
_CLEAR_AMBIENT: Final = (47, 4)
_KILL: Final = 9
_SECCOMP_FILTER: Final = 2
_LAST_CAPABILITY: Final = 63

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
"""Landlock has the same numbers on every architecture."""
_RULE_PATH_BENEATH: Final = 1
_EXECUTE_AND_READ: Final = 0b101
_CAPSET: Final = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION: Final = 0x2008_0522
_NOBODY: Final = 65_534

_FILE_RIGHTS_BY_VERSION: Final = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many kinds of access to files each version of Landlock knows: one bit a kind."""
_NET_VERSION: Final = 4
_SCOPE_VERSION: Final = 6


class ConfinementError(Exception):
    """Which wall cannot be put up here, and why."""


def die_with_parent(parent: int) -> None:
    _prctl(_SET_DEATH_SIGNAL, _KILL)
    if parent and os.getppid() != parent:
        raise ConfinementError("the process that started it is gone")


def drop_privileges(machine: str, *, to_be_nobody: bool = True) -> None:
    """No capability, now or by a program with more; and not to be root, where nothing of root's is needed any more."""
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _prctl(*_CLEAR_AMBIENT)
    for capability in range(_LAST_CAPABILITY + 1):
        with suppress(ConfinementError):  # neither is held, or the kernel knows no such capability
            _prctl(_DROP_BOUNDING_CAPABILITY, capability)
    if to_be_nobody and os.getuid() == 0:
        with suppress(OSError):  # a namespace of its own knows no other groups and no other people
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    head = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0))
    none = ctypes.create_string_buffer(struct.pack("=6I", 0, 0, 0, 0, 0, 0))
    if _LIBC.syscall(_CAPSET[machine], head, none):
        raise ConfinementError(f"capabilities cannot be given up: {_error()}")
    _prctl(_SET_DUMPABLE, 0)


def restrict_files(but_run: Sequence[str] = ()) -> None:
    """Landlock: no file, no folder, no port and nobody outside can be reached. What lies at or below `but_run` can be
    read and run all the same; nothing anywhere can be written."""
    version = _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        raise ConfinementError(f"the kernel has no Landlock here ({_error()}): it takes Linux 5.13 with that LSM")
    files = (1 << max(bits for since, bits in _FILE_RIGHTS_BY_VERSION.items() if since <= version)) - 1
    net = 0b11 if version >= _NET_VERSION else 0
    scoped = 0b11 if version >= _SCOPE_VERSION else 0
    size = 8 if version < _NET_VERSION else 16 if version < _SCOPE_VERSION else 24
    rules = ctypes.create_string_buffer(struct.pack("=QQQ", files, net, scoped))
    held = _LIBC.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(size), ctypes.c_uint(0))
    if held < 0:
        raise ConfinementError(f"Landlock gives no ruleset: {_error()}")
    try:
        for place in but_run:
            _allow_executing(held, place)
        if _LIBC.syscall(_RESTRICT_SELF, ctypes.c_int(held), ctypes.c_uint(0)):
            raise ConfinementError(f"Landlock does not restrict: {_error()}")
    finally:
        os.close(held)
    for place in ("/", "/proc/self/status", "/dev/null", "/etc/passwd"):
        try:
            os.close(os.open(place, os.O_RDONLY))
        except OSError:
            continue
        raise ConfinementError(f"Landlock is on, and {place} can still be opened")


def _allow_executing(ruleset: int, place: str) -> None:
    try:
        held = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", _EXECUTE_AND_READ, held))
        if _LIBC.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_RULE_PATH_BENEATH), rule, ctypes.c_uint(0)):
            raise ConfinementError(f"Landlock takes no rule for {place}: {_error()}")
    finally:
        os.close(held)


def lower_priority() -> None:
    """Whoever answers all others has the processor first, however many programs compute."""
    os.nice(_NICENESS)


def limit_resources(memory: int, descriptors: int) -> None:
    """`memory` in bytes of address space."""
    for which, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, descriptors),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 16),
    ):
        resource.setrlimit(which, (most, most))


def limit_processes_and_cpu(seconds: int) -> None:
    """No other process or thread, and so much processor time. The second after that cannot be survived."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def address_space_bytes() -> int:
    """Bytes of address space that are taken already. To be asked while there are files."""
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()


def filter_syscalls(machine: str, rules: SyscallRules) -> None:
    """The filter of system calls; what asks for another is answered with `PermissionError`."""
    program = bpf_program(SYSCALL_TABLES[machine], rules)
    held = ctypes.create_string_buffer(program, len(program))
    given = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(held)))
    _prctl(_SET_SECCOMP, _SECCOMP_FILTER, ctypes.addressof(given))


def close_other_descriptors() -> None:
    """Input, output and errors; every other descriptor is closed."""
    os.closerange(3, 1 << 30)


def _prctl(option: int, *arguments: int) -> None:
    rest = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if _LIBC.prctl(ctypes.c_int(option), *rest):
        raise ConfinementError(f"prctl({option}) is refused: {_error()}")


def _error() -> str:
    return os.strerror(ctypes.get_errno())
