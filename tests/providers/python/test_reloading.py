"""Files that change are used at once: a good edit replaces the processes, a broken one leaves the last good ones."""

from pathlib import Path

import anyio
import pytest
from tests.providers.python.toolsets import KEY, described, entries, structured, text_of, working, written

from pegboard.core.calls.call import Outcome, ProviderFailure
from pegboard.core.model.catalogue import Listing, ListingProblem, ProviderDown, ProviderUp
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import StartWithGateway
from pegboard.ports.providers import ManifestEntries, ToolDescriptionError

pytestmark = pytest.mark.anyio

FIRST = """
import asyncio
from pegboard.tools import ToolContext

def version() -> int:
    return 1

async def linger(context: ToolContext) -> str:
    context.progress(0)
    while not context.workspace.joinpath("go").exists():
        await asyncio.sleep(0.01)
    return "first"
"""
SECOND = FIRST.replace("return 1", "return 2").replace('"first"', '"second"')
WIDER = SECOND.replace("def version()", "def version(of: str = 'all')")
BROKEN = "def version() -> int:\n    return 3 +\n"
TOOLS = ("app:version", "app:linger")


def description(listing: Listing, tool: str) -> object:
    return listing.by_id[ToolId(KEY, tool)].spec.input_schema.get("properties")


@pytest.mark.behaviour("providers.python_reload")
async def test_a_good_edit_is_used_at_once_and_a_call_that_runs_ends_as_it_began(tmp_path: Path) -> None:
    folder, workspace = written(tmp_path / "toolset", {"app.py": FIRST}), tmp_path / "workspace"
    workspace.mkdir()
    ended: list[Outcome] = []
    begun = anyio.Event()
    async with working(folder, *TOOLS, linked=True, starts=StartWithGateway(), workspace=workspace) as watched:
        await watched.up()
        assert structured(await watched.call("version")) == {"result": 1}

        async def call() -> None:
            ended.append(await watched.call("linger", progress=lambda *_: begun.set()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await begun.wait()
            watched.seen.clear()
            written(folder, {"app.py": WIDER})
            before = watched.admitted("version", {})
            listing = await watched.until(lambda listing: bool(description(listing, "version")))
            assert description(listing, "version") == {"of": {"type": "string", "default": "all"}}
            assert [type(word.health) for word in watched.seen] == [ProviderUp]
            assert structured(await watched.call("version")) == {"result": 2}
            assert await watched.provider.call(before) == ProviderFailure(
                "dev:version has changed, and what was approved is not what would run. List the tools again", False
            )
            (workspace / "go").touch()
    assert [text_of(outcome) for outcome in ended] == ["first"]


@pytest.mark.behaviour("providers.python_reload")
async def test_a_broken_edit_is_told_and_the_last_good_one_runs_on_until_it_is_mended(tmp_path: Path) -> None:
    folder = written(tmp_path / "toolset", {"app.py": FIRST})
    async with working(folder, *TOOLS, starts=StartWithGateway()) as watched:
        await watched.up()
        written(folder, {"app.py": BROKEN})
        listing = await watched.until(lambda listing: bool(listing.problems))
        (flaw,) = listing.problems
        why = flaw.why[flaw.why.index("app.py:2: invalid syntax. ") :]
        told = f"is from before the last edit, because the files as they are now cannot be used: {why}"
        assert flaw == ListingProblem("the list", told, "Mend the file; it is read again by itself.")
        assert isinstance(listing.health, ProviderUp)
        assert structured(await watched.call("version")) == {"result": 1}
        assert watched.provider.log()[-1] == f"the files changed and cannot be used: {why}"
        written(folder, {"app.py": SECOND})
        await watched.until(lambda listing: not listing.problems)
        assert structured(await watched.call("version")) == {"result": 2}


@pytest.mark.behaviour("providers.python_reload")
async def test_one_that_cannot_start_is_down_with_the_line_and_comes_up_when_it_is_mended(tmp_path: Path) -> None:
    folder = written(tmp_path / "toolset", {"app.py": FIRST})
    tools = await described(folder, entries(*TOOLS), tmp_path)
    written(folder, {"app.py": BROKEN})
    async with working(folder, tools=tools, starts=StartWithGateway()) as watched:
        listing = await watched.until(lambda listing: isinstance(listing.health, ProviderDown))
        assert isinstance(listing.health, ProviderDown)
        assert listing.health.why.startswith("app.py:2: invalid syntax. ")
        assert [tool.spec for tool in listing.tools] == [tool.spec for tool in tools]
        written(folder, {"app.py": SECOND})
        await watched.up()
        assert structured(await watched.call("version")) == {"result": 2}


@pytest.mark.behaviour("providers.python_reload")
async def test_a_folder_that_is_followed_is_followed_while_its_tools_sleep_and_so_is_its_manifest(
    tmp_path: Path,
) -> None:
    folder = written(tmp_path / "toolset", {"app.py": FIRST, "toolset.yaml": "app:version"})

    def manifest(folder: Path) -> ManifestEntries:
        return ManifestEntries(entries(*(folder / "toolset.yaml").read_text().split()))

    async with working(folder, *TOOLS[:1], linked=True, read=manifest) as watched:
        await watched.asleep()
        written(folder, {"toolset.yaml": "app:version app:linger"})
        listing = await watched.until(lambda listing: len(listing.tools) == 2)
        assert [tool.spec.name for tool in listing.tools] == ["version", "linger"]


@pytest.mark.behaviour("providers.python_reload")
async def test_a_manifest_that_cannot_be_used_is_told_and_the_last_good_tools_stay(tmp_path: Path) -> None:
    folder = written(tmp_path / "toolset", {"app.py": FIRST, "toolset.yaml": "app:version app:linger"})

    def manifest(folder: Path) -> ManifestEntries:
        named = (folder / "toolset.yaml").read_text().split()
        if "versoin:" in named:
            raise ToolDescriptionError("toolset.yaml:1: versoin: unknown key. Did you mean 'version'?")
        return ManifestEntries(entries(*named), ("mcp_servers",) if len(named) == 1 else ())

    async with working(folder, *TOOLS[:1], linked=True, read=manifest, starts=StartWithGateway()) as watched:
        await watched.until(lambda listing: len(listing.tools) == 2)
        written(folder, {"toolset.yaml": "versoin: app:version"})
        listing = await watched.until(lambda listing: bool(listing.problems))
        assert [flaw.sentence for flaw in listing.problems] == [
            "gives a list that is from before the last edit, because the files as they are now cannot be used: "
            "toolset.yaml:1: versoin: unknown "
            "key. Did you mean 'version'?"
        ]
        assert [tool.spec.name for tool in listing.tools] == ["version", "linger"]
        written(folder, {"toolset.yaml": "app:version"})
        listing = await watched.until(lambda listing: len(listing.tools) == 1)
        assert listing.problems == (
            ListingProblem(
                "the list",
                "is without what the manifest says now under mcp_servers, which counts when it is imported again",
                f"pegboard toolset import {folder} --link",
            ),
        )


@pytest.mark.behaviour("providers.python_reload")
async def test_words_that_were_edited_in_place_are_listed_as_they_are_now(tmp_path: Path) -> None:
    code = 'def one() -> int:\n    """One."""\n    return 1\n'
    folder = written(tmp_path / "toolset", {"app.py": code})
    async with working(
        folder, "app:one", read=lambda _: ManifestEntries(entries("app:one")), starts=StartWithGateway()
    ) as watched:
        assert (await watched.up()).tools[0].spec.description == "One."
        written(folder, {"app.py": code.replace("One.", "The first number.")})
        await watched.until(lambda listing: listing.tools[0].spec.description == "The first number.")


@pytest.mark.behaviour("providers.python_reload")
async def test_what_a_tool_writes_beside_its_modules_restarts_nothing(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path\n\ndef note() -> str:\n    Path('notes.txt').open('a').write('x')\n    return 'x'\n"
    )
    folder = written(tmp_path / "toolset", {"app.py": code})
    async with working(folder, "app:note", starts=StartWithGateway()) as watched:
        await watched.up()
        await watched.call("note")
        written(folder, {"app.py": code.replace("return 'x'", "return 'y'")})
        while text_of(await watched.call("note")) != "y":
            pass
        said = [line for line in watched.provider.log() if line.startswith("the files changed")]
        assert said == ["the files changed: they are used from now on"]
