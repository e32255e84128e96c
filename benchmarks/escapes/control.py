"""An attack without any sandbox, in a process that may be lost: whether it does what it is meant to do.

`python -m benchmarks.escapes.control DESCRIPTOR`; one JSON line in, what the attack prints out, and how it ended to the
descriptor. The attack runs in a child of this process, with few rights and few processes, so that this machine survives
it, and without that descriptor: whatever it prints is its own, and its end is not. This process adopts what the attack
leaves behind and counts it.
"""

import ast
import asyncio
import ctypes
import inspect
import json
import os
import resource
import struct
import sys
from contextlib import suppress

HOST_SECRET = ""
COUNT = "\0calls "
NOBODY = 64_999
MOST_PROCESSES = 400
MOST_MEMORY = 4 << 30
_DUMPS, _LEN = json.dumps, len
_KEEP_CAPABILITIES, _CAPSET, _VERSION = 8, {"x86_64": 126, "aarch64": 91}, 0x2008_0522
_READ_ANYTHING = 0b110
_PASS_ON = (47, 2)
_ADOPT_ORPHANS = 36
calls = 0


async def echo(x: object) -> object:
    global calls
    calls += 1
    if calls % 1_000 == 0:
        # Whoever calls without end is killed, and cannot tell it at its own.
        os.write(1, f"\n{COUNT}{calls}\n".encode())
    return x


def few_rights() -> None:
    """A fork bomb may do what it likes with its own few processes. Root knows no such limit, so it is given up."""
    if os.getuid() == 0 and (number := _CAPSET.get(os.uname().machine)) is not None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # What lies where only root may look can still be read and written: this very Python may.
        head = ctypes.create_string_buffer(struct.pack("=Ii", _VERSION, 0))
        sets = ctypes.create_string_buffer(struct.pack("=6I", *[_READ_ANYTHING] * 3, 0, 0, 0))
        libc.syscall(number, head, sets)
        for capability in (1, 2):
            libc.prctl(*_PASS_ON, capability, 0, 0)
    resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Readable for its children, as any process is that gave up nothing.
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


def count_orphans() -> int:
    """Processes that the attack started and did not wait for, whether they still run or not.

    They are children of this process since the attack's end, and stay until this process waits for them. So nothing
    is missed however late this process looks.
    """
    own = os.getpid()
    return sum(_parent_of(int(name)) == own for name in os.listdir("/proc") if name.isdigit())


def _parent_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def attack(code: str) -> None:
    names = {"__name__": "__main__", "echo": echo}
    compiled = compile(code, "<attack>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if compiled.co_flags & inspect.CO_COROUTINE:

        async def run() -> None:
            await eval(compiled, names)

        asyncio.run(run())
    else:
        exec(compiled, names)


def _end_of(told: bytes) -> dict[str, object]:
    """What the child says of its attack, which may have written there too."""
    end: dict[str, object] = {"calls": 0, "is_changed": False, "error": None, "threads": 0}
    with suppress(ValueError, RecursionError):
        said = json.loads(told)
        kinds = {"calls": int, "is_changed": bool, "threads": int}
        if isinstance(said, dict) and all(isinstance(said.get(name), kind) for name, kind in kinds.items()):
            error = said.get("error")
            end |= {name: said[name] for name in kinds} | {"error": error if error is None else str(error)}
    return end


def main(tells: int) -> None:
    global HOST_SECRET
    first = json.loads(sys.stdin.readline())
    HOST_SECRET = first["value"]
    sys.stdout.flush()
    few_rights()
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    reads, writes = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reads)
        os.close(tells)
        error = None
        try:
            attack(first["code"])
        except BaseException as raised:  # noqa: BLE001 - an attack may raise anything
            error = f"{type(raised).__name__}: {raised}"[:500]
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        is_changed = json.dumps is not _DUMPS or len is not _LEN
        threads = len(os.listdir("/proc/self/task"))
        found = {"calls": calls, "is_changed": is_changed, "error": error, "threads": threads}
        os.write(writes, _DUMPS(found).encode())
        os._exit(0)
    os.close(writes)
    with suppress(InterruptedError):
        told = os.read(reads, 65_536)
    _, status = os.waitpid(child, 0)
    end = _end_of(told)
    end["processes"] = count_orphans()
    end["memory"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    end["signal"] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    os.write(tells, _DUMPS(end).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]))
