"""The walls themselves: what the filter lets through, that a missing one is noticed, and how others see them."""

import logging
import os
import platform
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path

import anyio
import psutil
import pytest
from tests.providers.sandbox.answering import ECHO, Answering
from tests.servers import bubblewrap

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
from pegboard.providers.sandbox.jail import probe as trying
from pegboard.providers.sandbox.jail.inside import seccomp as calls
from pegboard.providers.sandbox.jail.launch import SOURCE, JailLauncher, build_library_image
from pegboard.providers.sandbox.jail.probe import probe
from pegboard.providers.sandbox.jail.sandbox import FullSandbox
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

PASS, REFUSE, UNKNOWN, KILL = 0x7FFF_0000, 0x0005_0001, 0x0005_0026, 0x8000_0000
HOLES = {"socket": {"x86_64": 41, "aarch64": 198}, "kill": {"x86_64": 62, "aarch64": 129}}


def decided(filter: bytes, audit: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """What the kernel would answer: the few instructions that the filter is made of, done here."""
    shown = struct.pack("=iIQ6Q", number, audit, 0, *(*arguments, *[0] * 6)[:6])
    at, held = 0, 0
    while True:
        code, on_true, on_false, value = struct.unpack_from("=HBBI", filter, at * 8)
        at += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("=I", shown, value)
            case 0x54:
                held &= value
            case 0x15:
                at += on_true if held == value else on_false
            case 0x35:
                at += on_true if held >= value else on_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"an instruction that is not simulated: {code:#x}")


@pytest.mark.behaviour("code.walls")
@pytest.mark.parametrize("name", sorted(calls.SYSCALL_TABLES))
def test_the_filter_of_programs_lets_nothing_through_that_takes_a_path_or_makes_a_descriptor(name: str) -> None:
    machine = calls.SYSCALL_TABLES[name]
    filter = calls.bpf_program(machine, calls.PYTHON_RULES)
    numbers = {number: call for call, number in machine.numbers.items()}
    let_through = {
        numbers.get(number, str(number)) for number in range(600) if decided(filter, machine.audit_arch, number) == PASS
    }
    # With arguments that are all zero, those which are looked at pass too: no code, and a lock that waits.
    assert (
        let_through
        == (calls.PYTHON_RULES.unconditional & machine.numbers.keys()) | calls.PYTHON_RULES.conditional.keys()
    )
    assert not let_through & {"openat", "execve", "clone", "statx", "newfstatat", "access", "prctl", "prlimit64"}


@pytest.mark.behaviour("code.walls")
@pytest.mark.parametrize("name", sorted(calls.SYSCALL_TABLES))
def test_the_filter_looks_at_arguments_and_at_the_processor(name: str) -> None:
    machine = calls.SYSCALL_TABLES[name]
    filter, worker = (calls.bpf_program(machine, rules) for rules in (calls.PYTHON_RULES, calls.MONTY_RULES))

    def answers(filter: bytes, call: str, *arguments: int) -> int:
        return decided(filter, machine.audit_arch, machine.numbers[call], arguments)

    assert [answers(filter, "mmap", 0, 4096, prot) for prot in (3, 4, 7)] == [PASS, REFUSE, REFUSE]
    assert [answers(filter, "mprotect", 0, 4096, prot) for prot in (1, 5)] == [PASS, REFUSE]
    assert [answers(filter, "futex", 0, lock) for lock in (128, 0x189, 6, 11)] == [PASS, PASS, REFUSE, REFUSE]
    assert answers(filter, "clone3") == answers(worker, "clone3") == UNKNOWN
    assert [answers(worker, "clone", flags) for flags in (0x3D0F00, 17)] == [PASS, REFUSE]
    assert [answers(worker, "prlimit64", process) for process in (0, 1)] == [PASS, REFUSE]
    assert [answers(worker, "prctl", option) for option in (15, 22)] == [PASS, REFUSE]
    assert decided(filter, 0x4000_0003, machine.numbers["read"]) == KILL
    if machine.foreign_abi_start is not None:
        assert decided(filter, machine.audit_arch, machine.foreign_abi_start | machine.numbers["read"]) == KILL


@pytest.mark.anyio
@pytest.mark.behaviour("code.walls_tried")
@pytest.mark.parametrize(
    ("file", "there", "instead", "reason"),
    [
        ("seccomp.py", '"times": {times}', '"times": {socket}', "a program can connect by network"),
        ("seccomp.py", '"times": {times}', '"times": {kill}', "a program can send a signal"),
        (
            "main.py",
            "walls.limit_resources(taken",
            "(lambda *_: None)(taken",
            "a program can use more memory than it may",
        ),
        ("main.py", "walls.drop_privileges(machine)", "pass", "NoNewPrivs of the process is 0, and should be 1"),
        ("main.py", "os.environ.clear()", "os.environ['A'] = 'b'", "a program can read the environment"),
        (
            "confinement.py",
            "if _LIBC.syscall(_RESTRICT_SELF, ",
            "if (lambda *_: 0)(",
            "Landlock is on, and / can still be opened",
        ),
        (
            "confinement.py",
            "_CREATE_RULESET: Final = 444",
            "_CREATE_RULESET: Final = 9_999",
            "the kernel has no Landlock here",
        ),
        (
            "confinement.py",
            "_SET_SECCOMP: Final = 22",
            "_SET_SECCOMP: Final = 9_999",
            "the program that tries them did not end",
        ),
    ],
)
async def test_a_wall_that_is_missing_is_noticed_and_told(
    tmp_path: Path, library: int, file: str, there: str, instead: str, reason: str
) -> None:
    machine = platform.machine()
    numbers = {name: of[machine] for name, of in HOLES.items()} | {
        "times": calls.SYSCALL_TABLES[machine].numbers["times"]
    }
    source = tmp_path / "sandbox"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    spoilt = source / "jail" / "inside" / file
    text = spoilt.read_text()
    there, instead = (words.format(**numbers) if "{" in words else words for words in (there, instead))
    assert text.count(there) >= 1
    spoilt.write_text(text.replace(there, instead))
    with anyio.fail_after(60), pytest.raises(SandboxUnavailable) as refused:
        await probe(JailLauncher(library, source=source))
    assert reason in str(refused.value)


@pytest.mark.anyio
@pytest.mark.behaviour("code.walls_tried")
async def test_the_walls_of_this_machine_hold(library: int) -> None:
    with anyio.fail_after(60):
        await probe(JailLauncher(library))
    assert set(trying.NUMBERS) == set(calls.SYSCALL_TABLES)


@pytest.mark.anyio
@pytest.mark.behaviour("code.walls_tried")
async def test_a_machine_without_a_filter_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    sandbox = FullSandbox()
    with pytest.raises(
        SandboxUnavailable, match="there is no filter of system calls for riscv64; only for x86_64, aarch64"
    ):
        await sandbox.run(Program("1"), Answering())
    await sandbox.aclose()


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.behaviour("code.bubblewrap")
async def test_programs_run_behind_bubblewrap_where_it_works() -> None:
    try:
        program = bubblewrap.unpack()
    except bubblewrap.NoBubblewrap as why:
        pytest.skip(str(why))
    sandbox = FullSandbox(str(program))
    code = "import os\n[os.getpid() < 10, await echo(1)]"
    with anyio.fail_after(90):
        assert await sandbox.run(Program(code, (ECHO,)), Answering()) == RunResult([True, 1])
        assert sandbox.protections == ("landlock", "seccomp", "rlimits", "bubblewrap")
        await sandbox.aclose()


@pytest.mark.anyio
@pytest.mark.behaviour("code.bubblewrap")
async def test_a_bubblewrap_that_does_not_work_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    sandbox = FullSandbox("/bin/false")
    with caplog.at_level(logging.INFO), anyio.fail_after(60):
        assert await sandbox.run(Program("1"), Answering()) == RunResult(1)
    assert sandbox.protections == ("landlock", "seccomp", "rlimits")
    assert "bubblewrap is not used: full: the jailed process ended before it was ready" in caplog.text
    await sandbox.aclose()


class Looking(ProgramHost):
    """Looks at the workers while the program waits."""

    def __init__(self) -> None:
        self.seen: list[dict[str, object]] = []

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        workers = [child for child in psutil.Process().children(recursive=True) if child.name() == "monty"]
        self.seen = [_looked(worker) for worker in workers]
        return None

    def on_output(self, text: str) -> None:
        pass


@pytest.mark.anyio
@pytest.mark.behaviour("code.worker_walls")
async def test_workers_of_monty_stand_behind_walls_of_their_own() -> None:
    sandbox, host = MontySandbox(workers=1), Looking()
    with anyio.fail_after(60):
        assert await sandbox.run(Program("await echo(1)\n2", (ECHO,)), host) == RunResult(2)
        assert sandbox.is_confined
        await sandbox.aclose()
    assert host.seen == [
        {
            "Seccomp": "2",
            "NoNewPrivs": "1",
            "CapEff": "0000000000000000",
            "CapBnd": "0000000000000000",
            "environment": b"",
            "descriptors": ["0", "1", "2"],
            "memory": (2 << 30, 2 << 30),
            "files": (0, 0),
        }
    ]


@pytest.mark.anyio
@pytest.mark.behaviour("code.worker_walls")
async def test_where_there_are_no_walls_monty_runs_without_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    sandbox = MontySandbox(workers=1)
    with caplog.at_level(logging.INFO), anyio.fail_after(60):
        assert await sandbox.run(Program("1"), Answering(), SandboxLimits()) == RunResult(1)
        assert not sandbox.is_confined
        await sandbox.aclose()
    assert "have no walls but their own here" in caplog.text


def _looked(worker: psutil.Process) -> dict[str, object]:
    place = Path("/proc", str(worker.pid))
    lines = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines() if ":\t" in line)
    return {
        **{name: lines[name] for name in ("Seccomp", "NoNewPrivs", "CapEff", "CapBnd")},
        "environment": (place / "environ").read_bytes(),
        "descriptors": sorted(os.listdir(place / "fd")),
        "memory": worker.rlimit(psutil.RLIMIT_AS),
        "files": worker.rlimit(psutil.RLIMIT_FSIZE),
    }


@pytest.fixture(scope="module")
def library() -> int:
    return build_library_image()
