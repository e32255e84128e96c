"""Imported toolsets in the tables that the seed names, on both engines."""

from dataclasses import replace

import pytest
from sqlalchemy import select
from tests.core.boards import ME, NOW
from tests.core.imports import FETCH, ID, KIT, contained, installing, own, own_tool, server
from tests.store.engines import now

from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.toolset_install import RemoveToolset
from pegboard.core.model.server import Container, Trust
from pegboard.core.model.toolset import FileKind, ToolsetFile
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Policy
from pegboard.ports.stores import SavedVersion, StaleVersion
from pegboard.store import schema
from pegboard.store.installations import own_row
from pegboard.store.open import Store

FILES = (
    ToolsetFile("tools/math.py", FileKind.PYTHON, "1" * 64, 3),
    ToolsetFile("toolset.yaml", FileKind.CONFIG, "0" * 64, 120),
)


async def saved(store: Store, command: Command) -> Policy:
    before = Policy(decisions=await store.policy.load())
    after = apply_command(before, command, ME, NOW)
    assert isinstance(after, Policy), after
    kept = await store.policy.save(before.decisions, after.decisions, by=ME, what="test", at=now())
    assert kept == SavedVersion(after.version)
    return after


async def rows(store: Store, *tables: str) -> dict[str, list[tuple[object, ...]]]:
    """The first columns of each, by which one sees what it is about."""
    found: dict[str, list[tuple[object, ...]]] = {}
    async with store.policy._database.read_transaction() as connection:
        for name in tables:
            table = schema.metadata.tables[name]
            every = (await connection.execute(select(table))).all()
            found[name] = sorted(tuple(row)[:2] for row in every)
    return found


@pytest.mark.anyio
@pytest.mark.behaviour(
    "store.tables_of_python_toolsets", "providers.container_is_stored", "providers.python_entrypoint_is_stored"
)
async def test_an_imported_toolset_is_kept_in_the_tables_of_its_parts(store: Store) -> None:
    hidden = Override(ID, own_tool("add"), enabled=False)
    whole = installing(
        own("add", "sum", commands=("grep",)), server(FETCH), contained(), overrides=(hidden,), files=FILES
    )
    after = await saved(store, whole)
    assert await store.policy.load() == after.decisions
    tables = (
        *("toolsets", "toolset_own", "toolset_mcp_servers", "tools", "toolset_docker_containers", "toolset_files"),
        "tool_overrides",
    )
    assert await rows(store, *tables) == {
        "toolsets": [("kit", "Kit")],
        "toolset_own": [("kit", after_own(after))],
        "toolset_mcp_servers": [("kit", "box"), ("kit", "fetch")],
        "tools": [("kit", "add"), ("kit", "grep"), ("kit", "sum")],
        "toolset_docker_containers": [("kit", "busybox")],
        "toolset_files": [("kit", "tools/math.py"), ("kit", "toolset.yaml")],
        "tool_overrides": [("kit", "kit:add")],
    }
    async with store.policy._database.read_transaction() as connection:
        told = select(schema.tools.c.tool_id, schema.tools.c.entrypoint, schema.tools.c.container)
        kept = sorted(tuple(row) for row in (await connection.execute(told)).all())
    assert kept == [("add", "tools.math:add", None), ("grep", None, "busybox"), ("sum", "tools.math:sum", None)]
    emptied = await saved(store, RemoveToolset(ID))
    assert await store.policy.load() == emptied.decisions
    assert await rows(store, *tables) == {table: [] for table in tables}


def after_own(policy: Policy) -> object:
    return own_row(KIT, policy.decisions.servers[KIT])["own"]


@pytest.mark.anyio
@pytest.mark.behaviour("toolsets.import_again_keeps_decisions")
async def test_importing_again_is_one_change_of_the_store_and_keeps_what_people_decided(store: Store) -> None:
    first = await saved(store, installing(own("add", "sum"), contained(), files=FILES))
    mine = Override(ID, own_tool("add"), name_override="Plus")
    decided = replace(first.decisions, version=first.version + 1, trust={KIT: Trust.STRICT}, overrides=(mine,))
    assert await store.policy.save(first.decisions, decided, by=ME, what="test", at=now()) == SavedVersion(
        decided.version
    )
    again = await saved(
        store,
        installing(
            own("add", digest="b" * 64), version="2", overrides=(replace(mine, name_override="Add"),), files=FILES
        ),
    )
    read = await store.policy.load()
    assert read == again.decisions
    assert (read.trust, read.overrides) == ({KIT: Trust.STRICT}, (mine,))
    assert read.manifest_overrides == (replace(mine, name_override="Add", from_manifest=True),)
    assert read.servers.keys() == {KIT}


@pytest.mark.anyio
async def test_of_two_imports_at_a_time_one_is_whole_and_the_other_is_told(store: Store) -> None:
    before = Policy(decisions=await store.policy.load())
    one, other = (
        apply_command(before, installing(own(name), contained(f"{name}:1"), files=FILES), ME, NOW)
        for name in ("add", "sum")
    )
    assert isinstance(one, Policy)
    assert isinstance(other, Policy)
    assert await store.policy.save(before.decisions, one.decisions, by=ME, what="one", at=now()) == SavedVersion(1)
    assert await store.policy.save(before.decisions, other.decisions, by=ME, what="other", at=now()) == StaleVersion(1)
    read = await store.policy.load()
    assert read == one.decisions
    (box,) = (each.connection for each in read.servers.values() if isinstance(each.connection, Container))
    assert box.image.image == "add:1"
