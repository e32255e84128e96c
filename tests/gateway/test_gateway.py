"""The gateway as a whole: how it opens, settles, follows and ends."""

import anyio
import pytest
from tests.core.boards import key, server
from tests.support.doubles import SINCE, STARTING, UP, MemoryAudit, MemoryStore, Providers, named
from tests.support.house import PATIENCE, Ticking, declared, declaring, opened

from pegboard.core.commands.commands import SetSwitch, SetTrust
from pegboard.core.model.catalogue import Listing, ProviderDown, ProviderNeedsSignIn, ProviderOff, ProviderStart
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway import gateway as gateway_module
from pegboard.gateway.gateway import open_gateway

pytestmark = pytest.mark.anyio

GITHUB, FILES = key("dev~github"), key("dev~files")
SEARCH = ToolId(GITHUB, "search")
TOOLS = {GITHUB: named(GITHUB, "search"), FILES: named(FILES, "read")}


# Opening and ending


async def test_a_gateway_without_servers_is_open_and_settled() -> None:
    async with opened(DeclaredSettings()) as house:
        assert await house.gateway.board.wait_until_started(0)
        assert house.statuses() == {}
        assert house.board.resolution(View()).verdicts == {}


async def test_a_store_that_does_not_answer_at_the_start_is_an_error_at_the_start() -> None:
    store = MemoryStore()
    store.go_away(ConnectionError("connection refused"))
    providers = Providers(TOOLS)
    with pytest.raises(ConnectionError, match="connection refused"):
        async with open_gateway(declared(GITHUB), store, MemoryAudit(), providers, Ticking()):
            pytest.fail("it must not open")
    assert providers.made == []


@pytest.mark.parametrize("error", [ValueError("the surface broke"), SystemExit(3), KeyboardInterrupt()])
async def test_what_the_block_raises_comes_out_as_it_is_and_every_provider_has_stopped(error: BaseException) -> None:
    providers = Providers(TOOLS)
    with pytest.raises(type(error)) as raised:
        async with opened(declared(GITHUB, FILES), providers):
            raise error
    assert raised.value is error
    assert [made.running for made in providers.made] == [False, False]


@pytest.mark.behaviour("supervision.nothing_left_behind")
async def test_a_cancelled_gateway_stops_every_provider() -> None:
    providers = Providers(TOOLS)
    running = anyio.Event()

    async def serve() -> None:
        async with opened(declared(GITHUB, FILES), providers):
            running.set()
            await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            await running.wait()
            tasks.cancel_scope.cancel()
    assert [made.running for made in providers.made] == [False, False]


async def test_a_closed_gateway_leaves_no_listener_on_its_board() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        pass
    assert house.board.changes._subscriptions == set()


async def test_a_block_that_is_cut_short_by_the_gateway_itself_never_looks_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def leaking(*args: object) -> None:
        raise anyio.get_cancelled_exc_class()

    monkeypatch.setattr(gateway_module, "_publish_listings", leaking)
    with pytest.raises(RuntimeError, match="cancelled from within"):
        async with open_gateway(declared(GITHUB), MemoryStore(), MemoryAudit(), Providers(TOOLS), Ticking()):
            await anyio.sleep_forever()


# Settling


@pytest.mark.parametrize(
    ("health", "settled"),
    [
        (STARTING, False),
        (ProviderStart(2, SINCE), True),
        (UP, True),
        (ProviderDown(SINCE, "it fell"), True),
        (ProviderNeedsSignIn(SINCE), True),
        (ProviderOff(), True),
    ],
)
async def test_a_gateway_is_settled_when_every_server_has_answered_or_failed_once(
    health: ProviderStart | ProviderDown | ProviderNeedsSignIn | ProviderOff, settled: bool
) -> None:
    async with opened(declared(GITHUB, FILES), Providers({FILES: TOOLS[FILES]}), settle=False) as house:
        house.provider(GITHUB).becomes(health)
        await house.until(lambda: house.board.catalogue.health(FILES) == UP)
        await house.until(lambda: house.board.catalogue.health(GITHUB) == health)
        assert await house.gateway.board.wait_until_started(0) is settled


async def test_whoever_waits_for_a_gateway_to_settle_hears_it() -> None:
    async with opened(declared(GITHUB, FILES), Providers({FILES: TOOLS[FILES]}), settle=False) as house:
        answers: list[bool] = []

        async def wait() -> None:
            answers.append(await house.gateway.board.wait_until_started(PATIENCE))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                assert answers == []
                house.provider(GITHUB).lists(*TOOLS[GITHUB])
        assert answers == [True, True]


async def test_a_server_that_never_answers_does_not_hold_up_whoever_waits_beyond_their_limit() -> None:
    async with opened(declared(GITHUB), Providers(), settle=False) as house:
        with anyio.fail_after(PATIENCE):
            assert await house.gateway.board.wait_until_started(0.01) is False


# Following


@pytest.mark.behaviour("approvals.trust_baseline", "supervision.recovers")
async def test_a_server_that_falls_and_comes_back_opens_as_it_was() -> None:
    async with opened(declared(GITHUB, trust=Trust.BASELINE), Providers(TOOLS)) as house:
        await house.until(lambda: house.status(SEARCH) == "open")
        house.provider(GITHUB).falls()
        await house.until(lambda: house.status(SEARCH) == "server_unavailable")
        house.provider(GITHUB).lists(*TOOLS[GITHUB])
        await house.until(lambda: house.status(SEARCH) == "open")
        assert [save.what for save in house.store.saves] == ["TakeBaseline"]


@pytest.mark.behaviour("approvals.trust_baseline")
async def test_a_provider_that_is_up_at_once_is_never_seen_with_locked_tools() -> None:
    """The first word of a server that answers before anyone listens waits for its first sight too."""
    seen: set[str | None] = set()
    providers = Providers(TOOLS)
    async with opened(declared(GITHUB, trust=Trust.BASELINE), providers, settle=False) as house:
        with anyio.fail_after(PATIENCE), house.board.changes.subscribe() as bell:
            seen.add(house.status(SEARCH))
            while house.status(SEARCH) != "open":
                await bell.wait()
                seen.add(house.status(SEARCH))
    assert seen == {None, "open"}


@pytest.mark.behaviour("approvals.trust_baseline", "approvals.trust_strict")
async def test_a_strict_server_made_baseline_is_seen_for_the_first_time_then() -> None:
    async with opened(declared(GITHUB, trust=Trust.STRICT), Providers(TOOLS)) as house:
        await house.until(lambda: house.status(SEARCH) == "pending_approval")
        await house.does(SetTrust(GITHUB, Trust.BASELINE))
        await house.until(lambda: house.status(SEARCH) == "open")


@pytest.mark.behaviour("locked.status.server_quarantined")
async def test_a_quarantined_server_is_never_started_or_seen() -> None:
    quarantined = declaring(server(GITHUB, quarantined=True), server(FILES, trust=Trust.OPEN))
    async with opened(quarantined, Providers(TOOLS)) as house:
        assert [made.source for made in house.providers.made] == [FILES]
        await house.does(SetSwitch(GITHUB, enabled=True))
        await anyio.wait_all_tasks_blocked()
        assert [made.source for made in house.providers.made] == [FILES]
        assert [save.what for save in house.store.saves] == ["SetSwitch"]
        house.board.publish(Listing(GITHUB, UP, TOOLS[GITHUB]))
        assert house.status(SEARCH) == "server_quarantined"


@pytest.mark.behaviour("store.change_bell", "toolsets.switch_covers_all_tools")
async def test_a_switch_thrown_in_another_process_stops_the_server_here() -> None:
    async with (
        opened(declared(GITHUB, FILES), Providers(TOOLS)) as house,
        opened(declared(GITHUB, FILES), Providers(TOOLS), store=MemoryStore()) as other,
    ):
        await other.does(SetSwitch(GITHUB, enabled=False))
        house.store.decide_elsewhere(other.store.decided)
        with anyio.fail_after(PATIENCE):
            await house.provider(GITHUB).stopped.wait()
        assert house.status(SEARCH) == "server_disabled"
        assert house.provider(FILES).running


async def test_a_slow_store_keeps_no_servers_health_from_the_board() -> None:
    async with opened(
        declaring(server(GITHUB), server(FILES, trust=Trust.OPEN)), Providers(TOOLS), settle=False
    ) as house:
        house.store.hold = anyio.Event()
        await house.until(lambda: house.status(ToolId(FILES, "read")) == "open")
        with anyio.fail_after(PATIENCE):
            await house.store.asked.wait()
        assert house.status(SEARCH) is None
        house.provider(FILES).falls()
        await house.until(lambda: house.status(ToolId(FILES, "read")) == "server_unavailable")
        house.store.hold.set()
        await house.until(lambda: house.status(SEARCH) == "open")


async def test_a_server_that_rings_without_end_starves_no_other() -> None:
    async with opened(declared(GITHUB, FILES), Providers(TOOLS)) as house:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:

                async def chatter() -> None:
                    while True:
                        house.provider(GITHUB).lists(*TOOLS[GITHUB])
                        await anyio.lowlevel.checkpoint()

                tasks.start_soon(chatter)
                house.provider(FILES).falls()
                await house.until(lambda: house.status(ToolId(FILES, "read")) == "server_unavailable")
                await house.does(SetSwitch(FILES, enabled=False))
                tasks.cancel_scope.cancel()
        assert house.statuses() == {"mcp:dev~files:read": "server_disabled", "mcp:dev~github:search": "open"}
