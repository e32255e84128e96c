"""The roster: every wanted server in a task of its own, none in the way of another, none left behind."""

import logging
from dataclasses import replace
from datetime import timedelta

import anyio
import pytest
from tests.core.boards import NOW, PERSON, key, server
from tests.support.doubles import SINCE, STARTING, UP, MemoryStore, Providers, ScriptedProvider, named
from tests.support.house import PATIENCE, declared, declaring, opened

from pegboard.core.commands.commands import AddServer, SetSwitch
from pegboard.core.model.catalogue import Listing, ListingProblem, ProviderDown, ProviderOff
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.server import Stdio, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.gateway import providers as roster_module

pytestmark = pytest.mark.anyio

GITHUB, FILES, NOTES = key("dev~github"), key("dev~files"), key("docs~notes")
TOOLS = {GITHUB: named(GITHUB, "search"), FILES: named(FILES, "read"), NOTES: named(NOTES, "list")}


def installed(command: str = "true") -> AddServer:
    return AddServer(server(NOTES, connection=Stdio(command), origin=PERSON), Toolset(NOTES.toolset, PERSON))


# Starting


@pytest.mark.behaviour("supervision.parallel_start")
async def test_all_wanted_servers_start_without_waiting_for_each_other() -> None:
    providers = Providers()
    async with opened(declared(GITHUB, FILES, NOTES), providers, settle=False) as house:
        with anyio.fail_after(PATIENCE):
            for provider in providers.made:
                await provider.started.wait()
        assert [provider.source for provider in providers.made] == [FILES, GITHUB, NOTES]
        assert all(provider.running for provider in providers.made)
        assert not await house.gateway.board.wait_until_started(0)


@pytest.mark.behaviour("supervision.slow_server_is_alone", "supervision.broken_server_is_alone")
async def test_a_server_that_hangs_in_its_start_hides_and_delays_no_other() -> None:
    providers = Providers({FILES: TOOLS[FILES]})
    async with opened(declared(GITHUB, FILES), providers, settle=False) as house:
        await house.until(lambda: house.status(ToolId(FILES, "read")) == "open")
        assert house.board.catalogue.health(GITHUB) == STARTING


async def test_a_server_that_is_not_wanted_is_never_made() -> None:
    off = declaring(server(GITHUB, enabled=False), server(FILES, quarantined=True), server(NOTES))
    async with opened(off, Providers(TOOLS)) as house:
        assert [provider.source for provider in house.providers.made] == [NOTES]
        assert house.board.catalogue.listings[GITHUB] == Listing(GITHUB, ProviderOff())
        assert house.board.catalogue.listings[FILES] == Listing(FILES, ProviderOff())
        assert house.gateway.providers.provider(GITHUB) is None
        assert house.gateway.providers.restart(GITHUB) is False
        assert house.gateway.providers.log(GITHUB) == ()


# Providers that break their contract


@pytest.mark.behaviour("supervision.broken_server_is_alone")
async def test_a_provider_that_cannot_be_made_is_down_and_the_others_run(caplog: pytest.LogCaptureFixture) -> None:
    providers = Providers(TOOLS)

    def refuse(provider: ScriptedProvider) -> None:
        if provider.source == GITHUB:
            raise ValueError("token=swordfish is no token")

    providers.prepare = refuse
    async with opened(declared(GITHUB, FILES), providers) as house:
        assert house.statuses() == {"mcp:dev~files:read": "open"}
        down = house.board.catalogue.health(GITHUB)
        assert down == ProviderDown(NOW, "its provider broke (ValueError); the gateway's log says more")
        assert "swordfish" in caplog.text


@pytest.mark.behaviour("supervision.broken_server_is_alone", "providers.down_server_keeps_last_listing")
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RuntimeError("token=swordfish"), "its provider broke (RuntimeError); the gateway's log says more"),
        (
            ExceptionGroup("two", [ValueError("one"), OSError("two")]),
            "its provider broke (ExceptionGroup); the gateway's log says more",
        ),
        (anyio.get_cancelled_exc_class, "its provider broke (LeakedCancellation); the gateway's log says more"),
        (None, "its provider ended by itself"),
    ],
)
async def test_a_provider_whose_task_ends_is_down_with_its_tools_and_the_others_run(
    error: object, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fragile(provider: ScriptedProvider) -> None:
        if provider.source == GITHUB and error is not None:
            # Which exception cancels is known only while the event loop runs.
            provider.break_with = error if isinstance(error, BaseException) else anyio.get_cancelled_exc_class()()

    providers = Providers(TOOLS)
    providers.prepare = fragile
    async with opened(declared(GITHUB, FILES), providers) as house:
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")
        provider = providers.of(GITHUB)
        provider.broken.set()
        provider.ends.set()
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "server_unavailable")
        pause = timedelta(seconds=roster_module.RESTART_PAUSE_S)
        assert house.board.catalogue.listings[GITHUB] == Listing(
            GITHUB, ProviderDown(NOW, why, NOW + pause), TOOLS[GITHUB]
        )
        assert house.status(ToolId(FILES, "read")) == "open"
        assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.behaviour("supervision.recovers")
async def test_a_provider_that_broke_runs_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster_module, "RESTART_PAUSE_S", 0)
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        provider = house.provider(GITHUB)
        provider.ends.set()
        with anyio.fail_after(PATIENCE):
            while provider.runs < 3:
                await anyio.lowlevel.checkpoint()
        provider.ends = anyio.Event()
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")


async def test_restarting_a_broken_provider_does_not_wait_for_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster_module, "RESTART_PAUSE_S", 3600)
    async with opened(declared(GITHUB, FILES), Providers(TOOLS)) as house:
        provider = house.provider(GITHUB)
        provider.ends.set()
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "server_unavailable")
        provider.ends = anyio.Event()
        assert house.gateway.providers.restart(GITHUB)
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")
        assert (provider.runs, house.provider(FILES).runs) == (2, 1)


async def test_a_provider_that_cannot_say_what_it_has_is_down_until_it_can(caplog: pytest.LogCaptureFixture) -> None:
    class Mute(ScriptedProvider):
        mute = False

        def listing(self) -> Listing:
            if self.mute:
                raise KeyError("listing")
            return super().listing()

    async with opened(declared(GITHUB), Providers(TOOLS, Mute)) as house:
        provider = house.provider(GITHUB)
        assert isinstance(provider, Mute)
        provider.mute = True
        provider.lists(*TOOLS[GITHUB])
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "server_unavailable")
        provider.lists(*TOOLS[GITHUB])
        await anyio.wait_all_tasks_blocked()
        provider.mute = False
        provider.lists(*TOOLS[GITHUB])
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")
        assert [record.getMessage() for record in caplog.records] == [
            "The provider of dev~github does not say what it has"
        ]


# Switching


@pytest.mark.behaviour("providers.down_server_keeps_last_listing", "locked.status.server_disabled")
async def test_a_switched_off_server_keeps_its_tools_on_the_board_and_has_them_again() -> None:
    async with opened(declared(GITHUB, FILES), Providers(TOOLS)) as house:
        house.provider(GITHUB).lines = ("ready", "bye")
        await house.does(SetSwitch(GITHUB, enabled=False))
        with anyio.fail_after(PATIENCE):
            await house.provider(GITHUB).stopped.wait()
        assert house.statuses() == {"mcp:dev~files:read": "open", "mcp:dev~github:search": "server_disabled"}
        assert house.board.catalogue.listings[GITHUB] == Listing(GITHUB, ProviderOff(), TOOLS[GITHUB])
        assert house.gateway.providers.provider(GITHUB) is None
        assert house.gateway.providers.log(GITHUB) == ("ready", "bye")
        await house.does(SetSwitch(GITHUB, enabled=True))
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")
        assert len(house.providers.made) == 3
        assert house.provider(FILES).runs == 1


@pytest.mark.behaviour("toolsets.switch_remembers_states", "toolsets.switch_covers_all_tools")
async def test_switching_a_toolset_off_and_on_leaves_each_server_and_tool_as_it_was() -> None:
    tools = {GITHUB: named(GITHUB, "search", "write"), FILES: named(FILES, "read")}
    async with opened(declared(GITHUB, FILES, trust=Trust.BASELINE), Providers(tools)) as house:
        await house.until(lambda: set(house.statuses().values()) == {"open"})
        await house.does(SetSwitch(FILES, enabled=False), SetSwitch(ToolId(GITHUB, "write"), enabled=False))
        await house.until(lambda: house.board.catalogue.health(FILES) == ProviderOff())
        before = house.statuses()
        assert before == {
            "mcp:dev~files:read": "server_disabled",
            "mcp:dev~github:search": "open",
            "mcp:dev~github:write": "disabled_by_user",
        }
        await house.does(SetSwitch(ToolsetId("dev"), enabled=False))
        assert set(house.statuses().values()) == {"server_disabled"}
        with anyio.fail_after(PATIENCE):
            await house.provider(GITHUB).stopped.wait()
        await house.does(SetSwitch(ToolsetId("dev"), enabled=True))
        await house.until(lambda: house.statuses() == before)


@pytest.mark.behaviour("providers.down_server_keeps_last_listing", "locked.status.server_unavailable")
async def test_a_server_that_falls_keeps_its_tools_and_its_flaws() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        flaw = ListingProblem("", "it has no name")
        house.provider(GITHUB).becomes(UP, *TOOLS[GITHUB], flaws=(flaw,))
        await house.until(lambda: house.board.catalogue.listings[GITHUB].problems == (flaw,))
        # A provider may forget its tools when it falls; the board does not.
        house.provider(GITHUB).becomes(ProviderDown(SINCE, "it was unplugged"))
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "server_unavailable")
        assert house.board.catalogue.listings[GITHUB].problems == (flaw,)


@pytest.mark.behaviour("providers.mcp_removed_tool_goes", "providers.mcp_added_tool_appears")
async def test_what_a_running_server_lists_now_is_what_hangs() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        house.provider(GITHUB).lists(*named(GITHUB, "write"))
        await house.until(lambda: house.statuses() == {"mcp:dev~github:write": "open"})
        house.provider(GITHUB).lists()
        await house.until(lambda: house.statuses() == {})


# Restarting and ending


async def test_a_restart_reaches_one_provider_only() -> None:
    async with opened(declared(GITHUB, FILES), Providers(TOOLS)) as house:
        assert house.gateway.providers.restart(GITHUB) is True
        assert (house.provider(GITHUB).restarts, house.provider(FILES).restarts) == (1, 0)
        assert house.gateway.providers.restart(NOTES) is False


async def test_the_log_of_a_running_server_is_what_it_says_now() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        house.provider(GITHUB).lines = ("one",)
        assert house.gateway.providers.log(GITHUB) == ("one",)
        house.provider(GITHUB).lines = ("one", "two")
        assert house.gateway.providers.log(GITHUB) == ("one", "two")


@pytest.mark.behaviour("supervision.nothing_left_behind")
async def test_the_gateway_ends_only_when_a_slow_provider_has_stopped() -> None:
    providers = Providers(TOOLS)
    slow = anyio.Event()
    closed = anyio.Event()

    async def open_and_close() -> None:
        async with opened(declared(GITHUB, FILES), providers) as house:
            house.provider(GITHUB).may_stop = slow
        closed.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_and_close)
            while len(providers.made) < 2:
                await anyio.lowlevel.checkpoint()
            await providers.of(FILES).stopped.wait()
            await providers.of(GITHUB).stopping.wait()
            await anyio.wait_all_tasks_blocked()
            assert not closed.is_set()
            slow.set()
            await closed.wait()
    assert [made.running for made in providers.made] == [False, False]


async def test_the_gateway_ends_well_while_a_server_is_being_stopped() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        former = house.provider(GITHUB)
        former.may_stop = anyio.Event()
        await house.does(SetSwitch(GITHUB, enabled=False))
        with anyio.fail_after(PATIENCE):
            await former.stopping.wait()
        former.may_stop.set()
    assert (former.running, house.providers.made) == (False, [former])


async def test_a_declared_and_an_installed_server_run_side_by_side_after_a_restart_of_the_gateway() -> None:
    store = MemoryStore()
    async with opened(declared(GITHUB), Providers(TOOLS), store=store) as house:
        await house.does(installed())
        await house.until(lambda: house.status(ToolId(NOTES, "list")) == "open")
    async with opened(declared(GITHUB), Providers(TOOLS), store=store) as house:
        await house.until(lambda: set(house.statuses().values()) == {"open"})
        assert set(house.statuses()) == {"mcp:dev~github:search", "mcp:docs~notes:list"}
        assert replace(house.board.policy, declared=declared()).version == 2
