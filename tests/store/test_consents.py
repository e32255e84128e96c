"""Standing permissions in both engines: read as they are now, used without a write per call, revoked everywhere."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
from tests.core.boards import ME, NOW
from tests.gateway.asking import ASKS, DELETE, GITHUB, TOOLS, YES, asking, deletes
from tests.store.engines import Engine, now
from tests.support.asking import AskedClient
from tests.support.doubles import OK, MemoryAudit, MemoryStore, Providers
from tests.support.house import PATIENCE, Ticking, call_of, declared

from pegboard.core.calls.call import ConfirmationRefusal, MissingConfirmation
from pegboard.core.calls.secret_arguments import ArgumentDisplay
from pegboard.core.calls.tickets import REVOKED_NOTE, ConsentScope, TicketDecision, TicketState, build_new_ticket
from pegboard.core.commands.access import MakeToken, RemovePrincipal
from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import RevokeConsent, SetOverride
from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import CallId, PrincipalId, ProviderKey, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.principals import TokenScope as TokenScope
from pegboard.core.model.redaction import Redaction
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.model.server import InstalledBy, Server, Stdio
from pegboard.core.model.tool import Fingerprint, Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Consent, Policy, PolicyDecisions
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.store.open import Store, open_store
from pegboard.store.policy import SqlPolicyStore
from pegboard.store.secrets import key_of

pytestmark = pytest.mark.anyio

CONSENT = Consent("c1", DELETE, Fingerprint("f"), ME, None, ME, NOW, NOW + timedelta(days=30))


async def save(store: Store, *consents: Consent) -> None:
    before = await store.policy.load()
    after = PolicyDecisions(before.version + 1, consents={consent.id: consent for consent in consents})
    await store.policy.save(before, after, by=ME, what="test", at=now())


@pytest.mark.behaviour("confirmation.standing_revoked_everywhere", "store.same_contract")
async def test_a_permission_is_read_as_it_is_now(store: Store, engine: Engine) -> None:
    endless = Consent("c2", DELETE, Fingerprint("f"), ME, "cli 1", ME, NOW, None)
    assert await store.consents.find("c1") is None
    async with open_store(engine.url, clock=now) as other:
        await save(other, CONSENT, endless)
        assert (await store.consents.find("c1"), await store.consents.find("c2")) == (CONSENT, endless)
        await save(other)
        assert await store.consents.find("c1") is None


@pytest.mark.behaviour("confirmation.standing_ends", "store.same_contract")
async def test_a_row_without_an_end_is_not_read_as_unlimited(store: Store, engine: Engine) -> None:
    await save(store, CONSENT)
    await engine.run("UPDATE consents SET until = NULL")
    found = await store.consents.find("c1")
    assert found is not None
    assert found.until == NOW + timedelta(days=30)


@pytest.mark.behaviour("confirmation.standing_last_use", "store.same_contract")
async def test_the_last_use_of_each_permission_is_kept_and_makes_no_new_policy(store: Store, engine: Engine) -> None:
    await save(store, CONSENT)
    before = await store.policy.load()
    await store.consents.save_uses({})
    await store.consents.save_uses({"c1": NOW, "revoked meanwhile": NOW})
    await store.consents.save_uses({"c1": NOW + timedelta(minutes=1)})
    assert await store.consents.last_uses() == {"c1": NOW + timedelta(minutes=1)}
    assert await store.policy.load() == before
    await save(store)
    await store.consents.save_uses({"c1": NOW})
    assert await store.consents.last_uses() == {}, "what is known of a permission goes with it"


class Deaf:
    """The policy in a database, for a gateway that hears of no change by others."""

    def __init__(self, policy: SqlPolicyStore) -> None:
        self._policy = policy
        self.load = policy.load
        self.save = policy.save

    async def changes(self) -> AsyncGenerator[None, None]:
        await anyio.sleep_forever()
        yield


@asynccontextmanager
async def replica(engine: Engine, folder: Path) -> AsyncIterator[Gateway]:
    async with (
        open_store(engine.url, clock=now, key=key_of({}, folder)) as store,
        open_gateway(
            *(declared(GITHUB), Deaf(store.policy), MemoryAudit(), Providers(TOOLS), Ticking()),
            tickets=store.tickets,
            consents=store.consents,
        ) as gateway,
    ):
        assert await gateway.board.wait_until_started(PATIENCE)
        yield gateway


async def does(gateway: Gateway, command: Command) -> None:
    assert isinstance(await gateway.operator.execute(command, ME), Policy)


async def call(gateway: Gateway, repo: str) -> CallOutcome:
    return await gateway.caller.call(call_of("delete", {"repo": repo}, client="cli 1"), View())


@pytest.mark.behaviour("confirmation.standing_revoked_everywhere", "confirmation.standing_last_use")
async def test_what_is_revoked_at_one_gateway_is_asked_about_at_another_that_heard_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    with anyio.fail_after(PATIENCE):
        async with replica(engine, tmp_path) as one, replica(engine, tmp_path) as two:
            await does(one, ASKS)
            waiting = await call(one, "first")
            assert isinstance(waiting, ConfirmationRefusal)
            await one.tickets.allow(waiting.ticket or "", ConsentScope.ALWAYS, ME)
            await two.operator.reload()
            assert await call(two, "by the permission") == OK
            (id,) = two.board.policy.decisions.consents
            assert await two.tickets.last_uses() == {id: two.clock()}
            await does(one, RevokeConsent(id))
            assert id in two.board.policy.decisions.consents, "it has not heard of it"
            assert isinstance(await call(two, "after it was revoked"), ConfirmationRefusal)


@pytest.mark.behaviour("confirmation.standing_revoked_everywhere", "store.same_contract")
async def test_the_unused_yes_of_a_ticket_goes_with_the_permission_that_it_gave(engine: Engine, tmp_path: Path) -> None:
    with anyio.fail_after(PATIENCE):
        async with replica(engine, tmp_path) as one, replica(engine, tmp_path) as two:
            await does(one, ASKS)
            waiting, once = await call(one, "first"), await call(one, "allowed by itself")
            assert isinstance(waiting, ConfirmationRefusal)
            assert isinstance(once, ConfirmationRefusal)
            await one.tickets.allow(once.ticket or "", ConsentScope.ONCE, ME)
            await one.tickets.allow(waiting.ticket or "", ConsentScope.ALWAYS, ME)
            await two.operator.reload()
            assert await call(two, "first") == OK, "by the permission, so the ticket's own yes is unused"
            (id,) = one.board.policy.decisions.consents
            await does(one, RevokeConsent(id))
            assert isinstance(await call(two, "first"), ConfirmationRefusal)
            ticket = await two.tickets.find(waiting.ticket or "")
            assert ticket is not None
            assert (ticket.state_at(two.clock()), ticket.outcome) == (TicketState.EXPIRED, REVOKED_NOTE)
            asked = call_of("pegboard_ticket", {"ticket": ticket.id, "wait": 0}, client="cli 1")
            assert "the permission that came with it was revoked" in str(await two.caller.call(asked, View()))
            assert await call(two, "allowed by itself") == OK, "a yes to one call is no part of the permission"


@pytest.mark.behaviour("confirmation.removed_principal", "store.same_contract")
async def test_tickets_of_a_principal_that_was_removed_are_void_for_the_next_of_that_name(
    engine: Engine, tmp_path: Path
) -> None:
    alice = PrincipalId("alice")

    async def delete(gateway: Gateway, repo: str) -> CallOutcome:
        return await gateway.caller.call(call_of("delete", {"repo": repo}, by=alice, client="cli 1"), View(alice))

    with anyio.fail_after(PATIENCE):
        async with replica(engine, tmp_path) as one, replica(engine, tmp_path) as two:
            await does(one, ASKS)
            await does(one, token("t0", PrincipalId("keeper")))
            await does(one, token("t1", alice))
            allowed, waiting = await delete(one, "allowed"), await delete(one, "waiting")
            assert isinstance(allowed, ConfirmationRefusal)
            assert isinstance(waiting, ConfirmationRefusal)
            await one.tickets.allow(allowed.ticket or "", ConsentScope.ONCE, ME)
            await does(one, RemovePrincipal(alice))
            await does(one, token("t2", alice))
            await two.operator.reload()
            assert isinstance(await delete(two, "allowed"), ConfirmationRefusal)
            refused = await two.tickets.allow(waiting.ticket or "", ConsentScope.ONCE, ME)
            assert refused == CommandRejection(
                f"Ticket {waiting.ticket} does not count any more: its principal or server was removed or replaced. "
                "Nothing is left to decide."
            )


@pytest.mark.behaviour("confirmation.replaced_server", "store.same_contract")
@pytest.mark.parametrize("change", ["removed", "reached otherwise"])
async def test_tickets_of_a_server_that_was_replaced_are_void(store: Store, change: str) -> None:
    named, other = ServerKey(ToolsetId("a_b"), ServerId("shop")), ServerKey(ToolsetId("axb"), ServerId("shop"))
    servers: dict[ProviderKey, Server] = {
        key: Server(key, Stdio("serve"), InstalledBy(ME, NOW)) for key in (named, other)
    }
    toolsets = {key.toolset: Toolset(key.toolset, InstalledBy(ME, NOW)) for key in servers}
    before = await store.policy.load()
    installed = replace(before, version=before.version + 1, servers=servers, toolsets=toolsets)
    await store.policy.save(before, installed, by=ME, what="test", at=now())
    before = await store.policy.load()
    allowed = {key: await allowed_ticket(store, ToolId(key, "pay")) for key in servers}
    kept = {**before.servers, named: replace(before.servers[named], connection=Stdio("another"))}
    if change == "removed":
        del kept[named]
    after = replace(before, version=before.version + 1, servers=kept)
    await store.policy.save(before, after, by=ME, what="test", at=now())
    found = {key: await store.tickets.find(id) for key, id in allowed.items()}
    void, valid = found[named], found[other]
    assert void is not None
    assert valid is not None
    assert (void.state_at(now()), void.outcome, valid.state_at(now()), valid.outcome) == (
        TicketState.EXPIRED,
        REVOKED_NOTE,
        TicketState.ALLOWED,
        "",
    )
    assert await store.tickets.begin(void, CallId("c"), now()) is None


async def allowed_ticket(store: Store, tool: ToolId) -> str:
    asked = call_of("pay", {}, client="cli 1")
    display = ArgumentDisplay(Redaction(()), b"k" * 32)
    want = build_new_ticket(f"ticket{tool.source.toolset}", asked, Tool(tool, ToolSpec(tool.name)), display)
    await store.tickets.claim(want, now(), now() + timedelta(minutes=5))
    assert await store.tickets.decide(
        want.id, TicketDecision(TicketState.ALLOWED, ME, now(), now() + timedelta(minutes=5), ConsentScope.ONCE)
    )
    return want.id


def token(id: str, principal: PrincipalId) -> MakeToken:
    return MakeToken(id, principal, "test", "peg_test", sha256(id.encode()).digest(), frozenset({TokenScope.CALL}))


@pytest.mark.behaviour("confirmation.remembered")
async def test_a_further_permission_leaves_the_yes_of_its_own_ticket(engine: Engine, tmp_path: Path) -> None:
    with anyio.fail_after(PATIENCE):
        async with replica(engine, tmp_path) as one:
            await does(one, ASKS)
            tickets = [await call(one, "first"), await call(one, "second")]
            for each in tickets:
                assert isinstance(each, ConfirmationRefusal)
                await one.tickets.allow(each.ticket or "", ConsentScope.ALWAYS, ME)
                asked = call_of("pegboard_ticket", {"ticket": each.ticket, "wait": 0}, client="cli 1")
                assert await one.caller.call(asked, View()) == OK


@pytest.mark.behaviour("confirmation.interactive", "store.same_contract")
async def test_an_answer_in_a_client_counts_by_what_the_store_says_and_not_by_what_a_gateway_heard(
    engine: Engine, tmp_path: Path
) -> None:
    with anyio.fail_after(PATIENCE):
        async with replica(engine, tmp_path) as one, replica(engine, tmp_path) as two:
            await does(one, ASKS)
            await two.operator.reload()

            async def delete() -> CallOutcome:
                made = call_of("delete", {"repo": "x"}, client="cli 1")
                return await two.caller.call(made, View(), None, AskedClient(YES))

            assert await delete() == OK
            await does(one, SetOverride(Override(DELETE.toolset, DELETE, confirmation=ConfirmationMode.TICKET)))
            ended = await delete()
            assert isinstance(ended, ConfirmationRefusal)
            assert ended.reason is MissingConfirmation.WAITING


@pytest.mark.behaviour("confirmation.interactive")
async def test_while_the_store_is_away_no_answer_in_a_client_counts(tmp_path: Path) -> None:
    store = MemoryStore()
    async with asking(tmp_path, store) as house:
        await house.does(ASKS)
        assert await deletes(house, AskedClient(YES)) == OK
        store.away = ConnectionError("gone")
        assert isinstance(await deletes(house, AskedClient(YES)), ConfirmationRefusal)
