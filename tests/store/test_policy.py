"""Saving a policy: all or nothing, one version after the other, whoever else saves at the same time."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import anyio
import pytest
from tests.store.engines import Engine, Sqlite, now
from tests.store.processes import finished

from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import AddServer, RemoveServer, SetOverride, SetSwitch, apply_command
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.server import DeclaredAt, InstalledBy, Server, Stdio
from pegboard.core.model.tool import ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Approval, DeclaredSettings, Policy, PolicyDecisions, Switch
from pegboard.ports.audit import Audit
from pegboard.ports.stores import PolicyStore, SavedVersion, StaleVersion
from pegboard.store.database import StoreError
from pegboard.store.open import Store, open_store
from pegboard.store.policy import PolicyChange

pytestmark = pytest.mark.anyio

AT = datetime(2026, 7, 28, 12, 30, 15, 123456, tzinfo=UTC)
DEV = ToolsetId("dev")
KEY = ServerKey(DEV, ServerId("github"))
SERVER = Server(KEY, Stdio("mcp-github", ("--stdio",), {"TOKEN": "${GITHUB_TOKEN}"}), InstalledBy(LOCAL_PRINCIPAL, AT))
TOOLSET = Toolset(DEV, InstalledBy(LOCAL_PRINCIPAL, AT), "Development", "1.0", "What developers use")
TOOL = ToolId(KEY, "create_issue")


def switched(before: PolicyDecisions, note: str) -> PolicyDecisions:
    return replace(before, version=before.version + 1, switches={DEV: Switch(False, LOCAL_PRINCIPAL, AT, note)})


async def saved(store: Store, before: PolicyDecisions, after: PolicyDecisions, what: str = "test") -> PolicyDecisions:
    assert await store.policy.save(before, after, by=LOCAL_PRINCIPAL, what=what, at=AT) == SavedVersion(after.version)
    return after


async def rows(engine: Engine) -> Mapping[str, int]:
    tables = ("toolsets", "toolset_mcp_servers", "tool_overrides", "switches", "approvals", "policy_versions")
    return {table: (await engine.run(f"SELECT count(*) FROM {table}"))[0][0] for table in tables}


async def test_the_store_is_what_the_ports_ask_for(store: Store) -> None:
    policy: PolicyStore = store.policy
    audit: Audit = store.audit
    assert (await policy.load(), audit.dropped_count) == (PolicyDecisions(), 0)


@pytest.mark.behaviour("store.policy_versions", "store.same_contract")
async def test_each_change_is_a_version_and_the_history_tells_who_what_and_when(store: Store) -> None:
    first = await saved(store, PolicyDecisions(), switched(PolicyDecisions(), "one"), "switch dev off")
    second = switched(first, "two")
    await store.policy.save(first, second, by=PrincipalId("ann\x00"), what="again", at=AT)
    assert await store.policy.load() == second
    assert await store.policy.history() == [
        PolicyChange(2, AT, PrincipalId("ann\x00"), "again"),
        PolicyChange(1, AT, LOCAL_PRINCIPAL, "switch dev off"),
    ]
    assert await store.policy.history(before=2, limit=5) == [PolicyChange(1, AT, LOCAL_PRINCIPAL, "switch dev off")]


async def test_what_people_do_one_after_the_other_is_there_after_opening_again(engine: Engine) -> None:
    commands: list[Command] = [
        AddServer(SERVER, TOOLSET),
        SetSwitch(TOOL, enabled=False, note="too noisy"),
        SetOverride(Override(DEV, TOOL, renderer="markdown", renderer_config={"wrap": True})),
        SetSwitch(TOOL, enabled=True),
    ]
    policy = Policy()
    async with open_store(engine.url, clock=now) as store:
        for command in commands:
            after = apply_command(policy, command, LOCAL_PRINCIPAL, AT)
            assert isinstance(after, Policy)
            await saved(store, policy.decisions, after.decisions)
            policy = after
    async with open_store(engine.url, clock=now) as store:
        assert await store.policy.load() == policy.decisions
        removed = apply_command(policy, RemoveServer(KEY), LOCAL_PRINCIPAL, AT)
        assert isinstance(removed, Policy)
        await saved(store, policy.decisions, removed.decisions)
        assert await store.policy.load() == PolicyDecisions(version=5)
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
    declared = DeclaredSettings(
        servers={KEY: replace(SERVER, origin=DeclaredAt("pegboard.yaml", 3))},
        toolsets={DEV: replace(TOOLSET, origin=DeclaredAt("pegboard.yaml", 3))},
    )
    decided = PolicyDecisions(
        1,
        switches={KEY: Switch(False, LOCAL_PRINCIPAL, AT)},
        approvals={TOOL: Approval(ToolSpec("create_issue"), LOCAL_PRINCIPAL, AT)},
    )
    await saved(store, PolicyDecisions(), decided)
    policy = Policy(declared, await store.policy.load())
    assert (policy.decisions, policy.servers) == (decided, declared.servers)


@pytest.mark.behaviour("providers.mcp_only_connection_is_stored")
async def test_of_an_installed_server_the_connection_is_stored_and_no_tool(store: Store, engine: Engine) -> None:
    await saved(store, PolicyDecisions(), PolicyDecisions(1, servers={KEY: SERVER}, toolsets={DEV: TOOLSET}))
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
    first = await saved(store, PolicyDecisions(), switched(PolicyDecisions(), "first"))
    late = replace(switched(PolicyDecisions(), "late"), servers={KEY: SERVER}, toolsets={DEV: TOOLSET})
    before = await rows(engine)
    assert await store.policy.save(PolicyDecisions(), late, by=LOCAL_PRINCIPAL, what="late", at=AT) == StaleVersion(1)
    assert (await store.policy.load(), await rows(engine)) == (first, before)


@pytest.mark.behaviour("store.optimistic_concurrency")
async def test_of_many_who_save_at_once_exactly_one_succeeds(store: Store, engine: Engine) -> None:
    outcomes: dict[str, SavedVersion | StaleVersion] = {}

    async def save(by: Store, name: str) -> None:
        outcomes[name] = await by.policy.save(
            PolicyDecisions(), switched(PolicyDecisions(), name), by=LOCAL_PRINCIPAL, what=name, at=AT
        )

    async with open_store(engine.url, clock=now) as other, anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(save, other if number % 2 else store, f"saver {number}")
    (winner,) = [name for name, outcome in outcomes.items() if outcome == SavedVersion(1)]
    assert sorted(map(repr, outcomes.values())) == [repr(SavedVersion(1)), *[repr(StaleVersion(1))] * 9]
    assert await store.policy.load() == switched(PolicyDecisions(), winner)


@pytest.mark.behaviour("store.kill_loses_no_policy")
async def test_a_change_that_fails_halfway_leaves_nothing_behind(store: Store, engine: Engine) -> None:
    first = await saved(store, PolicyDecisions(), switched(PolicyDecisions(), "first"))
    await engine.run("ALTER TABLE grants RENAME TO elsewhere")
    broken = replace(switched(first, "second"), grants={LOCAL_PRINCIPAL: frozenset({DEV})})
    with pytest.raises(StoreError, match="grants"):
        await store.policy.save(first, broken, by=LOCAL_PRINCIPAL, what="second", at=AT)
    await engine.run("ALTER TABLE elsewhere RENAME TO grants")
    assert await store.policy.load() == first
    await saved(store, first, broken)
    assert await store.policy.load() == broken


async def test_a_server_without_its_toolset_is_refused_whole(store: Store) -> None:
    orphan = PolicyDecisions(1, servers={KEY: SERVER}, switches={KEY: Switch(False, LOCAL_PRINCIPAL, AT)})
    with pytest.raises(StoreError, match=r"refused version 1.*Nothing of it was kept"):
        await store.policy.save(PolicyDecisions(), orphan, by=LOCAL_PRINCIPAL, what="orphan", at=AT)
    assert await store.policy.load() == PolicyDecisions()


async def test_a_version_that_does_not_grow_is_a_mistake_of_the_caller(store: Store) -> None:
    with pytest.raises(ValueError, match="Version 0 cannot follow version 0"):
        await store.policy.save(PolicyDecisions(), PolicyDecisions(), by=LOCAL_PRINCIPAL, what="nothing", at=AT)


async def test_a_save_writes_only_the_rows_that_differ(store: Store, engine: Engine) -> None:
    tools = {
        ToolId(KEY, f"tool{number}"): Approval(ToolSpec(f"tool{number}"), LOCAL_PRINCIPAL, AT) for number in range(1000)
    }
    first = await saved(store, PolicyDecisions(), PolicyDecisions(1, approvals=tools))
    # A copy that nobody may touch: whoever rewrites an untouched row fails.
    if isinstance(engine, Sqlite):
        refuse = "BEGIN SELECT RAISE(ABORT, 'rewritten'); END"
        await engine.run(f"CREATE TRIGGER frozen BEFORE DELETE ON approvals WHEN OLD.tool_id != '{TOOL}' {refuse}")
    else:
        await engine.run("CREATE RULE frozen AS ON DELETE TO approvals DO INSTEAD NOTHING")
    changed = {**tools, TOOL: Approval(ToolSpec("create_issue"), LOCAL_PRINCIPAL, AT)}
    second = await saved(store, first, PolicyDecisions(2, approvals=changed))
    assert await store.policy.load() == second


async def test_loading_again_reads_only_the_specs_that_changed(store: Store, engine: Engine) -> None:
    other = ToolId(KEY, "close_issue")
    approvals = {tool: Approval(ToolSpec(tool.name), LOCAL_PRINCIPAL, AT) for tool in (TOOL, other)}
    await saved(store, PolicyDecisions(), PolicyDecisions(1, approvals=approvals))
    first = await store.policy.load()
    changed = {**approvals, other: Approval(ToolSpec("close_issue", description="closes it"), LOCAL_PRINCIPAL, AT)}
    async with open_store(engine.url, clock=now) as elsewhere:
        await saved(elsewhere, PolicyDecisions(1, approvals=approvals), PolicyDecisions(2, approvals=changed))
    second = await store.policy.load()
    assert second == PolicyDecisions(2, approvals=changed)
    assert second.approvals[TOOL].spec is first.approvals[TOOL].spec


async def test_a_caller_that_gives_up_during_a_save_leaves_the_store_whole_and_usable(store: Store) -> None:
    before = PolicyDecisions()
    for attempt in range(30):
        with anyio.move_on_after(0.0005 * attempt):
            await store.policy.save(before, switched(before, f"try {attempt}"), by=LOCAL_PRINCIPAL, what="cut", at=AT)
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
