"""Filters of system calls: what a program needs that reaches nothing outside itself, and a refusal for all else."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

EPERM: Final = 1
ENOSYS: Final = 38

_LOAD: Final = 0x20
_AND: Final = 0x54
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06
_KILL: Final = 0x8000_0000
_ERRNO: Final = 0x0005_0000
_PASS: Final = 0x7FFF_0000

_NUMBER: Final = 0
_MACHINE: Final = 4
_ARGUMENTS: Final = 16
"""Offsets in what the kernel shows a filter; each argument has eight bytes, the low half first."""


@dataclass(frozen=True)
class SyscallTable:
    """The numbers that one processor architecture has for system calls."""

    audit_arch: int
    numbers: Mapping[str, int]
    foreign_abi_start: int | None = None
    """From this number on, calls are those of another ABI on the same processor."""


@dataclass(frozen=True)
class ArgumentRule:
    """A system call is let through when these bits of one argument have one of these values."""

    argument: int
    bits: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class SyscallRules:
    unconditional: frozenset[str]
    """Let through whatever their arguments are."""
    conditional: Mapping[str, ArgumentRule]


_NOT_EXECUTABLE: Final = ArgumentRule(2, 4, (0,))
"""Memory that can be run is not asked for."""
_BASIC_FUTEX_OPERATIONS: Final = ArgumentRule(1, 0xFFFF_FE7F, (0, 1, 9, 10))
"""Wait and wake, by set of bits or not, private or by the real clock. Python uses nothing else that there is."""
_THREADS_ONLY: Final = ArgumentRule(0, 0x0001_0000, (0x0001_0000,))
_OWN_PROCESS: Final = ArgumentRule(0, 0xFFFF_FFFF, (0,))
_SET_NAME_ONLY: Final = ArgumentRule(0, 0xFFFF_FFFF, (15,))

_COMMON_CALLS: Final = frozenset(
    {
        *("read", "write", "close", "poll", "ppoll", "munmap", "brk", "mremap", "madvise", "rt_sigaction"),
        *("rt_sigprocmask", "rt_sigreturn", "sigaltstack", "sched_yield", "nanosleep", "clock_nanosleep"),
        *("clock_gettime", "clock_getres", "gettimeofday", "time", "times", "getrusage", "getpid", "getppid"),
        *("gettid", "getrandom", "restart_syscall", "exit", "exit_group"),
    }
)

PYTHON_RULES: Final = SyscallRules(
    _COMMON_CALLS,
    {"mmap": _NOT_EXECUTABLE, "mprotect": _NOT_EXECUTABLE, "futex": _BASIC_FUTEX_OPERATIONS},
)
"""For a program in a Python that has loaded all it will ever load. Nothing that takes a path is among them."""

MONTY_RULES: Final = SyscallRules(
    _COMMON_CALLS
    | {
        *("mmap", "mprotect", "futex", "execve", "openat", "newfstatat", "fstat", "statx", "access", "faccessat"),
        *("pread64", "lseek", "set_robust_list", "rseq", "set_tid_address", "arch_prctl", "sched_getaffinity"),
    },
    {"clone": _THREADS_ONLY, "prlimit64": _OWN_PROCESS, "prctl": _SET_NAME_ONLY},
)
"""For a worker of Monty, which is started after the filter stands: it loads its libraries and starts one thread. What
it can open and run is Landlock's to say."""

_X86_64: Final = SyscallTable(
    audit_arch=0xC000_003E,
    numbers={
        "read": 0,
        "write": 1,
        "close": 3,
        "fstat": 5,
        "poll": 7,
        "lseek": 8,
        "mmap": 9,
        "mprotect": 10,
        "munmap": 11,
        "brk": 12,
        "rt_sigaction": 13,
        "rt_sigprocmask": 14,
        "rt_sigreturn": 15,
        "pread64": 17,
        "access": 21,
        "sched_yield": 24,
        "mremap": 25,
        "madvise": 28,
        "nanosleep": 35,
        "getpid": 39,
        "clone": 56,
        "execve": 59,
        "exit": 60,
        "gettimeofday": 96,
        "getrusage": 98,
        "times": 100,
        "getppid": 110,
        "sigaltstack": 131,
        "prctl": 157,
        "arch_prctl": 158,
        "gettid": 186,
        "time": 201,
        "futex": 202,
        "sched_getaffinity": 204,
        "set_tid_address": 218,
        "restart_syscall": 219,
        "clock_gettime": 228,
        "clock_getres": 229,
        "clock_nanosleep": 230,
        "exit_group": 231,
        "openat": 257,
        "newfstatat": 262,
        "faccessat": 269,
        "ppoll": 271,
        "set_robust_list": 273,
        "prlimit64": 302,
        "getrandom": 318,
        "statx": 332,
        "rseq": 334,
        "clone3": 435,
    },
    foreign_abi_start=0x4000_0000,
)

_AARCH64: Final = SyscallTable(
    audit_arch=0xC000_00B7,
    numbers={
        "faccessat": 48,
        "openat": 56,
        "close": 57,
        "lseek": 62,
        "read": 63,
        "write": 64,
        "pread64": 67,
        "ppoll": 73,
        "newfstatat": 79,
        "fstat": 80,
        "exit": 93,
        "exit_group": 94,
        "set_tid_address": 96,
        "futex": 98,
        "set_robust_list": 99,
        "nanosleep": 101,
        "clock_gettime": 113,
        "clock_getres": 114,
        "clock_nanosleep": 115,
        "sched_getaffinity": 123,
        "sched_yield": 124,
        "restart_syscall": 128,
        "sigaltstack": 132,
        "rt_sigaction": 134,
        "rt_sigprocmask": 135,
        "rt_sigreturn": 139,
        "times": 153,
        "getrusage": 165,
        "prctl": 167,
        "gettimeofday": 169,
        "getpid": 172,
        "getppid": 173,
        "gettid": 178,
        "brk": 214,
        "munmap": 215,
        "mremap": 216,
        "clone": 220,
        "execve": 221,
        "mmap": 222,
        "mprotect": 226,
        "madvise": 233,
        "prlimit64": 261,
        "getrandom": 278,
        "statx": 291,
        "rseq": 293,
        "clone3": 435,
    },
)

SYSCALL_TABLES: Final[Mapping[str, SyscallTable]] = {"x86_64": _X86_64, "aarch64": _AARCH64}


def bpf_program(machine: SyscallTable, rules: SyscallRules) -> bytes:
    """The filter in the kernel's own language, eight bytes an instruction."""
    program: list[bytes] = []

    def add(code: int, value: int, on_true: int = 0, on_false: int = 0) -> None:
        program.append(struct.pack("=HBBI", code, on_true, on_false, value))

    add(_LOAD, _MACHINE)
    add(_EQUAL, machine.audit_arch, on_true=1)
    add(_RETURN, _KILL)
    add(_LOAD, _NUMBER)
    if machine.foreign_abi_start is not None:
        add(_AT_LEAST, machine.foreign_abi_start, on_false=1)
        add(_RETURN, _KILL)
    # As if the kernel did not know it: its flags lie where a filter cannot look, and libraries go on in the older way.
    add(_EQUAL, machine.numbers["clone3"], on_false=1)
    add(_RETURN, _ERRNO | ENOSYS)
    # What an architecture does not have, nobody asks it for.
    for name in sorted(rules.unconditional & machine.numbers.keys()):
        add(_EQUAL, machine.numbers[name], on_false=1)
        add(_RETURN, _PASS)
    for name, only in sorted(rules.conditional.items()):
        add(_EQUAL, machine.numbers[name], on_false=3 + 2 * len(only.values))
        add(_LOAD, _ARGUMENTS + 8 * only.argument)
        add(_AND, only.bits)
        for value in only.values:
            add(_EQUAL, value, on_false=1)
            add(_RETURN, _PASS)
        add(_RETURN, _ERRNO | EPERM)
    add(_RETURN, _ERRNO | EPERM)
    return b"".join(program)
