"""Saving a policy: all or nothing, one version after the other, whoever else saves at the same time."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import anyio
import pytest
from tests.store.engines import Engine, Sqlite, now
from tests.store.processes import finished

from pegboard.core.commands import AddServer, Command, RemoveServer, SetOverride, ThrowSwitch, apply
from pegboard.core.ids import LOCAL, PrincipalId, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.override import Override
from pegboard.core.policy import Approval, Decided, Declared, Policy, Switch
from pegboard.core.server import DeclaredAt, InstalledBy, Server, Stdio
from pegboard.core.tool import ToolSpec
from pegboard.core.toolset import Toolset
from pegboard.ports import Audit, PolicyStore, Saved, Stale
from pegboard.store import Change, Store, StoreError, open_store

pytestmark = pytest.mark.anyio

AT = datetime(2026, 7, 28, 12, 30, 15, 123456, tzinfo=UTC)
DEV = ToolsetId("dev")
KEY = ServerKey(DEV, ServerId("github"))
SERVER = Server(KEY, Stdio("mcp-github", ("--stdio",), {"TOKEN": "${GITHUB_TOKEN}"}), InstalledBy(LOCAL, AT))
TOOLSET = Toolset(DEV, InstalledBy(LOCAL, AT), "Development", "1.0", "What developers use")
TOOL = ToolId(KEY, "create_issue")


def switched(before: Decided, note: str) -> Decided:
    return replace(before, version=before.version + 1, switches={DEV: Switch(False, LOCAL, AT, note)})


async def saved(store: Store, before: Decided, after: Decided, what: str = "test") -> Decided:
    assert await store.policy.save(before, after, by=LOCAL, what=what, at=AT) == Saved(after.version)
    return after


async def rows(engine: Engine) -> Mapping[str, int]:
    tables = ("toolsets", "toolset_mcp_servers", "tool_overrides", "switches", "approvals", "policy_versions")
    return {table: (await engine.run(f"SELECT count(*) FROM {table}"))[0][0] for table in tables}


async def test_the_store_is_what_the_ports_ask_for(store: Store) -> None:
    policy: PolicyStore = store.policy
    audit: Audit = store.audit
    assert (await policy.load(), audit.dropped) == (Decided(), 0)


@pytest.mark.behaviour("store.policy_versions", "store.same_contract")
async def test_each_change_is_a_version_and_the_history_tells_who_what_and_when(store: Store) -> None:
    first = await saved(store, Decided(), switched(Decided(), "one"), "switch dev off")
    second = switched(first, "two")
    await store.policy.save(first, second, by=PrincipalId("ann\x00"), what="again", at=AT)
    assert await store.policy.load() == second
    assert await store.policy.history() == [
        Change(2, AT, PrincipalId("ann\x00"), "again"),
        Change(1, AT, LOCAL, "switch dev off"),
    ]
    assert await store.policy.history(before=2, limit=5) == [Change(1, AT, LOCAL, "switch dev off")]


async def test_what_people_do_one_after_the_other_is_there_after_opening_again(engine: Engine) -> None:
    commands: list[Command] = [
        AddServer(SERVER, TOOLSET),
        ThrowSwitch(TOOL, on=False, note="too noisy"),
        SetOverride(Override(DEV, TOOL, renderer="markdown", renderer_config={"wrap": True})),
        ThrowSwitch(TOOL, on=True),
    ]
    policy = Policy()
    async with open_store(engine.url, clock=now) as store:
        for command in commands:
            after = apply(policy, command, LOCAL, AT)
            assert isinstance(after, Policy)
            await saved(store, policy.decided, after.decided)
            policy = after
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == policy.decided
        removed = apply(policy, RemoveServer(KEY), LOCAL, AT)
        assert isinstance(removed, Policy)
        await saved(store, policy.decided, removed.decided)
        assert await store.policy.load() == Decided(version=5)
    assert await rows(engine) == {
        "toolsets": 0,
        "toolset_mcp_servers": 0,
        "tool_overrides": 0,
        "switches": 0,
        "approvals": 0,
        "policy_versions": 5,
    }


@pytest.mark.behaviour("toolsets.decisions_cover_both_sources")
async def test_decisions_about_a_declared_server_are_kept_though_the_server_is_not(store: Store) -> None:
    declared = Declared(
        servers={KEY: replace(SERVER, origin=DeclaredAt("pegboard.yaml", 3))},
        toolsets={DEV: replace(TOOLSET, origin=DeclaredAt("pegboard.yaml", 3))},
    )
    decided = Decided(
        1,
        switches={KEY: Switch(False, LOCAL, AT)},
        approvals={TOOL: Approval(ToolSpec("create_issue"), LOCAL, AT)},
    )
    await saved(store, Decided(), decided)
    policy = Policy(declared, await store.policy.load())
    assert (policy.decided, policy.servers) == (decided, declared.servers)


@pytest.mark.behaviour("providers.mcp_only_connection_is_stored")
async def test_of_an_installed_server_the_connection_is_stored_and_no_tool(store: Store, engine: Engine) -> None:
    await saved(store, Decided(), Decided(1, servers={KEY: SERVER}, toolsets={DEV: TOOLSET}))
    assert await rows(engine) == {
        "toolsets": 1,
        "toolset_mcp_servers": 1,
        "tool_overrides": 0,
        "switches": 0,
        "approvals": 0,
        "policy_versions": 1,
    }
    stored = await engine.run("SELECT toolset_id, server_id, connection FROM toolset_mcp_servers")
    assert stored == [
        (
            "dev",
            "github",
            '{"command":"mcp-github","args":["--stdio"],"env":{"TOKEN":"${GITHUB_TOKEN}"},"cwd":null}',
        )
    ]


@pytest.mark.behaviour("store.optimistic_concurrency")
async def test_a_change_of_an_outdated_policy_is_refused_and_writes_nothing(store: Store, engine: Engine) -> None:
    first = await saved(store, Decided(), switched(Decided(), "first"))
    late = replace(switched(Decided(), "late"), servers={KEY: SERVER}, toolsets={DEV: TOOLSET})
    before = await rows(engine)
    assert await store.policy.save(Decided(), late, by=LOCAL, what="late", at=AT) == Stale(1)
    assert (await store.policy.load(), await rows(engine)) == (first, before)


@pytest.mark.behaviour("store.optimistic_concurrency")
async def test_of_many_who_save_at_once_exactly_one_succeeds(store: Store, engine: Engine) -> None:
    outcomes: dict[str, Saved | Stale] = {}

    async def save(by: Store, name: str) -> None:
        outcomes[name] = await by.policy.save(Decided(), switched(Decided(), name), by=LOCAL, what=name, at=AT)

    async with open_store(engine.url, clock=now) as other, anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(save, other if number % 2 else store, f"saver {number}")
    (winner,) = [name for name, outcome in outcomes.items() if outcome == Saved(1)]
    assert sorted(map(repr, outcomes.values())) == [repr(Saved(1)), *[repr(Stale(1))] * 9]
    assert await store.policy.load() == switched(Decided(), winner)


@pytest.mark.behaviour("store.kill_loses_no_policy")
async def test_a_change_that_fails_halfway_leaves_nothing_behind(store: Store, engine: Engine) -> None:
    first = await saved(store, Decided(), switched(Decided(), "first"))
    await engine.run("ALTER TABLE grants RENAME TO elsewhere")
    broken = replace(switched(first, "second"), grants={LOCAL: frozenset({DEV})})
    with pytest.raises(StoreError, match="grants"):
        await store.policy.save(first, broken, by=LOCAL, what="second", at=AT)
    await engine.run("ALTER TABLE elsewhere RENAME TO grants")
    assert await store.policy.load() == first
    await saved(store, first, broken)
    assert await store.policy.load() == broken


async def test_a_server_without_its_toolset_is_refused_whole(store: Store) -> None:
    orphan = Decided(1, servers={KEY: SERVER}, switches={KEY: Switch(False, LOCAL, AT)})
    with pytest.raises(StoreError, match=r"refused version 1.*Nothing of it was kept"):
        await store.policy.save(Decided(), orphan, by=LOCAL, what="orphan", at=AT)
    assert await store.policy.load() == Decided()


async def test_a_version_that_does_not_grow_is_a_mistake_of_the_caller(store: Store) -> None:
    with pytest.raises(ValueError, match="Version 0 cannot follow version 0"):
        await store.policy.save(Decided(), Decided(), by=LOCAL, what="nothing", at=AT)


async def test_a_save_writes_only_the_rows_that_differ(store: Store, engine: Engine) -> None:
    tools = {ToolId(KEY, f"tool{number}"): Approval(ToolSpec(f"tool{number}"), LOCAL, AT) for number in range(1000)}
    first = await saved(store, Decided(), Decided(1, approvals=tools))
    # A copy that nobody may touch: whoever rewrites an untouched row fails.
    if isinstance(engine, Sqlite):
        refuse = "BEGIN SELECT RAISE(ABORT, 'rewritten'); END"
        await engine.run(f"CREATE TRIGGER frozen BEFORE DELETE ON approvals WHEN OLD.tool_id != '{TOOL}' {refuse}")
    else:
        await engine.run("CREATE RULE frozen AS ON DELETE TO approvals DO INSTEAD NOTHING")
    changed = {**tools, TOOL: Approval(ToolSpec("create_issue"), LOCAL, AT)}
    second = await saved(store, first, Decided(2, approvals=changed))
    assert await store.policy.load() == second


async def test_loading_again_reads_only_the_specs_that_changed(store: Store, engine: Engine) -> None:
    other = ToolId(KEY, "close_issue")
    approvals = {tool: Approval(ToolSpec(tool.name), LOCAL, AT) for tool in (TOOL, other)}
    await saved(store, Decided(), Decided(1, approvals=approvals))
    first = await store.policy.load()
    changed = {**approvals, other: Approval(ToolSpec("close_issue", description="closes it"), LOCAL, AT)}
    async with open_store(engine.url, clock=now) as elsewhere:
        await saved(elsewhere, Decided(1, approvals=approvals), Decided(2, approvals=changed))
    second = await store.policy.load()
    assert second == Decided(2, approvals=changed)
    assert second.approvals[TOOL].spec is first.approvals[TOOL].spec


async def test_a_caller_that_gives_up_during_a_save_leaves_the_store_whole_and_usable(store: Store) -> None:
    before = Decided()
    for attempt in range(30):
        with anyio.move_on_after(0.0005 * attempt):
            await store.policy.save(before, switched(before, f"try {attempt}"), by=LOCAL, what="cut", at=AT)
        loaded = await store.policy.load()
        assert loaded.version in (before.version, before.version + 1)
        before = loaded
    await saved(store, before, switched(before, "last"))


@pytest.mark.slow
@pytest.mark.behaviour("store.optimistic_concurrency")
async def test_two_processes_that_save_at_once_lose_nothing_of_each_other(engine: Engine) -> None:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for name in ("ann", "bob"):
                tasks.start_soon(partial(finished, engine.url, "share", name, "20"))
    async with open_store(engine.url, clock=now) as store:
        decided = await store.policy.load()
        history = await store.policy.history()
    assert decided.version == 40
    assert {*decided.grants} == {PrincipalId(f"{name}{number}") for name in ("ann", "bob") for number in range(20)}
    assert sorted(change.by for change in history) == ["ann"] * 20 + ["bob"] * 20
