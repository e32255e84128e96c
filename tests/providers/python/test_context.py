"""What a Python tool says while it runs, what it is told, and what is told of its errors."""

from collections.abc import Hashable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.providers.python.toolsets import failed, text_of, workers, working, written

from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.tool import ToolsetLimits
from pegboard.ports.providers import UnresolvedReference

pytestmark = pytest.mark.anyio

SPEECH = {
    "speech.py": """
    import time
    from pegboard.tools import ToolContext

    def count(to: int, context: ToolContext) -> str:
        for step in range(1, to + 1):
            context.progress(step, to, f"step {step}")
        context.log("counted", "warning")
        context.log(f"with {context.secrets['TOKEN']}")
        return "done"

    async def acount(to: int, context: ToolContext) -> str:
        return count(to, context)

    def heed(context: ToolContext) -> str:
        context.progress(0)
        while not context.cancelled:
            time.sleep(0.01)
        return "nobody hears this"

    def leak(context: ToolContext) -> str:
        raise RuntimeError(f"401 for token {context.secrets['TOKEN']} at {__file__}")

    def leak_path() -> str:
        return open("/usr/lib/nothing/of/the/kind.txt").read()

    def undeclared(context: ToolContext) -> str:
        return context.secrets["OTHER"]

    def grouped() -> None:
        raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])

    def leak_progress(context: ToolContext) -> str:
        context.progress(1, 2, f"key {context.secrets['TOKEN']}")
        return "done"
    """
}


class Ear:
    """A client that hears what is said during its call."""

    capabilities: Mapping[str, Json] = {}

    def __init__(self) -> None:
        self.heard: list[tuple[str, Mapping[str, Json]]] = []

    @property
    def connection_key(self) -> Hashable:
        return "ear"

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        self.heard.append((method, params))

    async def request(self, method: str, params: Mapping[str, Json], last: object = None) -> Mapping[str, Json]:
        raise AssertionError


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    return written(tmp_path / "speech", SPEECH)


@pytest.mark.behaviour("providers.python_context")
@pytest.mark.parametrize("tool", ["count", "acount"])
async def test_progress_and_log_messages_reach_whoever_waits(tool: str, speech: Path) -> None:
    steps: list[tuple[float, float | None, str | None]] = []
    ear = Ear()
    async with working(speech, "speech:count", "speech:acount", secrets={"TOKEN": "s3cret-t0ken"}) as watched:
        outcome = await watched.call(tool, to=3, progress=lambda *step: steps.append(step), peer=ear)
        assert text_of(outcome) == "done"
        assert watched.provider.log() == ("warning: counted", "info: with •••")
    assert steps == [(1.0, 3.0, "step 1"), (2.0, 3.0, "step 2"), (3.0, 3.0, "step 3")]
    assert ear.heard == [
        ("notifications/message", {"level": "warning", "logger": "dev", "data": "counted"}),
        ("notifications/message", {"level": "info", "logger": "dev", "data": "with •••"}),
    ]


@pytest.mark.behaviour("providers.python_context")
async def test_progress_is_told_without_secrets(speech: Path) -> None:
    steps: list[tuple[float, float | None, str | None]] = []
    async with working(speech, "speech:leak_progress", secrets={"TOKEN": "s3cret-t0ken"}) as watched:
        assert text_of(await watched.call("leak_progress", progress=lambda *step: steps.append(step))) == "done"
    assert steps == [(1.0, 2.0, "key •••")]


async def test_a_flood_of_progress_is_thinned_out_and_ends_with_the_last_word(speech: Path) -> None:
    steps: list[tuple[float, float | None, str | None]] = []
    async with working(speech, "speech:count", secrets={"TOKEN": "s3cret-t0ken"}) as watched:
        await watched.call("count", to=20_000, progress=lambda *step: steps.append(step))
    assert len(steps) < 10_000
    assert steps[-1] == (20_000.0, 20_000.0, "step 20000")


@pytest.mark.behaviour("providers.python_cancellation")
async def test_a_function_that_looks_hears_that_it_was_given_up_and_its_process_lives_on(speech: Path) -> None:
    begun = anyio.Event()
    async with working(speech, "speech:heed", "speech:grouped", bounds=ToolsetLimits(processes=1)) as watched:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await watched.call("heed", progress=lambda *_: begun.set())

            tasks.start_soon(call)
            await begun.wait()
            before = workers()
            tasks.cancel_scope.cancel()
        assert failed(await watched.call("grouped")) == "ValueError: one\nKeyError: 'two'"
        assert workers() == before


@pytest.mark.behaviour("providers.python_errors")
async def test_an_error_is_told_without_secrets_and_without_places_on_this_machine(speech: Path) -> None:
    tools = ("speech:leak", "speech:leak_path", "speech:undeclared")
    async with working(speech, *tools, secrets={"TOKEN": "s3cret-t0ken"}) as watched:
        assert failed(await watched.call("leak")) == "RuntimeError: 401 for token ••• at speech.py"
        assert failed(await watched.call("leak_path")) == (
            "FileNotFoundError: [Errno 2] No such file or directory: '…/kind.txt'"
        )
        assert failed(await watched.call("undeclared")) == (
            "KeyError: The secret 'OTHER' is not set. Name it under `secrets` in toolset.yaml, and set it for this "
            "toolset."
        )
        log = "\n".join(watched.provider.log())
    assert "Traceback (most recent call last):" in log
    assert f'File "{speech}/speech.py", line 22, in leak' in log
    assert "s3cret" not in log


@pytest.mark.behaviour("providers.python_secrets")
async def test_a_secret_that_is_not_set_is_told_before_anything_runs(speech: Path) -> None:
    missing = UnresolvedReference("the secret TOKEN is not set. Run: pegboard toolset secrets set dev TOKEN")
    async with working(speech, "speech:leak", secrets=missing) as watched:
        listing = await watched.until(lambda listing: isinstance(listing.health, ProviderDown))
        assert isinstance(listing.health, ProviderDown)
        assert listing.health.why == missing.why
        assert workers() == []
