"""Rows that cannot be read: the policy still loads, and what each row may have closed stays closed."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.boards import ME, NOW
from tests.core.imports import FETCH, ID, KIT, installing, own, own_tool, server
from tests.store.engines import Engine, Sqlite, now

from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import ApproveTool, SetSwitch, apply_command
from pegboard.core.commands.row_repair import DeleteRows
from pegboard.core.commands.toolset_install import RemoveToolset
from pegboard.core.model.confirmation import ConfirmationMode, PrincipalConfirmation
from pegboard.core.model.ids import BuiltinKey, PrincipalId, ToolId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.principals import ApiToken, TokenScope
from pegboard.core.model.server import InstalledBy, Trust
from pegboard.core.model.tool import Fingerprint, ToolSpec
from pegboard.core.model.toolset import FileKind, ToolsetFile
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, Consent, Policy, PolicyDecisions, Switch
from pegboard.core.policy.unreadable_rows import (
    LocksBoard,
    LocksTools,
    RevokesGrants,
    RevokesPermission,
    UnreadableEffect,
)
from pegboard.ports.stores import SavedVersion
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

TOOL = ToolId(FETCH, "fetch")
ADD = own_tool("add")
BOB = PrincipalId("bob")
SPEC = ToolSpec("fetch", description="fetches")
EVERY_ROW = PolicyDecisions(
    switches={
        TOOL: Switch(False, ME, NOW),
        FETCH: Switch(False, ME, NOW),
        ID: Switch(False, ME, NOW),
        ToolId(BuiltinKey(), "tool_search"): Switch(False, ME, NOW),
    },
    approvals={TOOL: Approval(SPEC, ME, NOW)},
    first_seen={FETCH: NOW},
    overrides=(Override(ID, TOOL, enabled=False), Override(ID, Pattern("*", "a*"), requires_confirmation=True)),
    trust={FETCH: Trust.STRICT},
    grants={BOB: frozenset({ID})},
    consents={"c1": Consent("c1", TOOL, Fingerprint("f"), BOB, None, ME, NOW, None)},
    confirmations={
        BOB: PrincipalConfirmation(False, ConfirmationMode.TICKET, InstalledBy(ME, NOW), InstalledBy(ME, NOW))
    },
    tokens={"t1": ApiToken("t1", BOB, "laptop", "peg_", b"0" * 32, frozenset({TokenScope.CALL}), ME, NOW)},
)


async def filled(store: Store) -> PolicyDecisions:
    """One row in every table, and more where rows differ in kind."""
    whole = installing(own("add", commands=("grep",)), server(FETCH), files=FILES)
    after = apply_command(Policy(decisions=EVERY_ROW), whole, ME, NOW)
    assert isinstance(after, Policy), after
    assert await store.policy.save(PolicyDecisions(), after.decisions, by=ME, what="test", at=now()) == SavedVersion(1)
    assert await store.policy.load() == after.decisions
    return after.decisions


FILES = (
    ToolsetFile("tools/math.py", FileKind.PYTHON, "1" * 64, 3),
    ToolsetFile("toolset.yaml", FileKind.CONFIG, "0" * 64, 120),
)
OF_TOOL = f"tool_id = '{TOOL}' AND kind = 'mcp_tool'"

CASES: list[tuple[str, str, UnreadableEffect]] = [
    ("approvals", "spec = substr(spec, 1, 20)", LocksTools((TOOL,))),
    ("approvals", "spec = replace(spec, 'input_schema', 'inputs')", LocksTools((TOOL,))),
    ("approvals", "at = 'yesterday'", LocksTools((TOOL,))),
    ("approvals", "at = '2026-01-02T03:04:05'", LocksTools((TOOL,))),
    ("approvals", "kind = 'galaxy'", LocksTools((TOOL,))),
    ("approvals", "tool_id = 'mcp:kit~'", RevokesPermission()),
    ("switches/mcp_tool", "at = ''", LocksTools((TOOL,))),
    ("switches/mcp_tool", "kind = 'galaxy'", LocksTools((TOOL,))),
    ("switches/mcp_tool", "kind = 'pattern'", LocksTools((TOOL,))),
    ("switches/mcp_tool", "target = 'mcp:kit~'", LocksBoard()),
    ("switches/mcp_tool", "whole = 'mcp:kit~fetch:other'", LocksBoard()),
    ("switches/mcp_tool", "target = 'garbage'", LocksBoard()),
    ("switches/mcp_tool", "target = 'mcp:kit~fetch:'", LocksBoard()),
    ("switches/server", "at = ''", LocksTools((FETCH,))),
    ("switches/server", "target = 'garbage'", LocksBoard()),
    ("switches/server", "target = 'KIT~fetch'", LocksBoard()),
    ("switches/toolset", "at = ''", LocksTools((ID,))),
    ("switches/toolset", "kind = ''", LocksTools((ToolId(BuiltinKey(), ID), ID))),
    ("switches/builtin_tool", "target = ''", LocksBoard()),
    ("switches/builtin_tool", "at = ''", LocksTools((ToolId(BuiltinKey(), "tool_search"),))),
    ("tool_overrides/mcp_tool", "arguments = '{'", LocksTools((Override(ID, TOOL),))),
    ("tool_overrides/mcp_tool", "renderer_config = '[]'", LocksTools((Override(ID, TOOL),))),
    ("tool_overrides/mcp_tool", "tool_id = 'mcp:kit~fetch:'", LocksTools((ID,))),
    ("tool_overrides/pattern", "tool_id = ''", LocksTools((ID,))),
    ("tool_overrides/pattern", "tool_id = '::'", LocksTools((ID,))),
    ("tool_overrides/pattern", "origins = '[]'", LocksTools((Override(ID, Pattern("*", "a*")),))),
    ("tool_overrides/pattern", "kind = 'galaxy'", LocksTools((ID,))),
    ("tool_overrides/pattern", "toolset_id = '../x'", LocksBoard()),
    ("trust", "trust = 'blind'", LocksTools((FETCH,))),
    ("trust", "server_id = '~'", LocksBoard()),
    ("baselines", "at = ''", LocksTools((FETCH,))),
    ("baselines", "server_id = '~'", RevokesPermission()),
    ("grants", "toolsets = '{}'", RevokesGrants(BOB)),
    ("grants", "toolsets = '\"kit\"'", RevokesGrants(BOB)),
    ("grants", "whole = 'another'", RevokesGrants(None)),
    ("consents", "at = ''", RevokesPermission()),
    ("consents", "kind = 'server'", RevokesPermission()),
    ("consents", "until = 'soon'", RevokesPermission()),
    ("principal_confirmations", "confirmation = 'never'", RevokesPermission(BOB)),
    ("principal_confirmations", "origins = '[]'", RevokesPermission(BOB)),
    ("principal_confirmations", "whole = 'another'", RevokesPermission()),
    ("tool_overrides/pattern", "confirmation = 'never'", LocksTools((Override(ID, Pattern("*", "a*")),))),
    ("api_tokens", "scopes = '[\"root\"]'", RevokesPermission(BOB)),
    ("api_tokens", "sha256 = 'zz'", RevokesPermission(BOB)),
    ("toolset_mcp_servers", "connection = '{}'", LocksTools((FETCH,))),
    ("toolset_mcp_servers", 'tool_limit = \'{"all_but": "x"}\'', LocksTools((FETCH,))),
    ("toolset_mcp_servers", "trust = ''", LocksTools((FETCH,))),
    ("toolset_mcp_servers", "timeouts = '{\"start\": true}'", LocksTools((FETCH,))),
    ("toolset_own", "own = '{}'", LocksTools((KIT,))),
    ("tools/add", "spec = ''", LocksTools((ADD,))),
    ("tools/add", "spec = replace(spec, '\"add\"', '\"sub\"')", LocksTools((ADD,))),
    ("tools/add", "whole = 'other'", LocksTools((KIT,))),
    ("toolset_docker_containers", "image = '5'", LocksTools((KIT,))),
    ("toolset_files/tools/math.py", "kind = 'magic'", LocksTools((ID,))),
    ("toolsets", "origin = '7'", LocksTools((ID, FETCH, KIT))),
    ("toolsets", "brought = '{}'", LocksTools((ID, FETCH, KIT))),
]


def where(place: str) -> tuple[str, str]:
    table, _, rest = place.partition("/")
    column = {"tools": "tool_id", "toolset_files": "path"}.get(table, "kind")
    return table, f" WHERE {column} = '{rest}'" if rest else ""


@pytest.mark.parametrize(("place", "change", "effect"), CASES, ids=[f"{place} {change}" for place, change, _ in CASES])
@pytest.mark.behaviour("store.unreadable_row_locks")
async def test_an_unreadable_row_is_named_and_locks_what_it_is_about(
    store: Store, engine: Engine, place: str, change: str, effect: UnreadableEffect
) -> None:
    before = await filled(store)
    table, which = where(place)
    await engine.run(f"UPDATE {table} SET {change}{which}")
    loaded = await store.policy.load()
    (row,) = loaded.unreadable
    assert (row.row.table, row.effect) == (table, effect)
    assert row.why
    assert loaded.version == before.version
    # It can be deleted, with what means nothing without it, and then the policy is readable again.
    after = apply_command(Policy(decisions=loaded), DeleteRows((row.row,)), ME, NOW)
    assert isinstance(after, Policy), after
    assert isinstance(await store.policy.save(loaded, after.decisions, by=ME, what="repair", at=now()), SavedVersion)
    again = await store.policy.load()
    assert again.unreadable == ()
    assert again == after.decisions


ODD = [
    ("switches/mcp_tool", "is_on = 'no'", LocksTools((TOOL,))),
    ("switches/mcp_tool", "is_on = 2", LocksTools((TOOL,))),
    ("switches/mcp_tool", "note = x'00ff'", LocksTools((TOOL,))),
    ("switches/mcp_tool", "target = x'ff00'", LocksBoard()),
    ("approvals", "spec = cast(x'7b22c3' as text)", LocksTools((TOOL,))),
    ("approvals", "first_sight = 'x'", LocksTools((TOOL,))),
    ("grants", "principal = x'07'", RevokesGrants(None)),
    ("grants", "toolsets = x'00'", RevokesGrants(BOB)),
    ("tool_overrides/pattern", "place = 'first'", LocksTools((Override(ID, Pattern("*", "a*")),))),
    ("toolset_mcp_servers", "enabled = 'off'", LocksTools((FETCH,))),
    ("toolset_mcp_servers", "quarantined = ''", LocksTools((FETCH,))),
    ("toolsets", "enabled = 'nope'", LocksTools((ID, FETCH, KIT))),
    ("api_tokens", "principal = x'ff'", RevokesPermission(None)),
]


@pytest.mark.parametrize(("place", "change", "effect"), ODD, ids=[f"{place} {change}" for place, change, _ in ODD])
async def test_sqlite_holds_any_type_and_a_wrong_one_is_never_taken_for_a_yes(
    tmp_path: Path, place: str, change: str, effect: UnreadableEffect
) -> None:
    engine = Sqlite(tmp_path / "pegboard.db")
    async with open_store(engine.url, clock=now) as store:
        await filled(store)
        table, which = where(place)
        await engine.run(f"UPDATE {table} SET {change}{which}")
        loaded = await store.policy.load()
        (row,) = loaded.unreadable
        assert (row.row.table, row.effect) == (table, effect)
        after = apply_command(Policy(decisions=loaded), DeleteRows((row.row,)), ME, NOW)
        assert isinstance(after, Policy), after
        await store.policy.save(loaded, after.decisions, by=ME, what="repair", at=now())
        assert await store.policy.load() == after.decisions


async def done(store: Store, command: Command) -> PolicyDecisions:
    before = Policy(decisions=await store.policy.load())
    after = apply_command(before, command, ME, NOW)
    assert isinstance(after, Policy), after
    kept = await store.policy.save(before.decisions, after.decisions, by=ME, what="test", at=now())
    assert kept == SavedVersion(after.version)
    loaded = await store.policy.load()
    assert loaded == after.decisions
    return loaded


@pytest.mark.behaviour("store.unreadable_row_is_overwritten")
async def test_deciding_again_overwrites_the_row(store: Store, engine: Engine) -> None:
    await filled(store)
    await engine.run(f"UPDATE approvals SET spec = '{{' WHERE {OF_TOOL}")
    await engine.run("UPDATE switches SET at = '' WHERE kind = 'mcp_tool'")
    assert len((await store.policy.load()).unreadable) == 2
    after = await done(store, ApproveTool(TOOL, SPEC, SPEC.fingerprint))
    assert [row.row.table for row in after.unreadable] == ["switches"]
    assert after.approvals[TOOL].spec == SPEC
    after = await done(store, SetSwitch(TOOL, enabled=True))
    assert (after.unreadable, TOOL in after.switches) == ((), False)


async def test_importing_a_toolset_again_writes_all_of_its_rows_anew(store: Store, engine: Engine) -> None:
    before = await filled(store)
    for change in (
        "UPDATE toolset_docker_containers SET image = '5'",
        "UPDATE tools SET spec = '' WHERE tool_id = 'add'",
        "UPDATE toolset_mcp_servers SET connection = ''",
        "UPDATE toolset_files SET kind = ''",
    ):
        await engine.run(change)
    assert len((await store.policy.load()).unreadable) > 3
    after = await done(store, installing(own("add", commands=("grep",)), server(FETCH), files=FILES))
    assert after.unreadable == ()
    assert (after.files, set(after.servers)) == (before.files, set(before.servers))


async def test_a_toolset_is_removed_with_its_unreadable_rows(store: Store, engine: Engine) -> None:
    await filled(store)
    await engine.run("UPDATE tools SET spec = '' WHERE tool_id = 'add'")
    await engine.run("UPDATE toolset_files SET kind = '' WHERE path = 'toolset.yaml'")
    after = await done(store, RemoveToolset(ID))
    assert (after.unreadable, after.toolsets, after.servers) == ((), {}, {})


async def test_deleting_a_first_sight_that_cannot_be_read_makes_nothing_new_again(store: Store, engine: Engine) -> None:
    await filled(store)
    await engine.run("UPDATE baselines SET at = ''")
    loaded = await store.policy.load()
    assert loaded.was_seen(FETCH)
    after = await done(store, DeleteRows(tuple(row.row for row in loaded.unreadable)))
    assert after.was_seen(FETCH)


async def test_a_server_without_its_toolset_is_no_part_of_the_policy(store: Store, engine: Engine) -> None:
    await filled(store)
    await engine.run("UPDATE toolsets SET origin = '7'")
    loaded = await store.policy.load()
    (row,) = loaded.unreadable
    assert (loaded.servers, loaded.files) == ({}, {})
    assert {one.table for one in row.orphans} == {
        *("toolset_mcp_servers", "toolset_own", "tools", "toolset_docker_containers", "toolset_files")
    }


async def test_a_tool_whose_description_cannot_be_read_is_kept_to_be_shown_as_locked(
    store: Store, engine: Engine
) -> None:
    await filled(store)
    await engine.run("UPDATE tools SET spec = '' WHERE tool_id = 'add'")
    loaded = await store.policy.load()
    own = loaded.servers[ToolsetKey(ID)].connection
    assert sorted(one.name for one in own.specs) == ["add", "grep"]  # type: ignore[union-attr]
    assert replace(loaded, unreadable=()).unreadable_index.row_locking(ADD) is None
    assert loaded.unreadable_index.row_locking(ADD) == loaded.unreadable[0]
