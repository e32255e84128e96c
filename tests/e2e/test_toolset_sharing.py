"""Toolsets given away and taken off: exports without secrets, round trips, secrets, links, removals without ghosts."""

import io
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import psutil
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.boards import server, toolset
from tests.e2e.test_toolset_import import SHOUT, does, echo, policy
from tests.support.toolsets import (
    MINE,
    PATIENCE,
    WORDS,
    brought,
    called,
    housed,
    laid_out,
    manifest,
    statuses,
    tool,
    until_open,
    zipped,
)

from pegboard.bootstrap.application import Application
from pegboard.config.schema.document import ScalarKind, scalar_kind
from pegboard.core.commands.commands import AddServer, SetSwitch
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import Stdio
from pegboard.core.model.tool import OwnTools
from pegboard.gateway.toolsets.export import ToolsetBundle, export_bundle
from pegboard.gateway.toolsets.installer import ImportStep
from pegboard.gateway.toolsets.reader import ImportRequest

pytestmark = pytest.mark.anyio

PLANTED = {
    "env": "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "header": "hunter2-hunter2-hunter2",
    "arg": "s3cr3t-of-the-arguments",
    "url": "pa55word-in-a-url",
    "set": "the-one-that-a-person-set",
}


async def export(house: Application, toolset: ToolsetId = MINE) -> ToolsetBundle:
    return await export_bundle(policy(house), house.installer.files, toolset)


def unpacked(bundle: ToolsetBundle) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(bundle.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def meaning(house: Application) -> Any:
    """A toolset of the board, but for who brought it, when, and where its files lie."""
    decided = policy(house).decisions
    rows = decided.manifest_overrides
    (own,) = (each.connection for each in decided.servers.values() if isinstance(each.connection, OwnTools))
    folder = str(house.installer.files.folder(MINE, own.digest))

    def placeless(connection: object) -> object:
        if isinstance(connection, Stdio):
            cwd = (connection.cwd or "").replace(folder, ".")
            return (connection.command, connection.args, dict(connection.env), cwd)
        return connection

    return (
        {id: (each.name, each.version, each.description, each.user_mcp) for id, each in decided.toolsets.items()},
        {
            str(key): (placeless(each.connection), each.trust, each.limit, each.timeouts, each.starts, each.protocol)
            for key, each in decided.servers.items()
        },
        sorted((str(row.target), str([(name, getattr(row, name)) for name in row.fields_set])) for row in rows),
        decided.files,
    )


@pytest.mark.behaviour("toolsets.export_without_secrets")
async def test_no_secret_is_in_an_export(tmp_path: Path) -> None:
    """Weakness 12: headers were exported as they are."""
    servers = [
        echo(env={"GITHUB_TOKEN": PLANTED["env"], "LOG": "debug"}),
        {
            "id": "far",
            "url": f"http://me:{PLANTED['url']}@127.0.0.1:1/mcp",
            "headers": {"X-Api-Key": PLANTED["header"]},
        },
        {"id": "args", "command": "x", "args": ["--token", PLANTED["arg"], "--name", "kept"], "env": {"A": "${KEPT}"}},
    ]
    said = manifest(mcp_servers=servers, secrets=["API_KEY"])
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        await brought(house, laid_out(tmp_path / "mine", said))
        await house.installer.save_secret(MINE, "API_KEY", PLANTED["set"], LOCAL_PRINCIPAL)
        bundle = await export(house)
    files = unpacked(bundle)
    assert [name for name, value in PLANTED.items() if any(value.encode() in text for text in files.values())] == []
    text = files["toolset.yaml"].decode()
    assert all(kept in text for kept in ("${KEPT}", "debug", "--name", "API_KEY"))
    assert len(bundle.secrets) == 4
    async with housed(tmp_path / "other", lambda key, id: False) as house:
        (tmp_path / "again.zip").write_bytes(bundle.content)
        found = await brought(house, tmp_path / "again.zip")
        assert {*bundle.secrets, "API_KEY"} == {*found.own.secrets}
        assert (await export(house)).content == bundle.content


@pytest.mark.behaviour("toolsets.export_without_secrets", "toolsets.export_tells", "bundle.private_files")
async def test_an_export_tells_what_it_replaced_left_out_and_cannot_judge(tmp_path: Path) -> None:
    files = {
        "tools/words.py": f'{WORDS}\nKEY = "{PLANTED["env"]}"\nSENT = "Bearer {{token}}"\n',
        ".env": f"KEY={PLANTED['set']}\n",
    }
    said = manifest(
        mcp_servers=[
            echo(env={"PLAIN": PLANTED["set"], "WORDS": "${WORDS:-fine}", "AUTH": f"${{AUTH:-{PLANTED['set']}}}"}),
            {
                "id": "far",
                "name": PLANTED["url"],
                "url": "http://127.0.0.1:1/mcp",
                "headers": {"X-Custom": f"k-${{MINE}} {PLANTED['header']}"},
            },
        ],
        category=PLANTED["env"],
    )
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        found = await brought(house, laid_out(tmp_path / "mine", said, files))
        left_out = [warning for warning in found.warnings if warning.startswith(".env")]
        bundle = await export(house)
        linked = await brought(house, tmp_path / "mine", link=True)
        assert (await export(house)).content == bundle.content
    told = ".env is left out: files of this name usually hold secrets. What your tools need, name under secrets."
    assert (left_out, [warning for warning in linked.warnings if ".env" in warning]) == ([told], [told])
    assert bundle.secrets == {
        "PLAIN": ("echo: env.PLAIN",),
        "X_CUSTOM": ("far: headers.X-Custom",),
        "FAR_X_CUSTOM": ("far: headers.X-Custom",),
    }
    assert (bundle.dropped_parts, bundle.possible_secrets) == (
        ("echo: env.AUTH", "mine: category"),
        ("tools/words.py:10",),
    )
    packed = unpacked(bundle)
    assert sorted(packed) == ["tools/words.py", "toolset.yaml"]
    text = packed["toolset.yaml"].decode()
    assert [name for name, value in PLANTED.items() if value in text] == []
    assert "X-Custom: ${X_CUSTOM}${MINE} ${FAR_X_CUSTOM}\n" in text
    assert "WORDS: ${WORDS:-fine}\n" in text


@pytest.mark.behaviour("toolsets.export_round_trip")
async def test_an_export_without_secrets_is_the_bundle_it_came_from(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest(mcp_servers=[echo()]))
    remarked = f"# ours, with love\nlicense: MIT\nauthor: Ada\n{(folder / 'toolset.yaml').read_text()}"
    (folder / "toolset.yaml").write_text(remarked)
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        await brought(house, zipped(folder, top="mine-1/"))
        bundle, again = await export(house), await export(house)
        assert (bundle.name, bundle.content) == ("mine-1.0.0.zip", again.content)
        assert unpacked(bundle) == {"tools/words.py": WORDS.encode(), "toolset.yaml": remarked.encode()}


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
WORDS_OF = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Zl", "Zp")), max_size=20).filter(
    lambda text: scalar_kind(text) is ScalarKind.TEXT or yaml.safe_dump(text)[0] in "'\""
)
"""The library that these tests write YAML with follows its former version, where 0E0 is no number."""
SERVERS = st.lists(
    st.one_of(
        st.builds(
            lambda id, args, env: {"id": id, "command": "server", "args": args, "env": env},
            NAMES,
            st.lists(st.sampled_from(["-v", "a b", "${NAME:-x}", "ü", ""]), max_size=3),
            st.dictionaries(st.sampled_from(["MODE", "LOG"]), st.sampled_from(["debug", "${MODE}", "1", "${A:-b}"])),
        ),
        st.builds(
            lambda id, transport: {"id": id, "url": "http://127.0.0.1:9/mcp", "transport": transport},
            NAMES,
            st.sampled_from(["http", "sse"]),
        ),
    ),
    max_size=3,
    unique_by=lambda server: str(server["id"]),
)
OVERRIDES = st.dictionaries(
    st.sampled_from(["shout", "*:read_*", "mine:*"]),
    st.fixed_dictionaries(
        {},
        optional={
            "name_override": WORDS_OF.filter(str.strip),
            "requires_confirmation": st.booleans(),
            "confirmation": st.sampled_from(("in_client", "ticket")),
        },
    ).filter(bool),
)


@pytest.mark.behaviour("toolsets.export_round_trip")
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(servers=SERVERS, overrides=OVERRIDES, description=WORDS_OF, assets=st.dictionaries(NAMES, st.text(), max_size=3))
def test_what_is_exported_and_imported_again_is_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    servers: list[dict[str, Any]],
    overrides: dict[str, dict[str, Any]],
    description: str,
    assets: dict[str, str],
) -> None:
    async def there_and_back() -> None:
        tmp = tmp_path_factory.mktemp("trip")
        said = manifest(
            mcp_servers=servers,
            description=description,
            tool_overrides=[{"tool_id": target, **fields} for target, fields in overrides.items()],
        )
        files = {"tools/words.py": WORDS, **{f"assets/{name}": text for name, text in assets.items()}}
        async with housed(tmp / "one", lambda key, id: False) as house:
            await brought(house, laid_out(tmp / "mine", said, files))
            before, bundle = meaning(house), await export(house)
        (tmp / "bundle.zip").write_bytes(bundle.content)
        async with housed(tmp / "two", lambda key, id: False) as house:
            await brought(house, tmp / "bundle.zip")
            assert meaning(house) == before
            assert (await export(house)).content == bundle.content

    anyio.run(there_and_back)


async def test_a_server_that_was_added_alone_is_exported_as_a_toolset(tmp_path: Path) -> None:
    """There it had no folder, and to export it ended in an error."""
    async with housed(tmp_path / "data", lambda key, id: False) as house:
        alone = server(
            ServerKey(MINE, ServerId("mine")), connection=Stdio("server", ("-v",), {"TOKEN": PLANTED["env"]})
        )
        await does(house, AddServer(alone, toolset("mine")))
        bundle = await export(house)
        assert PLANTED["env"].encode() not in unpacked(bundle)["toolset.yaml"]
        (tmp_path / "alone.zip").write_bytes(bundle.content)
    async with housed(tmp_path / "other", lambda key, id: False) as house:
        await brought(house, tmp_path / "alone.zip")
        assert [str(key) for key in policy(house).servers] == ["mine", "mine~mine"]
        assert policy(house).toolsets[MINE].version == ""


TELLS = '''\
from pegboard.tools import ToolContext


def tell(context: ToolContext) -> str:
    """The secret."""
    return context.secrets["API_KEY"][::-1]
'''


@pytest.mark.behaviour("toolsets.secrets")
async def test_a_secret_reaches_the_functions_and_servers_of_its_toolset(tmp_path: Path) -> None:
    said = manifest(tool("tell"), secrets=["API_KEY"], mcp_servers=[echo(env={"FROM_SECRET": "<${API_KEY}>"})])
    data = tmp_path / "data"
    async with housed(data) as house:
        await brought(house, laid_out(tmp_path / "mine", said, {"tools/words.py": TELLS}))
        why = "the secret API_KEY is not set. Run: pegboard toolset secrets set mine API_KEY"
        board = house.gateway.board
        with anyio.fail_after(60), board.changes.subscribe() as bell:
            while [getattr(word.health, "why", "") for word in board.catalogue.listings.values()] != [why, why]:
                await bell.wait()
        await house.installer.save_secret(MINE, "API_KEY", "open sesame", LOCAL_PRINCIPAL)
        await until_open(house, "mine:tell", "mcp:mine~echo:env")
        assert await called(house, "tell") == "emases nepo"
        assert "<open sesame>" in await called(house, "env", name="FROM_SECRET")
    with sqlite3.connect(data / "pegboard.db") as database:
        assert [name for (name,) in database.execute("select name from secrets")] == ["toolset/mine/API_KEY"]
    assert b"open sesame" not in (data / "pegboard.db").read_bytes()
    async with housed(data) as house:
        await until_open(house, "mine:tell")
        assert await called(house, "tell") == "emases nepo"


@pytest.mark.behaviour("toolsets.secrets")
async def test_a_secret_may_be_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = manifest(tool("tell"), secrets=["API_KEY"])
    monkeypatch.setenv("ELSEWHERE", "abc")
    async with housed(tmp_path / "data") as house:
        await brought(house, laid_out(tmp_path / "mine", said, {"tools/words.py": TELLS}))
        await house.installer.save_secret(MINE, "API_KEY", "${ELSEWHERE}", LOCAL_PRINCIPAL)
        await until_open(house, "mine:tell")
        assert await called(house, "tell") == "cba"
        with pytest.raises(ValueError, match="looks like a reference and is none"):
            await house.installer.save_secret(MINE, "API_KEY", "a${b", LOCAL_PRINCIPAL)


@pytest.mark.behaviour("toolsets.removal_leaves_nothing")
async def test_a_removed_toolset_leaves_nothing(tmp_path: Path) -> None:
    """Weakness 5: a removed server stayed as a ghost."""
    data = tmp_path / "data"
    said = manifest(secrets=["API_KEY"], workspace=True, mcp_servers=[echo()], tool_overrides=[
        {"tool_id": "shout", "name_override": "Loud"}
    ])  # fmt: skip
    # Servers that other tests of this process left running, such as a database, are none of the toolset's.
    others = set(psutil.Process().children(recursive=True))
    async with housed(data) as house:
        await brought(house, laid_out(tmp_path / "mine", said))
        await house.installer.save_secret(MINE, "API_KEY", "x", LOCAL_PRINCIPAL)
        await until_open(house, "mine:shout", "mcp:mine~echo:echo")
        assert await called(house, "shout", text="a") == "A"
        assert set(psutil.Process().children(recursive=True)) > others
        house.installer.files.workspace(MINE).mkdir(parents=True, exist_ok=True)
        await does(house, SetSwitch(SHOUT, False))
        assert await house.installer.remove(MINE, LOCAL_PRINCIPAL, keep_workspace=False) == ()
        board = house.gateway.board
        with anyio.fail_after(60), board.changes.subscribe() as bell:
            while set(psutil.Process().children(recursive=True)) - others or board.catalogue.listings:
                with anyio.move_on_after(0.2):
                    await bell.wait()
        decided = policy(house).decisions
        assert (decided.toolsets, decided.servers, decided.files, decided.manifest_overrides) == ({}, {}, {}, ())
        assert (decided.switches, decided.approvals, decided.first_seen, decided.trust) == ({}, {}, {}, {})
    assert [path for path in data.rglob("*") if path.is_dir() and path.name not in ("toolsets", "workspaces")] == []
    with sqlite3.connect(data / "pegboard.db") as database:
        for table in ("toolsets", "toolset_files", "tools", "toolset_mcp_servers", "tool_overrides", "secrets"):
            assert database.execute(f"select count(*) from {table}").fetchone() == (0,), table


@pytest.mark.behaviour("toolsets.secrets")
async def test_a_secret_that_another_process_sets_reaches_what_runs(tmp_path: Path) -> None:
    module = (
        "from pegboard.tools import ToolContext\n\n\n"
        "def shout(context: ToolContext) -> str:\n    return context.secrets['API_KEY']\n"
    )
    folder = laid_out(tmp_path / "mine", manifest(secrets=["API_KEY"]), {"tools/words.py": module})
    async with housed(tmp_path / "data", follow=True) as house:
        await brought(house, folder)
        board = house.gateway.board
        for value in ("first", "second"):
            async with housed(tmp_path / "data", lambda key, id: False) as other:
                await other.installer.save_secret(MINE, "API_KEY", value, LOCAL_PRINCIPAL)
            with anyio.fail_after(PATIENCE), board.changes.subscribe() as bell:
                while await called(house, "mine:shout") != value:
                    await bell.wait()
        async with housed(tmp_path / "data", lambda key, id: False) as other:
            await other.installer.delete_secret(MINE, "API_KEY", LOCAL_PRINCIPAL)
        with anyio.fail_after(PATIENCE), board.changes.subscribe() as bell:
            while statuses(house) != {"mine:shout": "server_unavailable"}:
                await bell.wait()


@pytest.mark.behaviour("toolsets.linked")
async def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "mine", manifest())
    async with housed(tmp_path / "data") as house:
        found = await brought(house, folder, link=True)
        assert found.own.linked == str(folder)
        await until_open(house, "mine:shout")
        assert await called(house, "shout", text="a") == "A"
        (folder / "tools" / "words.py").write_text(WORDS.replace(".upper()", ".upper() + '!'"))
        with anyio.fail_after(60):
            while await called(house, "shout", text="a") != "A!":
                await anyio.lowlevel.checkpoint()
        (folder / "tools" / "words.py").write_text(WORDS.replace("loudly", "very loudly"))
        board = house.gateway.board
        with anyio.fail_after(60), board.changes.subscribe() as bell:
            while statuses(house) != {"mine:shout": "pending_approval"}:
                await bell.wait()
        assert [*(tmp_path / "data" / "toolsets").glob("mine/*")] == []


@pytest.mark.slow
@pytest.mark.behaviour("toolsets.progress")
async def test_a_bundle_of_many_files_tells_how_far_it_is(tmp_path: Path) -> None:
    files = {"tools/words.py": WORDS, **{f"assets/{n // 100}/{n}.txt": str(n) for n in range(2000)}}
    bundle = zipped(laid_out(tmp_path / "mine", manifest(), files))
    told: list[tuple[int, int]] = []
    async with housed(tmp_path / "data") as house:

        class Heard(ImportStep):
            def count(self, done: int, total: int) -> None:
                told.append((done, total))

        with anyio.fail_after(60):
            await house.installer.import_toolset(ImportRequest(bundle), LOCAL_PRINCIPAL, Heard())
        assert told == [(n, 2002) for n in range(1, 2003)]
        assert len(policy(house).decisions.files[MINE]) == 2002
