"""What goes wrong in a Python tool costs the call that did it, and leaves nothing that runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest
from tests.providers.python.toolsets import described, entries, failed, structured, text_of, workers, working, written

from pegboard.core.calls.call import Outcome, ProviderFailure
from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.tool import ToolsetLimits

pytestmark = pytest.mark.anyio

ACCIDENTS = {
    "accidents.py": """
    import asyncio, ctypes, os, subprocess, sys, time
    from pegboard.tools import ToolContext

    def leave(code: int) -> None:
        os._exit(code)

    def sys_exit() -> None:
        sys.exit("enough")

    def segfault() -> None:
        ctypes.string_at(0)

    def hoard(megabytes: int) -> int:
        return len(bytearray(megabytes * 1024 * 1024))

    def long(letters: int) -> str:
        return "x" * letters

    def abort() -> None:
        os.abort()

    def hoard_slowly() -> int:
        kept = []
        while True:
            kept.append(["x"] * 100_000)

    def spin(context: ToolContext) -> None:
        context.progress(0)
        while True:
            pass

    def has_child(context: ToolContext) -> None:
        child = subprocess.Popen(["sleep", "1000"])
        context.progress(child.pid)
        time.sleep(1000)

    async def rest(context: ToolContext) -> None:
        context.progress(0)
        await asyncio.sleep(1000)

    async def block(context: ToolContext) -> None:
        context.progress(0)
        time.sleep(1000)

    async def aleave() -> None:
        os._exit(7)

    def fine() -> str:
        return "fine"

    def deep() -> None:
        deep()
    """
}
NAMES = "leave sys_exit segfault hoard long abort hoard_slowly spin has_child rest block aleave fine deep"
ALL = tuple(f"accidents:{name}" for name in NAMES.split())


@pytest.fixture
def accidents(tmp_path: Path) -> Path:
    return written(tmp_path / "accidents", ACCIDENTS)


@pytest.mark.behaviour("providers.python_crash_costs_one_call")
async def test_a_crash_costs_only_the_call_that_did_it(accidents: Path) -> None:
    async with working(accidents, *ALL, bounds=ToolsetLimits(processes=2)) as watched:
        assert await watched.call("leave", code=3) == ProviderFailure("dev exited with code 3 before it answered", True)
        assert await watched.call("segfault") == ProviderFailure(
            "dev was ended by signal 11 (SIGSEGV) before it answered", True
        )
        assert failed(await watched.call("sys_exit")) == "The tool ended itself (sys.exit with 'enough')."
        assert failed(await watched.call("deep")) == "The tool called itself too often (RecursionError)."
        assert text_of(await watched.call("fine")) == "fine"
        assert isinstance(watched.provider.listing().health, ProviderUp)


@pytest.mark.behaviour("providers.python_crash_costs_one_call")
async def test_async_calls_that_shared_a_process_are_each_told_that_it_died(accidents: Path) -> None:
    ended: list[Outcome] = []
    begun = anyio.Event()
    async with working(accidents, *ALL) as watched:

        async def rest() -> None:
            ended.append(await watched.call("rest", progress=lambda *_: begun.set()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rest)
            await begun.wait()
            ended.append(await watched.call("aleave"))
    assert ended == [ProviderFailure("dev exited with code 7 before it answered", True)] * 2


@pytest.mark.behaviour("providers.python_memory")
async def test_a_tool_that_takes_too_much_memory_is_told_so_and_its_process_is_replaced(accidents: Path) -> None:
    async with working(accidents, *ALL, bounds=ToolsetLimits(memory=256 * 1024 * 1024, processes=1)) as watched:
        assert structured(await watched.call("hoard", megabytes=64)) == {"result": 64 * 1024 * 1024}
        (first,) = workers()
        said = "The tool ran out of the memory it may use (256 MB)."
        assert failed(await watched.call("hoard", megabytes=400)) == said
        assert failed(await watched.call("hoard_slowly")) == said
        assert text_of(await watched.call("fine")) == "fine"
        assert first not in workers()


@pytest.mark.behaviour("providers.python_memory")
async def test_a_call_tells_that_importing_the_files_takes_too_much_memory(tmp_path: Path) -> None:
    folder = written(tmp_path / "toolset", {"one.py": "def one() -> int:\n    return 1\n"})
    tools = await described(folder, entries("one:one"), tmp_path / "environments")
    (folder / "one.py").write_text("kept = bytearray(400 * 1024 * 1024)\ndef one() -> int:\n    return 1\n")
    async with working(folder, tools=tools, bounds=ToolsetLimits(memory=256 * 1024 * 1024)) as watched:
        said = (
            "Toolset dev is down: importing its Python files takes more memory than it may use. Try again in a moment; "
            "if it stays so, or a sign-in is missing, ask the user to run: pegboard doctor"
        )
        assert await watched.call("one") == ProviderFailure(said, may_have_run=False)


@pytest.mark.behaviour("providers.python_memory")
async def test_a_result_for_which_there_is_no_memory_is_told_as_such_and_any_other_abort_is_not(
    accidents: Path,
) -> None:
    """What writes results as JSON is no Python: it has no error to raise, and ends the process."""
    async with working(accidents, *ALL, bounds=ToolsetLimits(memory=200 * 1024 * 1024, processes=1)) as watched:
        said = ProviderFailure("dev ran out of the memory it may use (200 MB) before it answered", True)
        assert await watched.call("long", letters=60_000_000) == said
        assert await watched.call("abort") == ProviderFailure(
            "dev was ended by signal 6 (SIGABRT) before it answered", True
        )
        assert text_of(await watched.call("fine")) == "fine"


@pytest.mark.behaviour("providers.python_time")
@pytest.mark.parametrize("tool", ["spin", "rest", "block"])
async def test_a_call_that_does_not_end_in_time_is_stopped_and_the_next_one_runs(tool: str, accidents: Path) -> None:
    async with working(accidents, *ALL, bounds=ToolsetLimits(seconds=0.5, processes=1)) as watched:
        assert await watched.call(tool) == ProviderFailure(
            "dev did not end within the 0.5 s that a call may take, and was stopped", True
        )
        assert text_of(await watched.call("fine")) == "fine"


@pytest.mark.behaviour("providers.python_cancellation")
@pytest.mark.parametrize("tool", ["spin", "rest", "block", "has_child"])
async def test_a_call_that_is_given_up_leaves_nothing_that_runs(tool: str, accidents: Path) -> None:
    told: list[float] = []
    begun = anyio.Event()

    def heard(done: float, *_: object) -> None:
        told.append(done)
        begun.set()

    async with working(accidents, *ALL, bounds=ToolsetLimits(processes=1)) as watched:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await watched.call(tool, progress=heard)

            tasks.start_soon(call)
            await begun.wait()
            children = [psutil.Process(int(told[0]))] if tool == "has_child" else []
            tasks.cancel_scope.cancel()
        assert text_of(await watched.call("fine")) == "fine"
        _, alive = await anyio.to_thread.run_sync(lambda: psutil.wait_procs(children, timeout=30))
        assert alive == []


@pytest.mark.behaviour("providers.python_crash_costs_one_call")
async def test_a_process_that_is_killed_is_replaced(accidents: Path) -> None:
    outcomes: list[Outcome] = []
    begun = anyio.Event()
    async with working(accidents, *ALL) as watched:

        async def call() -> None:
            outcomes.append(await watched.call("spin", progress=lambda *_: begun.set()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await begun.wait()
            os.kill(workers()[0].pid, signal.SIGKILL)
        assert outcomes == [ProviderFailure("dev was ended by signal 9 (SIGKILL) before it answered", True)]
        assert text_of(await watched.call("fine")) == "fine"


async def test_a_restart_starts_it_anew_and_ends_calls_with_a_word(accidents: Path) -> None:
    outcomes: list[Outcome] = []
    begun = anyio.Event()
    async with working(accidents, *ALL) as watched:

        async def call() -> None:
            outcomes.append(await watched.call("rest", progress=lambda *_: begun.set()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await begun.wait()
            (former,) = workers()
            watched.provider.restart()
        await watched.up()
        assert outcomes == [ProviderFailure("dev was restarted before it answered", True)]
        (now,) = workers()
        assert now != former
        assert text_of(await watched.call("fine")) == "fine"
    assert await watched.call("fine") == ProviderFailure("Toolset dev is not running", may_have_run=False)


GATEWAY = """
import asyncio, sys
from pathlib import Path
from pegboard.ports.providers import FunctionEntry
from pegboard.providers.python.process import PythonWorkerProcess, PythonWorkerSetup, WorkerCall

async def main():
    worker = PythonWorkerProcess(lambda chunk: None, lambda *said: None)
    entries = [FunctionEntry(name, f"accidents:{name}") for name in ("spin", "has_child")]
    await worker.start(PythonWorkerSetup("dev", Path(sys.argv[1]), entries, 1 << 29), 30)
    told = lambda done, *_: print(worker.pid, int(done), flush=True)
    worker.begin_call(WorkerCall(int(sys.argv[2]), b"{}", False, asyncio.get_running_loop().create_future(), told))
    await asyncio.sleep(1000)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.behaviour("providers.python_ends_with_gateway")
@pytest.mark.parametrize("tool", [0, 1], ids=["spin", "has_child"])
def test_workers_of_a_gateway_that_was_killed_end_by_themselves(tool: int, accidents: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", GATEWAY, str(accidents), str(tool)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as gateway:
        assert gateway.stdout is not None
        left = [psutil.Process(int(number)) for number in gateway.stdout.readline().split() if int(number)]
        gateway.kill()
    assert len(left) == 1 + tool
    _, alive = psutil.wait_procs(left, timeout=30)
    assert alive == []
