"""Python tools are called in processes of their own, which start when somebody calls and end when nobody does."""

import os
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest
from tests.providers.python.toolsets import KEY, failed, structured, text_of, workers, working, written
from tests.support.sentences import unfit_arguments

from pegboard.core.calls.call import ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import Listing, ProviderOff, ProviderUp
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import StartOnDemand, StartWithGateway
from pegboard.core.model.tool import ToolsetLimits
from pegboard.ports.providers import Provider
from pegboard.providers.python.provider import PythonTools

pytestmark = pytest.mark.anyio

BASICS = {
    "basics.py": '''
    import os, sys
    from pathlib import Path
    from pegboard.tools import ToolContext
    from shared.words import greeting

    def greet(name: str, times: int = 1) -> str:
        """Greet somebody.

        Args:
            name: Whom.
        """
        print("greeting", name)
        return greeting(name) * times

    async def agreet(name: str) -> str:
        return greeting(name)

    def add(a: int, b: int) -> int:
        return a + b

    def process() -> int:
        return os.getpid()

    async def aprocess() -> int:
        return os.getpid()

    def big(bytes: int) -> str:
        return "x" * bytes

    def size(text: str) -> int:
        return len(text)

    def surroundings() -> dict[str, str]:
        return dict(os.environ)

    def place(context: ToolContext) -> str:
        return f"{context.toolset} {context.workspace} {Path.cwd()}"

    def loaded() -> list[str]:
        return sorted({name.partition(".")[0] for name in sys.modules})

    def asks() -> str:
        return sys.stdin.read() + "nothing to read"
    ''',
    "shared/__init__.py": "",
    "shared/words.py": """
    def greeting(name: str) -> str:
        return f"Hello {name} ✓"
    """,
}


@pytest.fixture
def basics(tmp_path: Path) -> Path:
    return written(tmp_path / "basics", BASICS)


def names(listing: Listing) -> list[str]:
    return [tool.spec.name for tool in listing.tools]


@pytest.mark.behaviour("providers.python_discovered_from_manifest", "providers.python_asleep")
async def test_tools_are_listed_without_running_anything_and_the_first_call_wakes_them(basics: Path) -> None:
    async with working(basics, "basics:greet", "basics:add") as watched:
        listing = await watched.asleep()
        assert (names(listing), workers()) == (["greet", "add"], [])
        assert listing.tools[0].spec.description == "Greet somebody."
        assert text_of(await watched.call("greet", name="Ada")) == "Hello Ada ✓"
        assert isinstance(watched.provider.listing().health, ProviderUp)
        assert watched.provider.listing().tools == listing.tools
    assert isinstance(watched.provider.listing().health, ProviderOff)


@pytest.mark.behaviour("providers.python_called_locally", "providers.python_own_process")
async def test_a_call_runs_the_function_in_a_process_that_is_not_ours(basics: Path) -> None:
    async with working(basics, "basics:process", "basics:add") as watched:
        assert structured(await watched.call("process"))["result"] == workers()[0].pid != os.getpid()
        assert await watched.call("add", a=2, b=3) == ToolSuccess(
            b'{"content":[{"type":"text","text":"5"}],"structuredContent":{"result":5}}'
        )


@pytest.mark.behaviour("providers.python_prints")
async def test_what_a_tool_prints_goes_to_the_log_and_breaks_nothing(basics: Path) -> None:
    async with working(basics, "basics:greet", "basics:asks") as watched:
        assert text_of(await watched.call("greet", name="Ada", times=2)) == "Hello Ada ✓Hello Ada ✓"
        assert watched.provider.log() == ("greeting Ada",)
        assert text_of(await watched.call("asks")) == "nothing to read"


async def test_a_worker_loads_nothing_that_only_the_gateway_needs(basics: Path) -> None:
    async with working(basics, "basics:loaded") as watched:
        loaded = set(structured(await watched.call("loaded"))["result"])
    assert loaded >= {"pegboard", "pydantic"}
    assert loaded.isdisjoint({"anyio", "asyncio", "cryptography", "httpx2", "mcp", "msgspec", "sqlalchemy", "uvloop"})


async def test_sync_and_async_tools_of_one_toolset_take_turns(basics: Path) -> None:
    async with working(basics, "basics:greet", "basics:agreet", bounds=ToolsetLimits(processes=1)) as watched:
        for _ in range(3):
            assert text_of(await watched.call("greet", name="Ada")) == "Hello Ada ✓"
            assert text_of(await watched.call("agreet", name="Åse")) == "Hello Åse ✓"


async def test_async_calls_that_come_together_after_a_sync_one_are_all_answered(basics: Path) -> None:
    async with working(basics, "basics:greet", "basics:agreet", bounds=ToolsetLimits(processes=1)) as watched:
        for _ in range(5):
            answers: list[str] = []

            async def call(number: int, answers: list[str] = answers) -> None:
                answers.append(text_of(await watched.call("agreet", name=str(number))))

            assert text_of(await watched.call("greet", name="Ada")) == "Hello Ada ✓"
            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(call, number)
            assert sorted(answers) == sorted(f"Hello {number} ✓" for number in range(20))


@pytest.mark.behaviour("providers.python_arguments_told")
async def test_bad_arguments_are_told_place_by_place(basics: Path) -> None:
    async with working(basics, "basics:greet") as watched:
        unfit = failed(await watched.call("greet", name=["no"], times="many", extra=1)).splitlines()
        assert unfit[:-1] == [
            "The arguments do not fit:",
            "- name: Input should be a valid string",
            "- times: Input should be a valid integer, unable to parse string as an integer",
            "- extra: Extra inputs are not permitted",
        ]
        assert unfit[-1] == unfit_arguments(ToolId(KEY, "greet"), "PROBLEM").splitlines()[-1]
        assert await watched.call("greet", name="\ud83d") == ProviderFailure(
            "dev was not asked: the arguments hold half a character, which no JSON text can carry", False
        )


async def test_twenty_megabytes_come_and_go(basics: Path) -> None:
    async with working(basics, "basics:big", "basics:size") as watched:
        assert len(text_of(await watched.call("big", bytes=20_000_000))) == 20_000_000
        assert structured(await watched.call("size", text="é" * 20_000_000)) == {"result": 20_000_000}
        assert failed(await watched.call("big", bytes=70_000_000)) == (
            "The tool ran, and its result of 70 MB is larger than the 67 MB that a result may have."
        )


@pytest.mark.behaviour("providers.python_clean_environment")
async def test_a_tool_sees_nothing_of_our_environment_but_what_every_program_needs(
    basics: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD_TEST_TOKEN", "t0ken")
    async with working(basics, "basics:surroundings") as watched:
        told = structured(await watched.call("surroundings"))
    assert "PATH" in told
    assert "PEGBOARD_TEST_TOKEN" not in told


@pytest.mark.behaviour("providers.python_context")
async def test_the_context_says_where_the_workspace_is(basics: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with working(basics, "basics:place", workspace=workspace) as watched:
        assert text_of(await watched.call("place")) == f"dev {workspace} {workspace}"
    async with working(basics, "basics:place") as watched:
        assert text_of(await watched.call("place")) == f"dev None {basics}"


@pytest.mark.slow
@pytest.mark.behaviour("providers.python_many_calls")
@pytest.mark.parametrize("tool", ["add", "aadd"])
async def test_a_thousand_calls_at_once_each_get_their_own_answer(tool: str, tmp_path: Path) -> None:
    code = "def add(a: int, b: int) -> int:\n    return a + b\n"
    folder = written(tmp_path / "many", {"sums.py": f"{code}\nasync {code.replace('add', 'aadd')}"})
    answers: dict[int, object] = {}
    async with working(folder, "sums:add", "sums:aadd", call=60) as watched:

        async def call(number: int) -> None:
            answers[number] = structured(await watched.call(tool, a=number, b=1))["result"]

        async with anyio.create_task_group() as tasks:
            for number in range(1000):
                tasks.start_soon(call, number)
        assert len(workers()) <= 4
    assert answers == {number: number + 1 for number in range(1000)}


@pytest.mark.behaviour("providers.python_asleep")
async def test_nobody_calls_and_the_processes_end(basics: Path) -> None:
    async with working(basics, "basics:process", starts=StartOnDemand(0.05)) as watched:
        first = structured(await watched.call("process"))["result"]
        await watched.asleep()
        second = structured(await watched.call("process"))["result"]
        assert (first == second, psutil.pid_exists(first)) == (False, False)
        await watched.asleep()


async def test_one_that_is_always_started_is_up_before_anybody_calls(basics: Path) -> None:
    async with working(basics, "basics:add", starts=StartWithGateway()) as watched:
        await watched.up()
        assert len(workers()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [20, pytest.param(200, marks=pytest.mark.soak)])
async def test_restarts_leave_neither_processes_nor_open_files(tmp_path: Path, restarts: int) -> None:
    folder = written(tmp_path / "one", {"one.py": "def one() -> int:\n    return 1\n"})
    async with working(folder, "one:one", starts=StartWithGateway()) as watched:
        await watched.up()
        files = psutil.Process().num_fds()
        for _ in range(restarts):
            watched.provider.restart()
            await watched.up()
        assert structured(await watched.call("one")) == {"result": 1}
        assert len(workers()) == 1
        assert psutil.Process().num_fds() - files < restarts // 4


async def test_what_was_approved_and_is_not_what_would_run_does_not_run(basics: Path) -> None:
    async with working(basics, "basics:add") as watched:
        listed = (await watched.asleep()).tools[0].spec
        stale = watched.admitted("add", {"a": 1, "b": 1}, type(listed)("add", description="Something else"))
        with anyio.fail_after(30):
            assert await watched.provider.call(stale) == ProviderFailure(
                "dev:add has changed, and what was approved is not what would run. List the tools again", False
            )
        assert await watched.call("gone") == ProviderFailure(
            "dev does not have 'gone' now. List the tools again", False
        )


@pytest.mark.parametrize("anyio_backend", [pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop")])
async def test_tools_run_the_same_on_the_loop_the_gateway_runs_on(basics: Path) -> None:
    async with working(basics, "basics:greet", "basics:agreet", "basics:big") as watched:
        assert text_of(await watched.call("greet", name="Ada")) == "Hello Ada ✓"
        assert text_of(await watched.call("agreet", name="Ada")) == "Hello Ada ✓"
        assert len(text_of(await watched.call("big", bytes=5_000_000))) == 5_000_000


def test_it_is_a_provider() -> None:
    provider: type[Provider] = PythonTools
    assert provider is PythonTools
