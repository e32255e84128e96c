"""Unreadable rows beside the policy, tickets and last uses: they are skipped and named, and allow nothing."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.core.boards import ME, NOW
from tests.store.engines import Engine, Sqlite, now
from tests.store.test_tickets import AT, TOOL, UNTIL, want
from tests.store.test_unreadable import EVERY_ROW

from pegboard.core.calls.tickets import Ticket
from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.row_repair import DeleteRows
from pegboard.core.policy.policy import Policy, PolicyDecisions
from pegboard.core.policy.unreadable_rows import RevokesPermission, describe_effect, repair_command
from pegboard.ports.stores import SavedVersion
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio


async def fill(store: Store) -> None:
    """Two tickets, and one use of a token and of a standing permission each."""
    after = PolicyDecisions(version=1, consents=EVERY_ROW.consents, tokens=EVERY_ROW.tokens)
    assert await store.policy.save(PolicyDecisions(), after, by=ME, what="test", at=now()) == SavedVersion(1)
    for id in ("bad", "good"):
        assert isinstance(await store.tickets.claim(want(id, digest=id), AT, UNTIL), Ticket)
    await store.consents.save_uses({"c1": NOW})
    await store.token_uses.save_uses({"t1": NOW})


async def check(store: Store, table: str) -> None:
    """All of it is listed but the row, which is named, allows nothing and can be deleted."""
    loaded = await store.policy.load()
    (row,) = loaded.unreadable
    assert (row.row.table, row.effect, row.is_decision) == (table, RevokesPermission(), False)
    assert loaded.unreadable_index.row_locking(TOOL) is None
    assert repair_command(row) == "Delete the row: pegboard store check --repair"
    assert "depends on it" in describe_effect(row) or "No call runs by it" in describe_effect(row)
    expected = ["good"] if table == "tickets" else ["bad", "good"]
    assert sorted(one.id for one in await store.tickets.list_tickets()) == expected
    assert await store.consents.last_uses() == ({} if table == "consent_uses" else {"c1": NOW})
    assert await store.token_uses.last_uses() == ({} if table == "token_uses" else {"t1": NOW})
    if table == "tickets":
        assert await store.tickets.find("bad") is None
        assert isinstance(await store.tickets.claim(want("new", digest="bad"), AT, UNTIL), Ticket)
    after = apply_command(Policy(decisions=loaded), DeleteRows((row.row,)), ME, NOW)
    assert isinstance(after, Policy), after
    assert isinstance(await store.policy.save(loaded, after.decisions, by=ME, what="repair", at=now()), SavedVersion)
    assert (await store.policy.load()).unreadable == ()


@pytest.mark.behaviour("store.unreadable_record_is_skipped")
@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("tickets", "kind = 'galaxy'"),
        ("tickets", "tool_id = 'mcp:x'"),
        ("tickets", "state = 'bogus'"),
        ("tickets", "shown = '{'"),
        ("tickets", "scope = 'everything'"),
        ("tickets", "deadline = 9223372036854775807"),
        ("consent_uses", "used_at = 9223372036854775807"),
        ("token_uses", "used_at = 9223372036854775807"),
    ],
)
async def test_an_unreadable_ticket_or_use_is_skipped_and_named(
    store: Store, engine: Engine, table: str, change: str
) -> None:
    await fill(store)
    await engine.run(f"UPDATE {table} SET {change} WHERE id IN ('bad', 'c1', 't1')")
    await check(store, table)


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[tuple[Store, Sqlite]]:
    engine = Sqlite(tmp_path / "pegboard.db")
    async with open_store(engine.url, clock=now) as store:
        yield store, engine


@pytest.mark.behaviour("store.unreadable_record_is_skipped")
@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("tickets", "deadline = 'x'"),
        ("tickets", "client = x'ff'"),
        ("tickets", "note = cast(x'7b22c3' as text)"),
        ("consent_uses", "used_at = 'x'"),
        ("token_uses", "used_at = x'00'"),
    ],
)
async def test_sqlite_holds_any_type_in_tickets_and_uses_too(
    on_sqlite: tuple[Store, Sqlite], table: str, change: str
) -> None:
    store, engine = on_sqlite
    await fill(store)
    await engine.run(f"UPDATE {table} SET {change} WHERE id IN ('bad', 'c1', 't1')")
    await check(store, table)
