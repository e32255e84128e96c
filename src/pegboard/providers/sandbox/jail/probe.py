"""A program that tries what no program may do, and says of each whether it came through.

It is run once by the sandbox itself, as any other program, before there is any other. Its text is all that is used of
this module there.
"""

import os
import platform
import re
from collections.abc import Iterator, Mapping
from typing import Final

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import (
    HostReply,
    Program,
    ProgramHost,
    RunResult,
    SandboxFunction,
    SandboxLimits,
    SandboxUnavailable,
)
from pegboard.processes.worker import WorkerProcess
from pegboard.providers.sandbox.jail.launch import JailLauncher, innermost_process
from pegboard.providers.sandbox.jail.run import JailedRun

TRIES: Final = '''
import asyncio, ctypes, mmap, os, resource, select, signal, socket, subprocess, threading

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def asked(number, *arguments):
    """A system call without Python in between."""
    if libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments)) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def forked():
    if os.fork() == 0:
        os._exit(0)


def threaded():
    threading.Thread(target=int).start()


def grown():
    kept = bytearray(MEMORY)
    raise SystemError(len(kept))


def seen():
    if os.environ:
        return
    raise PermissionError("no environment")


TRIES = {
    "open a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "open its own program": lambda: os.open("/proc/self/exe", os.O_RDONLY),
    "see whether a file exists": lambda: os.stat("/"),
    "list a folder": lambda: os.listdir("/"),
    "follow a link": lambda: os.readlink("/proc/self/cwd"),
    "make a file": lambda: os.open("/tmp/pegboard-escaped", os.O_CREAT | os.O_WRONLY),
    "remove a file": lambda: os.unlink("/tmp/pegboard-escaped"),
    "go to a folder": lambda: os.chdir("/"),
    "make a file in memory": lambda: os.memfd_create("escaped"),
    "copy a descriptor": lambda: os.dup(0),
    "make a pipe": os.pipe,
    "connect by network": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "connect by a local socket": lambda: socket.socket(socket.AF_UNIX),
    "make a pair of sockets": socket.socketpair,
    "talk to the kernel by netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "make another process": forked,
    "start a thread": threaded,
    "run a program": lambda: os.execv("/bin/true", ["true"]),
    "start a program": lambda: subprocess.run(["/bin/true"]),
    "send a signal": lambda: os.kill(os.getppid(), 0),
    "send a signal to everyone": lambda: os.kill(-1, 0),
    "take more than its limits": lambda: resource.setrlimit(resource.RLIMIT_CPU, (9_999, 9_999)),
    "make memory into code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
    "trace a process": lambda: asked(NUMBERS["ptrace"], 16, os.getppid(), 0, 0),
    "read another's memory": lambda: asked(NUMBERS["process_vm_readv"], os.getppid(), 0, 0, 0, 0, 0),
    "leave its namespaces": lambda: asked(NUMBERS["unshare"], 0x10000000),
    "queue work for the kernel": lambda: asked(NUMBERS["io_uring_setup"], 1, 0),
    "load a program into the kernel": lambda: asked(NUMBERS["bpf"], 0, 0, 0),
    "handle page faults": lambda: asked(NUMBERS["userfaultfd"], 1),
    "count events of others": lambda: asked(NUMBERS["perf_event_open"], 0, 0, -1, -1, 0),
    "keep keys in the kernel": lambda: asked(NUMBERS["keyctl"], 0, -3, 1),
    "share memory": lambda: asked(NUMBERS["shmget"], 0, 4096, 0o1600),
    "change its own walls": lambda: asked(NUMBERS["prctl"], 4, 1, 0, 0, 0),
    "learn about the machine": os.uname,
    "read the environment": seen,
    "use more memory than it may": grown,
}


def outcome(attempt):
    try:
        attempt()
    except (PermissionError, MemoryError, RuntimeError, ValueError):
        # A thread that cannot be started is a RuntimeError, a limit that cannot be raised a ValueError.
        return "held"
    except BaseException as error:
        return type(error).__name__ + ": " + str(error)
    return "came through"


outcomes = {name: outcome(attempt) for name, attempt in TRIES.items()}
await looked()
outcomes
'''

NUMBERS: Final = {
    "x86_64": {
        "ptrace": 101,
        "process_vm_readv": 310,
        "unshare": 272,
        "io_uring_setup": 425,
        "bpf": 321,
        "userfaultfd": 323,
        "perf_event_open": 298,
        "keyctl": 250,
        "shmget": 29,
        "prctl": 157,
    },
    "aarch64": {
        "ptrace": 117,
        "process_vm_readv": 270,
        "unshare": 97,
        "io_uring_setup": 425,
        "bpf": 280,
        "userfaultfd": 282,
        "perf_event_open": 241,
        "keyctl": 219,
        "shmget": 194,
        "prctl": 167,
    },
}


def probe_program(machine: str, memory: int) -> str:
    return f"MEMORY = {memory}\nNUMBERS = {NUMBERS[machine]!r}\n{TRIES}"


# Whether the walls hold on this machine: forbidden things are tried in a jailed process, and it is looked at from
# outside.

_LIMITS: Final = SandboxLimits(cpu=20, wall=60, memory=64 << 20, calls=1)
_EXPECTED_STATUS: Final = {
    "Seccomp": "2",
    "NoNewPrivs": "1",
    "CapInh": "0",
    "CapPrm": "0",
    "CapEff": "0",
    "CapBnd": "0",
    "CapAmb": "0",
}
"""What `/proc` says of a process that is walled in, without leading zeros."""
_LOOK_FUNCTION: Final = SandboxFunction("", "looked")


async def probe(launcher: JailLauncher) -> None:
    """Raises `SandboxUnavailable` with the reason when anything does not hold."""
    jailed = await launcher.start()
    try:
        seen = _OutsideObserver(jailed)
        text = probe_program(platform.machine(), _LIMITS.memory * 2)
        ran = await JailedRun(jailed, Program(text, (_LOOK_FUNCTION,)), seen, _LIMITS)()
    finally:
        await jailed.end()
    if reasons := [*_breaches(ran), *seen.reasons]:
        raise SandboxUnavailable("full: the walls do not hold on this machine: " + "; ".join(reasons))


def _breaches(ran: RunResult) -> Iterator[str]:
    if ran.error is not None or not isinstance(ran.result, Mapping) or not ran.result:
        yield f"the program that tries them did not end ({ran.error})"
        return
    for name, outcome in ran.result.items():
        if outcome != "held":
            yield f"a program can {name} ({outcome})"


class _OutsideObserver(ProgramHost):
    """Looks at the process while it waits."""

    def __init__(self, jailed: WorkerProcess) -> None:
        self._process = jailed
        self.reasons = ["the process was not seen from outside"]

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        process = innermost_process(self._process.child.pid)
        try:
            told = _process_status(process)
        except OSError as error:
            self.reasons = [f"the process cannot be seen from outside: {error}"]
            return None
        self.reasons = [
            f"{name} of the process is {told.get(name)}, and should be {value}"
            for name, value in _EXPECTED_STATUS.items()
            if (told.get(name, "none").lstrip("0") or "0") != value
        ]
        return None

    def on_output(self, text: str) -> None:
        pass


def _process_status(process: int) -> dict[str, str]:
    """Raises `OSError`."""
    with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as status:
        return dict(re.findall(r"^(\w+):\s*(\S+)", status.read(), re.MULTILINE))


def find_bubblewrap() -> str | None:
    """Where it is installed: in a folder that only the system's own people can change."""
    for folder in ("/usr/bin", "/usr/local/bin", "/bin"):
        if os.access(path := f"{folder}/bwrap", os.X_OK):
            return path
    return None
