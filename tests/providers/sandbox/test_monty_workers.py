"""The worker processes: started by the first run, ended with their program, replaced, and none left behind."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import psutil
import pytest

from pegboard.ports.sandbox import Program, ProgramFailure, RunResult, SandboxLimits, SandboxUnavailable
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

from .hosts import FUNCTIONS, Answers, ended, opened, program

pytestmark = pytest.mark.anyio

GONE = "The worker that ran the program is gone: ended from outside, or broken. Run it again."


def workers() -> list[psutil.Process]:
    """Those of this process that live."""
    return [each for each in psutil.Process().children() if "monty" in _name(each)]


def _name(process: psutil.Process) -> str:
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else process.name()
    except psutil.NoSuchProcess:
        return ""


def is_stopped(process: psutil.Process) -> bool:
    """Every thread of it: after SIGSTOP they go on until each of them is scheduled."""
    states = [Path(f"/proc/{process.pid}/task/{thread.id}/stat").read_text() for thread in process.threads()]
    return all(text.rpartition(")")[2].split()[0] == "T" for text in states)


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not is_so():  # noqa: ASYNC110 - no event tells that a process has ended
            await anyio.sleep(0.01)


@pytest.mark.behaviour("code.started_by_the_first_run")
async def test_nothing_starts_before_the_first_run_and_nothing_is_left_after_the_last() -> None:
    before = len(workers())
    async with opened() as sandbox:
        assert "asyncio" in sandbox.dialect
        assert len(workers()) == before
        assert await ended(sandbox, "1") == RunResult(1)
        assert len(workers()) == before + 1
    await until(lambda: len(workers()) == before)


@pytest.mark.behaviour("code.started_by_the_first_run")
def test_monty_is_not_loaded_before_it_is_used() -> None:
    code = (
        "import sys, pegboard.providers.sandbox.monty.sandbox as s; s.MontySandbox(); "
        "print('pydantic_monty' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"


@pytest.mark.behaviour("code.missing_told")
async def test_what_is_not_installed_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    with pytest.raises(SandboxUnavailable, match=r"Install what they need: pip install 'pegboard\[code\]'"):
        await MontySandbox().run(Program("1"), Answers())


@pytest.mark.behaviour("code.missing_told")
async def test_a_worker_that_does_not_start_is_told(tmp_path: Path) -> None:
    for binary in (tmp_path / "nothing", Path("/bin/false")):
        sandbox = MontySandbox(binary=binary)
        with (
            anyio.fail_after(30),
            pytest.raises(SandboxUnavailable, match="The workers that run programs do not start"),
        ):
            await sandbox.run(Program("1"), Answers())
        await sandbox.aclose()


@pytest.mark.behaviour("code.cancelled")
@pytest.mark.parametrize(
    "code", ["print('go')\nwhile True:\n    pass", "await srv.hang()", "import time\ntime.sleep(9)"]
)
async def test_a_cancelled_run_ends_its_worker_and_its_calls(code: str) -> None:
    host = Answers()
    async with opened() as sandbox:
        assert await ended(sandbox, "1") == RunResult(1)
        [first] = workers()
        with anyio.move_on_after(0.5) as scope:
            await sandbox.run(program(code), host)
        assert scope.cancelled_caught
        await until(lambda: first.pid not in [each.pid for each in workers()])
        assert await ended(sandbox, "2") == RunResult(2)
    assert host.cancelled == sum("hang" in code for _ in host.calls)


@pytest.mark.behaviour("code.cancelled")
async def test_calls_that_nobody_waits_for_any_more_are_cancelled() -> None:
    host = Answers()
    code = "import asyncio\nawait asyncio.gather(srv.hang(), srv.fail(message='at once'))"
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host)
    assert ran.error == ProgramFailure("ValueError", "at once", 2)
    assert host.cancelled == 1


@pytest.mark.behaviour("code.worker_lost")
async def test_a_worker_that_is_killed_while_it_computes_is_told_and_replaced() -> None:
    ran: list[RunResult] = []
    async with opened() as sandbox:
        assert await ended(sandbox, "1") == RunResult(1)
        [worker] = workers()

        async def compute() -> None:
            ran.append(await ended(sandbox, "print('begun')\nawait srv.echo(x=1)\nwhile True:\n    pass", host))

        host = Answers()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compute)
            await until(lambda: len(host.calls) == 1)
            os.kill(worker.pid, signal.SIGKILL)
        assert ran == [RunResult(None, "begun\n", error=ProgramFailure("RuntimeError", GONE))]
        assert await ended(sandbox, "2") == RunResult(2)


@pytest.mark.behaviour("code.worker_lost")
async def test_a_worker_that_is_killed_while_it_waits_or_rests_is_replaced() -> None:
    ran: list[RunResult] = []
    async with opened() as sandbox:
        host = Answers()

        async def wait() -> None:
            ran.append(await ended(sandbox, "await srv.meet(of=2)", host))

        async def go_on() -> None:
            ran.append(await ended(sandbox, "2"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await until(lambda: len(host.calls) == 1)
            [worker] = workers()
            os.kill(worker.pid, signal.SIGKILL)
            await host.call(0, FUNCTIONS[4], {"of": 2})
        assert ran == [RunResult(None, "", error=ProgramFailure("RuntimeError", GONE))]
        assert await ended(sandbox, "1") == RunResult(1)
        [resting] = workers()
        # It is taken for alive, and ends while it is asked whether it is ready.
        os.kill(resting.pid, signal.SIGSTOP)
        await until(lambda: is_stopped(resting))
        earlier = {*threading.enumerate()}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go_on)
            await until(lambda: any(each.name == "sandbox" for each in {*threading.enumerate()} - earlier))
            os.kill(resting.pid, signal.SIGKILL)
        assert ran[1:] == [RunResult(2)]


async def test_a_worker_is_replaced_after_fifty_sessions() -> None:
    async with opened() as sandbox:
        assert await ended(sandbox, "1") == RunResult(1)
        [first] = workers()
        for _ in range(50):
            assert await ended(sandbox, "1") == RunResult(1)
        assert first.pid not in [each.pid for each in workers()]


async def test_more_runs_than_workers_wait_for_their_turn() -> None:
    hosts = [Answers() for _ in range(5)]
    async with opened(workers=2) as sandbox:
        async with anyio.create_task_group() as tasks:
            for host in hosts:
                tasks.start_soon(ended, sandbox, "await srv.echo(x=1)", host)
        assert len(workers()) <= 2
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(2):
                    tasks.start_soon(sandbox.run, program("await srv.hang()"), hosts[0])
                await hosts[0].hanging.wait()
                held_up = await sandbox.run(Program("1"), Answers(), SandboxLimits(wall=0.5))
                tasks.cancel_scope.cancel()
    assert isinstance(held_up, RunResult)
    assert all(len(host.calls) >= 1 for host in hosts)


@pytest.mark.slow
@pytest.mark.behaviour("code.no_growth")
async def test_a_thousand_sessions_leave_nothing_behind() -> None:
    def descriptors() -> int:
        return psutil.Process().num_fds()

    async def many(count: int) -> None:
        for number in range(count):
            code = ("await srv.echo(x='y' * 10_000)", "1 / 0", "srv.echo(x=1)", "print('x' * 5_000)")[number % 4]
            await ended(sandbox, code)

    async with opened() as sandbox:
        await many(200)
        before, open_before = psutil.Process().memory_info().rss, descriptors()
        await many(1_000)
        grown = psutil.Process().memory_info().rss - before
        assert grown < 8 << 20
        assert descriptors() <= open_before + 4
        assert len(workers()) <= 1
        assert sum(each.memory_info().rss for each in workers()) < 80 << 20


@pytest.mark.slow
@pytest.mark.behaviour("code.cancelled")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import anyio, os, sys\n"
        "from tests.providers.sandbox.hosts import Answers, opened, program\n"
        "async def main():\n"
        "    async with opened() as sandbox:\n"
        "        await sandbox.run(program('print(1)\\nawait srv.hang()'), Told())\n"
        "class Told(Answers):\n"
        "    def on_output(self, text):\n"
        "        print('running', flush=True)\n"
        "anyio.run(main)\n"
    )
    root = Path(__file__).parents[3]
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline() == "running\n"
        children = psutil.Process(parent.pid).children()
    finally:
        parent.kill()
        parent.communicate()
    assert children
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
