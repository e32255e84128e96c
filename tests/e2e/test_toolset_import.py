"""Toolsets brought onto a whole board: real files, a real store, real worker processes."""

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.core.boards import ME
from tests.servers.peers import warm_command
from tests.support.toolsets import (
    MINE,
    WORDS,
    brought,
    called,
    housed,
    laid_out,
    looked,
    manifest,
    statuses,
    tool,
    until_open,
    zipped,
)

from pegboard.bootstrap.application import Application
from pegboard.core.commands.commands import ApproveTool, SetOverride, SetSwitch
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetKey
from pegboard.core.model.selection import View
from pegboard.core.model.toolset import FileKind
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Policy
from pegboard.gateway.toolsets.files import FilesUnavailable
from pegboard.gateway.toolsets.reader import ImportRefusedError, InvalidToolsetError
from pegboard.ports.audit import StoreUnavailable

pytestmark = pytest.mark.anyio

SHOUT, COUNT = (ToolId(ToolsetKey(MINE), name) for name in ("shout", "count"))


def rows(data_dir: Path, question: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(data_dir / "pegboard.db") as database:
        return sorted(database.execute(question).fetchall())


def echo(**more: Any) -> dict[str, Any]:
    program, *args = warm_command("everyday")
    return {"id": "echo", "command": program, "args": args, **more}


def policy(house: Application) -> Policy:
    return house.gateway.board.policy


async def does(house: Application, *commands: Any) -> None:
    for each in commands:
        assert isinstance(await house.gateway.operator.execute(each, ME), Policy)


def folders(data_dir: Path) -> list[str]:
    return [path.name for path in sorted((data_dir / "toolsets").glob("*/*"))]


@pytest.mark.behaviour(
    "toolsets.zip_import_makes_an_explicit_toolset",
    "toolsets.zip_import_keeps_files",
    "toolsets.zip_import_creates_rows",
    "toolsets.zip_import_creates_servers",
    "toolsets.zip_import_creates_overrides",
)
async def test_a_zip_becomes_a_toolset_in_the_tables_of_the_seed(tmp_path: Path) -> None:
    overrides = [{"tool_id": "shout", "renderer": "code", "requires_confirmation": True}]
    said = manifest(tool("shout"), tool("count"), mcp_servers=[echo()], tool_overrides=overrides)
    folder = laid_out(tmp_path / "mine", said, {"tools/words.py": WORDS, "artifacts/page.html": "<p>", "notes.md": "x"})
    data = tmp_path / "data"
    async with housed(data) as house:
        await brought(house, zipped(folder))
        await until_open(house, "mine:shout", "mine:count", "mcp:mine~echo:echo")
        toolset = policy(house).toolsets[MINE]
        assert (toolset.name, toolset.version, toolset.user_mcp) == ("Mine", "1.0.0", False)
        assert {file.path: file.kind for file in policy(house).decisions.files[MINE]} == {
            "artifacts/page.html": FileKind.ARTIFACT,
            "notes.md": FileKind.ASSET,
            "tools/words.py": FileKind.PYTHON,
            "toolset.yaml": FileKind.CONFIG,
        }
    assert rows(data, "select id, version, user_mcp from toolsets") == [("mine", "1.0.0", 0)]
    assert rows(data, "select path, kind from toolset_files") == [
        ("artifacts/page.html", "artifact"),
        ("notes.md", "asset"),
        ("tools/words.py", "python"),
        ("toolset.yaml", "config"),
    ]
    assert rows(data, "select tool_id, entrypoint from tools") == [
        ("count", "tools.words:count"),
        ("shout", "tools.words:shout"),
    ]
    assert rows(data, "select toolset_id, server_id from toolset_mcp_servers") == [("mine", "echo")]
    assert rows(data, "select toolset_id, tool_id from tool_overrides") == [("mine", "mine:shout")]


@pytest.mark.behaviour("toolsets.aggregate_providers", "providers.python_called_locally")
async def test_functions_and_servers_of_one_toolset_are_called_alike(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(mcp_servers=[echo()]))
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        await until_open(house, "mine:shout", "mcp:mine~echo:echo")
        assert await called(house, "shout", text="tide") == "TIDE"
        assert "tide" in await called(house, "echo", text="tide")


@pytest.mark.behaviour("providers.python_discovered_from_manifest", "providers.python_entrypoint_is_stored")
async def test_a_board_knows_its_functions_without_running_any(tmp_path: Path) -> None:
    mark = tmp_path / "run"
    text = f"open({str(mark)!r}, 'w').close()\n{WORDS}"
    folder = laid_out(tmp_path / "mine", manifest(), {"tools/words.py": text})
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        await until_open(house, "mine:shout")
    mark.unlink()
    async with housed(tmp_path / "data") as house:
        await until_open(house, "mine:shout")
        assert not mark.exists()
        assert await called(house, "shout", text="a") == "A"
        assert mark.exists()


@pytest.mark.parametrize("top", ["", "mine-main/"])
async def test_folders_of_a_zip_stay_as_they_are(tmp_path: Path, top: str) -> None:
    """Weakness 17: a first folder was taken away, and imports of it broke."""
    files = {
        "lib/numbers.py": "def double(x: int) -> int:\n    return 2 * x\n",
        "tools/words.py": "from lib.numbers import double\n\ndef twice(x: int) -> int:\n    return double(x)\n",
    }
    folder = laid_out(tmp_path / "mine", manifest(tool("twice")), files)
    async with housed(tmp_path / "data") as house:
        await brought(house, zipped(folder, top=top))
        await until_open(house, "mine:twice")
        assert await called(house, "twice", x=21) == "42"


async def test_a_manifest_alone_is_imported(tmp_path: Path) -> None:
    file = laid_out(tmp_path / "a", {**manifest(), "tools": [], "mcp_servers": [echo()]}, {}) / "toolset.yaml"
    async with housed(tmp_path / "data") as house:
        await brought(house, file)
        await until_open(house, "mcp:mine~echo:echo")


async def test_what_belongs_to_a_checkout_and_not_to_the_toolset_is_left_out(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(), {"tools/words.py": WORDS, ".git/config": "x", ".venv/a": "b"})
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        assert [file.path for file in policy(house).decisions.files[MINE]] == ["tools/words.py", "toolset.yaml"]


@pytest.mark.behaviour("toolsets.import_tells_first")
async def test_a_look_changes_nothing(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    async with housed(tmp_path / "data") as house:
        found = await looked(house, folder)
        assert [str(each.tool) for each in found.differences.tools] == ["mine:shout"]
        assert (policy(house).toolsets, folders(tmp_path / "data")) == ({}, [])


@pytest.mark.behaviour("toolsets.import_tells_first")
async def test_what_was_looked_at_is_what_is_imported(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    async with housed(tmp_path / "data") as house:
        digest = (await looked(house, folder)).own.digest
        (folder / "tools" / "words.py").write_text(f"{WORDS}\n# another\n")
        with pytest.raises(ImportRefusedError, match="changed since you looked at it"):
            await brought(house, folder, digest=digest)
        assert policy(house).toolsets == {}


@pytest.mark.behaviour("toolsets.import_again_keeps_decisions")
async def test_importing_again_keeps_what_people_decided(tmp_path: Path) -> None:
    overrides = [{"tool_id": "count", "description_override": "of the manifest"}]
    folder = laid_out(tmp_path / "mine", manifest(tool("shout"), tool("count"), tool_overrides=overrides))
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        await until_open(house, "mine:shout", "mine:count")
        mine = Override(MINE, COUNT, name_override="Letters")
        await does(house, SetSwitch(SHOUT, False, "too loud"), SetOverride(mine))
        again = [{"tool_id": "count", "description_override": "of the second", "name_override": "By the manifest"}]
        said = manifest(tool("shout"), tool("count"), version="1.1.0", tool_overrides=again)
        # Other words of the manifest wait until somebody has read them.
        assert (await brought(house, laid_out(folder, said))).waiting_tools == (COUNT,)
        shown = policy(house).overrides.for_tool(COUNT)
        assert (shown.name_override, shown.description_override) == ("Letters", "of the second")
        assert statuses(house) == {"mine:count": "pending_approval", "mine:shout": "disabled_by_user"}


@pytest.mark.behaviour("toolsets.import_again_keeps_decisions", "toolsets.changed_tools_wait")
async def test_a_tool_that_changed_waits_until_it_is_approved(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(tool("shout"), tool("count")))
    changed = WORDS.replace("text: str) -> str", "text: str, twice: bool = False) -> str")
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        await until_open(house, "mine:shout", "mine:count")
        found = await brought(
            house, laid_out(folder, manifest(tool("shout"), tool("count")), {"tools/words.py": changed})
        )
        assert (found.waiting_tools, statuses(house)) == (
            (SHOUT,),
            {"mine:count": "open", "mine:shout": "pending_approval"},
        )
        spec = found.install.specs[SHOUT]
        await does(house, ApproveTool(SHOUT, spec, spec.fingerprint))
        assert statuses(house) == {"mine:count": "open", "mine:shout": "open"}


@pytest.mark.behaviour("toolsets.changed_tools_wait")
async def test_whoever_has_read_the_differences_says_so(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    other = {"tools/words.py": WORDS.replace("loudly", "very loudly")}
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        await until_open(house, "mine:shout")
        laid_out(folder, manifest(), other)
        spec = (await looked(house, folder)).install.specs[SHOUT]
        with pytest.raises(ImportRefusedError, match="mine:shout is not what you read"):
            await brought(house, folder, reviewed={"mine:shout": "0" * 64})
        with pytest.raises(ImportRefusedError, match="mine:shuot is no tool"):
            await brought(house, folder, reviewed={"mine:shuot": spec.fingerprint})
        assert (await brought(house, folder, reviewed={"mine:shout": spec.fingerprint})).waiting_tools == ()
        assert statuses(house) == {"mine:shout": "open"}


@pytest.mark.behaviour("toolsets.no_silent_downgrade")
async def test_an_older_version_is_refused_unless_it_is_wanted(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(version="1.10"))
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        laid_out(folder, manifest(version="1.9"))
        with pytest.raises(ImportRefusedError, match=r"mine 1\.10 is installed, and this is 1\.9, which is older"):
            await brought(house, folder)
        assert policy(house).toolsets[MINE].version == "1.10"
        await brought(house, folder, allow_downgrade=True)
        assert policy(house).toolsets[MINE].version == "1.9"


async def test_only_the_content_that_is_named_is_left_on_the_disk(tmp_path: Path) -> None:
    folder, data = laid_out(tmp_path / "mine", manifest()), tmp_path / "data"
    async with housed(data) as house:
        first = await brought(house, folder)
        second = await brought(house, laid_out(folder, manifest(version="2")))
        assert first.own.digest != second.own.digest
        assert folders(data) == [second.own.digest]


@pytest.mark.behaviour("toolsets.import_again_reconnects")
async def test_importing_again_reconnects_changed_servers_and_drops_others(tmp_path: Path) -> None:
    """Weakness 5: a server that changed was not connected again, and one that was gone stayed as a ghost."""
    folder = laid_out(tmp_path / "mine", manifest(mcp_servers=[echo(), {**echo(), "id": "old"}]))
    async with housed(tmp_path / "data") as house:
        await brought(house, folder)
        await until_open(house, "mcp:mine~echo:echo", "mcp:mine~old:echo")
        keys = {name: ServerKey(MINE, ServerId(name)) for name in ("echo", "old")}
        before = house.gateway.providers.provider(keys["echo"])
        await brought(house, laid_out(folder, manifest(mcp_servers=[echo(env={"MODE": "2"})])))
        board = house.gateway.board
        with anyio.fail_after(60), board.changes.subscribe() as bell:
            while house.gateway.providers.provider(keys["echo"]) in (None, before):
                await bell.wait()
        await until_open(house, "mcp:mine~echo:echo")
        assert keys["old"] not in policy(house).servers
        assert keys["old"] not in board.catalogue.listings
        assert {str(id.source) for id in board.catalogue.tools} == {"mine~echo", "mine"}


@pytest.mark.behaviour("toolsets.import_again_is_atomic")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tools/words.py": "raise SystemExit\n"}, "there is no function 'shout'"),
        ({"tools/words.py": "def shout(text: 'Nothing'): ...\n"}, "words.py:1"),
        ({"tools/words.py": f"{WORDS}\nraise RuntimeError('no')\n"}, "no"),
        ({"tools/other.py": WORDS}, "there is no file 'tools/words.py'"),
    ],
)
async def test_an_import_that_fails_leaves_all_as_it_was(tmp_path: Path, change: dict[str, str], why: str) -> None:
    folder, data = laid_out(tmp_path / "mine", manifest()), tmp_path / "data"
    async with housed(data) as house:
        await brought(house, folder)
        await until_open(house, "mine:shout")
        before = policy(house)
        with pytest.raises(InvalidToolsetError, match=why):
            await brought(house, laid_out(folder, manifest(version="2"), change))
        assert policy(house) is before
        assert len(folders(data)) == 1
        assert await called(house, "shout", text="a") == "A"


async def test_files_that_cannot_be_written_leave_all_as_it_was(tmp_path: Path) -> None:
    folder, data = laid_out(tmp_path / "mine", manifest()), tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "toolsets").write_text("in the way")
    async with housed(data) as house:
        with pytest.raises(FilesUnavailable, match="Nothing was changed"):
            await brought(house, folder)
        assert policy(house).toolsets == {}


@pytest.mark.behaviour("toolsets.declared_and_installed_clash")
async def test_an_id_that_somebody_added_a_server_under_is_not_taken_over(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    async with housed(tmp_path / "data") as house:
        from tests.core.boards import server, toolset

        from pegboard.core.commands.commands import AddServer

        await does(house, AddServer(server(ServerKey(MINE, ServerId("mine"))), toolset("mine")))
        with pytest.raises(ImportRefusedError, match="There is a toolset 'mine' already"):
            await brought(house, folder)
        assert folders(tmp_path / "data") == []


@pytest.mark.behaviour("toolsets.switch_remembers_states")
async def test_switching_a_toolset_off_and_on_leaves_each_part_as_it_was(tmp_path: Path) -> None:
    said = manifest(tool("shout"), tool("count"), mcp_servers=[echo(), {**echo(), "id": "off"}])
    async with housed(tmp_path / "data") as house:
        await brought(house, laid_out(tmp_path / "mine", said))
        await until_open(house, "mine:shout", "mine:count", "mcp:mine~echo:echo", "mcp:mine~off:echo")
        await does(house, SetSwitch(ServerKey(MINE, ServerId("off")), False), SetSwitch(COUNT, False))
        before = statuses(house)
        await does(house, SetSwitch(MINE, False))
        assert set(statuses(house).values()) == {"server_disabled"}
        await does(house, SetSwitch(MINE, True))
        await until_open(house, "mine:shout", "mcp:mine~echo:echo")
        assert statuses(house) == before


async def test_the_same_name_in_two_parts_of_a_toolset_is_two_tools(tmp_path: Path) -> None:
    """Weakness 10: the same name on two servers ended every conversation."""
    text = "def echo(text: str) -> str:\n    return text\n"
    said = manifest(tool("echo"), mcp_servers=[echo(), {**echo(), "id": "two"}])
    async with housed(tmp_path / "data") as house:
        await brought(house, laid_out(tmp_path / "mine", said, {"tools/words.py": text}))
        await until_open(house, "mine:echo", "mcp:mine~echo:echo", "mcp:mine~two:echo")
        names = house.gateway.board.resolution(View()).names
        assert len({name for id, name in names.items() if id.name == "echo"}) == 3


async def test_the_confirmation_that_a_function_wants_is_asked_for(tmp_path: Path) -> None:
    """Weakness 9: what the decorator said had no effect."""
    text = f"from pegboard.tools import tool\n\n@tool(requires_confirmation=True)\n{WORDS}"
    async with housed(tmp_path / "data") as house:
        await brought(house, laid_out(tmp_path / "mine", manifest(), {"tools/words.py": text}))
        assert policy(house).overrides.requires_confirmation(SHOUT)
        said = manifest(tool("shout", requires_confirmation=False))
        await brought(house, laid_out(tmp_path / "mine", said, {"tools/words.py": text}))
        assert not policy(house).overrides.requires_confirmation(SHOUT)


async def test_a_reference_to_a_toolset_means_all_that_it_has(tmp_path: Path) -> None:
    """Weakness 20: no id stood for the tools of both kinds."""
    from pegboard.core.model.selection import Selection, parse_toolsets

    async with housed(tmp_path / "data") as house:
        await brought(house, laid_out(tmp_path / "mine", manifest(mcp_servers=[echo()])))
        await until_open(house, "mine:shout", "mcp:mine~echo:echo")
        view = View().narrow(Selection(parse_toolsets(()), ("toolset:mine",)))
        assert {*house.gateway.board.resolution(view).names} == {*house.gateway.board.catalogue.tools}


async def test_a_command_that_starts_nothing_still_knows_what_a_toolset_brings(tmp_path: Path) -> None:
    async with housed(tmp_path / "data") as house:
        await brought(house, laid_out(tmp_path / "mine", manifest()))
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        assert statuses(house) == {"mine:shout": "server_unavailable"}


async def test_a_store_that_is_away_takes_nothing_and_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    async with housed(tmp_path / "data") as house:
        first = await brought(house, folder)
        await until_open(house, "mine:shout")
        store = house.gateway.operator._store
        with monkeypatch.context() as away:
            away.setattr(store, "save", _lost)
            with pytest.raises(StoreUnavailable, match="The store did not take this"):
                await brought(house, laid_out(folder, manifest(version="2")))
        assert policy(house).toolsets[MINE].version == "1.0.0"
        assert first.own.digest in folders(tmp_path / "data")
        assert await called(house, "shout", text="a") == "A"
        second = await brought(house, folder)
        assert folders(tmp_path / "data") == [second.own.digest]


async def _lost(*_: object, **__: object) -> None:
    raise OSError("the disk is gone")
