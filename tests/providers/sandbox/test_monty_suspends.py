"""Runs that wait for a person: kept as bytes, gone on with in any process, refused when they are not what they were."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import msgspec
import pydantic_monty
import pytest
from anyio import to_thread

from pegboard.ports.sandbox import (
    CallFailure,
    InvalidRunStateError,
    PendingCall,
    ProgramFailure,
    RunResult,
    RunSuspension,
    SandboxLimits,
)
from pegboard.providers.sandbox.monty import worker as states

from .hosts import Answers, ended, opened, program, suspended

pytestmark = pytest.mark.anyio

CODE = """\
import asyncio
print('before')
kept = {'n': [1, 2]}
first = await asyncio.gather(srv.echo(x='a'), srv.ask(x='b'), srv.ask(x='c'))
print('after')
last = await srv.echo(x='d')
[kept, first, last]"""
DONE = RunResult([{"n": [1, 2]}, ["a", "B", "C"], "d"], "before\nafter\n")
ELSEWHERE = """\
import json, sys
import anyio
from pathlib import Path
from tests.providers.sandbox.hosts import Answers, opened

async def go_on():
    host = Answers()
    async with opened() as sandbox:
        ran = await sandbox.resume(Path(sys.argv[1]).read_bytes(), {2: 'B', 3: 'C'}, host)
    print(json.dumps([ran.result, ran.stdout, host.calls, host.said]))

anyio.run(go_on)
"""


@pytest.mark.behaviour("code.suspends")
async def test_a_run_waits_only_when_every_other_call_is_answered() -> None:
    host = Answers()
    async with opened() as sandbox:
        held = await suspended(sandbox, CODE, host)
    assert held.pending_calls == (PendingCall(2, "ticket 2"), PendingCall(3, "ticket 3"))
    assert sorted(host.calls) == [(1, "echo", {"x": "a"}), (2, "ask", {"x": "b"}), (3, "ask", {"x": "c"})]
    assert host.said == ["before\n"]


@pytest.mark.behaviour("code.suspends")
async def test_a_run_goes_on_with_answers_one_after_the_other() -> None:
    host = Answers()
    async with opened() as sandbox:
        held = await suspended(sandbox, CODE)
        again = await sandbox.resume(held.state, {2: "B"}, host)
        assert isinstance(again, RunSuspension)
        assert again.pending_calls == (PendingCall(3, "ticket 3"),)
        assert host.calls == []
        assert await sandbox.resume(again.state, {3: "C"}, host) == DONE
        # A state is a value, from which one can go on twice. Whoever keeps it sees to it that nobody does.
        denied = await sandbox.resume(again.state, {3: CallFailure("PermissionError", "a person said no")}, Answers())
    assert host.calls == [(4, "echo", {"x": "d"})]
    assert host.said == ["after\n"]
    assert denied == RunResult(None, "before\n", error=ProgramFailure("PermissionError", "a person said no", 4))


@pytest.mark.behaviour("code.suspends")
async def test_a_run_goes_on_in_another_process(tmp_path: Path) -> None:
    async with opened() as sandbox:
        held = await suspended(sandbox, CODE)
    kept = tmp_path / "state"
    kept.write_bytes(held.state)
    command = [sys.executable, "-c", ELSEWHERE, str(kept)]
    root = Path(__file__).parents[3]
    done = await to_thread.run_sync(
        lambda: subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    )
    assert done.returncode == 0, done.stderr
    result, stdout, calls, said = json.loads(done.stdout)
    assert RunResult(result, stdout) == DONE
    assert (calls, said) == ([[4, "echo", {"x": "d"}]], ["after\n"])


async def test_a_run_without_new_answers_stays_suspended() -> None:
    async with opened() as sandbox:
        held = await suspended(sandbox, CODE)
        again = await sandbox.resume(held.state, {}, Answers())
    assert isinstance(again, RunSuspension)
    assert again.pending_calls == held.pending_calls


@pytest.mark.behaviour("code.limits")
async def test_limits_go_on_where_they_stood() -> None:
    code = "for i in range(3):\n    await srv.ask(x=i)\nprint('x' * 20)\nawait srv.echo(x=1)\nawait srv.echo(x=2)"
    limits = SandboxLimits(calls=4, stdout=10)
    async with opened() as sandbox:
        step = await sandbox.run(program(code), Answers(), limits)
        for ordinal in (1, 2, 3):
            assert isinstance(step, RunSuspension)
            step = await sandbox.resume(step.state, {ordinal: None}, Answers(), limits)
    assert isinstance(step, RunResult)
    assert (step.stdout, step.truncated) == ("x" * 10, True)
    assert step.error is not None
    assert step.error.message.startswith("A program may make 4 calls")
    assert step.error.line == 5


async def test_time_that_was_used_before_a_person_was_asked_counts() -> None:
    code = "import time\ntime.sleep(0.2)\nawait srv.ask(x=1)\ntime.sleep(0.2)\nawait srv.hang()"
    async with opened() as sandbox:
        held = await suspended(sandbox, code)
        napping = await sandbox.resume(held.state, {1: None}, Answers(), SandboxLimits(sleep=0.3))
        waiting = await sandbox.resume(held.state, {1: None}, Answers(), SandboxLimits(wall=0.1))
    assert isinstance(napping, RunResult)
    assert napping.error is not None
    assert (napping.error.type, napping.error.line) == ("TimeoutError", 4)
    assert "sleep 0.3 seconds" in napping.error.message
    assert isinstance(waiting, RunResult)
    assert waiting.error is not None
    assert waiting.error.type == "TimeoutError"


@pytest.mark.behaviour("code.state_refused")
async def test_a_state_that_was_touched_is_refused() -> None:
    async with opened() as sandbox:
        state = (await suspended(sandbox, CODE)).state
        places = [0, 5, len(b"pegboard run 1\n") + 3, 60, len(state) // 2, len(state) - 1]
        touched = [state[:at] + bytes([state[at] ^ 1]) + state[at + 1 :] for at in places]
        for wrong in [b"", b"\x00" * 100, state[:-1], state + b"x", *touched]:
            with pytest.raises(InvalidRunStateError, match="Run the program again"):
                await sandbox.resume(wrong, {2: 1}, Answers())
        assert await ended(sandbox, "1") == RunResult(1)


@pytest.mark.behaviour("code.state_refused")
async def test_a_state_of_another_version_or_with_a_forged_dump_is_refused() -> None:
    async with opened() as sandbox:
        state = (await suspended(sandbox, CODE)).state
        known = states.unpack_state(state, f"monty {pydantic_monty.__version__}")
        for wrong in (
            msgspec.structs.replace(known, sandbox="monty 0.0.1"),
            msgspec.structs.replace(known, dump=b"nothing of ours"),
            msgspec.structs.replace(known, dump=known.dump[:-20]),
            msgspec.structs.replace(known, dump=known.dump[:200] + b"\xff" * 50 + known.dump[250:]),
        ):
            with pytest.raises(InvalidRunStateError, match="Run the program again"):
                await sandbox.resume(states.pack_state(wrong), {2: 1, 3: 1}, Answers())
        assert await ended(sandbox, "1") == RunResult(1)


async def test_a_suspended_run_leaves_no_worker_behind_and_can_be_gone_on_with_at_the_same_time() -> None:
    ran: list[RunResult | RunSuspension] = []
    async with opened(workers=2) as sandbox:
        held = [(await suspended(sandbox, CODE)).state for _ in range(5)]

        async def go_on(state: bytes) -> None:
            ran.append(await sandbox.resume(state, {2: "B", 3: "C"}, Answers()))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for state in held:
                    tasks.start_soon(go_on, state)
    assert ran == [DONE] * 5
