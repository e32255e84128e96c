"""A program that tries what no program may do, and says of each whether it came through.

It is run once by the sandbox itself, as any other program, before there is any other. Its text is all that is used of
this module there.
"""

from typing import Final

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
