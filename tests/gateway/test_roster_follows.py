"""The roster follows the policy: what changed stops before it starts anew, what is new runs, what was removed goes."""

import anyio
import pytest
from tests.core.boards import ME, NOW, PERSON, key, server
from tests.support.doubles import Providers, named
from tests.support.house import PATIENCE, declared, declaring, opened, redeclared

from pegboard.core.commands.commands import AddServer, RemoveServer, SetSwitch
from pegboard.core.model.catalogue import Listing, ProviderDown, ProviderOff, ProviderStart
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import DeclaredAt, Stdio, Timeouts, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import Policy
from pegboard.gateway import providers as roster_module

pytestmark = pytest.mark.anyio

GITHUB, FILES, NOTES = key("dev~github"), key("dev~files"), key("docs~notes")
TOOLS = {GITHUB: named(GITHUB, "search"), FILES: named(FILES, "read"), NOTES: named(NOTES, "list")}


def installed(command: str = "true") -> AddServer:
    return AddServer(server(NOTES, connection=Stdio(command), origin=PERSON), Toolset(NOTES.toolset, PERSON))


# Changing


async def test_the_board_shows_what_follows_from_a_command_as_soon_as_it_is_carried_out() -> None:
    """No task gets a turn between the command and the look at the board: who asks next sees its effect."""
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await house.gateway.operator.execute(installed(), ME)
        assert house.board.catalogue.listings[NOTES].health == ProviderStart(1, NOW)
        await house.gateway.operator.execute(SetSwitch(GITHUB, enabled=False), ME)
        assert house.board.catalogue.listings[GITHUB].health == ProviderOff()
        await house.gateway.operator.execute(RemoveServer(NOTES), ME)
        assert NOTES not in house.board.catalogue.listings


@pytest.mark.behaviour("config.reloaded_on_change")
async def test_a_server_whose_reach_did_not_change_keeps_running() -> None:
    async with opened(declared(GITHUB, FILES), Providers(TOOLS)) as house:
        moved = server(GITHUB, origin=DeclaredAt("pegboard.yaml", 99), trust=Trust.STRICT)
        changed = server(FILES, connection=Stdio("other"), trust=Trust.OPEN)
        assert await house.gateway.operator.apply_settings(redeclared(house.board.policy, moved, changed)) == ()
        assert house.status(ToolId(GITHUB, "search")) == "pending_approval"
        await house.until(lambda: len(house.providers.made) == 3 and house.status(ToolId(FILES, "read")) == "open")
        assert [(made.source, made.running, made.runs) for made in house.providers.made] == [
            (FILES, False, 1),
            (GITHUB, True, 1),
            (FILES, True, 1),
        ]


@pytest.mark.parametrize("change", [{"connection": Stdio("other")}, {"timeouts": Timeouts(call=1)}])
async def test_a_changed_server_starts_anew_only_when_the_former_has_stopped(change: dict[str, object]) -> None:
    providers = Providers(TOOLS)
    async with opened(declared(GITHUB, FILES), providers) as house:
        former = house.provider(GITHUB)
        former.may_stop = anyio.Event()
        changed = server(GITHUB, trust=Trust.OPEN, **change)
        await house.gateway.operator.apply_settings(redeclared(house.board.policy, changed))
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "server_unavailable")
        # Until it is gone nothing of it can be called, and nothing says that it is up.
        assert house.board.catalogue.listings[GITHUB] == Listing(GITHUB, ProviderStart(1, NOW), TOOLS[GITHUB])
        assert house.gateway.providers.provider(GITHUB) is None
        assert not await house.gateway.board.wait_until_started(0)
        assert len(providers.made) == 2
        former.may_stop.set()
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")
        assert (former.running, house.provider(GITHUB).server) == (False, changed)


async def test_the_policy_may_change_many_times_while_a_server_stops() -> None:
    providers = Providers(TOOLS)
    async with opened(declared(GITHUB), providers) as house:
        former = house.provider(GITHUB)
        former.may_stop = anyio.Event()
        for n in range(5):
            changed = server(GITHUB, connection=Stdio(f"other-{n}"), trust=Trust.OPEN)
            await house.gateway.operator.apply_settings(redeclared(house.board.policy, changed))
            await house.does(SetSwitch(GITHUB, enabled=False), SetSwitch(GITHUB, enabled=True))
            await anyio.wait_all_tasks_blocked()
        assert providers.made == [former]
        former.may_stop.set()
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")
        assert [made.server.connection for made in providers.made[1:]] == [Stdio("other-4")]


async def test_a_server_switched_off_while_its_former_process_stops_does_not_start() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        former = house.provider(GITHUB)
        former.may_stop = anyio.Event()
        changed = server(GITHUB, connection=Stdio("other"))
        await house.gateway.operator.apply_settings(redeclared(house.board.policy, changed))
        with anyio.fail_after(PATIENCE):
            await former.stopping.wait()
        await house.does(SetSwitch(GITHUB, enabled=False))
        former.may_stop.set()
        with anyio.fail_after(PATIENCE):
            await former.stopped.wait()
        await anyio.wait_all_tasks_blocked()
        assert house.providers.made == [former]
        assert house.status(ToolId(GITHUB, "search")) == "server_disabled"


async def test_a_server_that_does_not_stop_is_told_and_starts_when_it_has(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(roster_module, "STOP_GRACE_S", 0)
    timeouts = Timeouts(stop=0)
    async with opened(declaring(server(GITHUB, timeouts=timeouts, trust=Trust.OPEN)), Providers(TOOLS)) as house:
        former = house.provider(GITHUB)
        former.may_stop = anyio.Event()
        changed = server(GITHUB, connection=Stdio("other"), timeouts=timeouts, trust=Trust.OPEN)
        await house.gateway.operator.apply_settings(redeclared(house.board.policy, changed))
        stuck = ProviderDown(NOW, "its former process does not stop")
        await house.until(lambda: house.board.catalogue.health(GITHUB) == stuck)
        assert "dev~github has not stopped after 0 seconds" in caplog.text
        former.may_stop.set()
        await house.until(lambda: house.status(ToolId(GITHUB, "search")) == "open")


# Adding and removing


@pytest.mark.behaviour("toolsets.added_server_connects")
async def test_an_added_server_runs_at_once_and_a_removed_one_leaves_the_board() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await house.does(installed())
        await house.until(lambda: house.status(ToolId(NOTES, "list")) == "open")
        house.provider(NOTES).lines = ("hello",)
        await house.does(RemoveServer(NOTES))
        await house.until(lambda: NOTES not in house.board.catalogue.listings)
        with anyio.fail_after(PATIENCE):
            await house.provider(NOTES).stopped.wait()
        assert house.statuses() == {"mcp:dev~github:search": "open"}
        assert house.gateway.providers.log(NOTES) == ()


async def test_between_its_removal_and_its_end_a_servers_tools_cannot_be_called() -> None:
    """The policy is swapped before the roster follows; the tools are nobody's in between."""
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await house.does(installed())
        await house.until(lambda: house.status(ToolId(NOTES, "list")) == "open")
        done = await house.gateway.operator.execute(RemoveServer(NOTES), ME)
        assert isinstance(done, Policy)
        assert house.status(ToolId(NOTES, "list")) in (None, "disabled_unknown")


async def test_a_server_removed_and_added_again_at_once_is_seen_for_the_first_time_again() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await house.does(installed())
        await house.until(lambda: house.status(ToolId(NOTES, "list")) == "open")
        await house.does(RemoveServer(NOTES), installed(), RemoveServer(NOTES), installed())
        await house.until(lambda: house.status(ToolId(NOTES, "list")) == "open")
        assert [save.what for save in house.store.saves] == [
            "AddServer",
            "TakeBaseline",
            *("RemoveServer", "AddServer"),
            *("RemoveServer", "AddServer"),
            "TakeBaseline",
        ]


async def test_a_server_removed_and_added_while_its_former_process_stops_waits_for_it() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await house.does(installed())
        await house.until(lambda: house.status(ToolId(NOTES, "list")) == "open")
        former = house.provider(NOTES)
        former.may_stop = anyio.Event()
        await house.does(RemoveServer(NOTES))
        with anyio.fail_after(PATIENCE):
            await former.stopping.wait()
        await house.does(installed("other"))
        await house.until(lambda: NOTES in house.board.catalogue.listings)
        assert house.board.catalogue.listings[NOTES] == Listing(NOTES, ProviderStart(1, NOW))
        assert house.provider(NOTES) is former
        former.may_stop.set()
        await house.until(lambda: house.status(ToolId(NOTES, "list")) == "open")
        assert house.provider(NOTES).server.connection == Stdio("other")


async def test_many_servers_that_come_and_go_leave_nothing_behind() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        for _ in range(20):
            await house.does(installed())
            await house.until(lambda: NOTES in house.board.catalogue.listings)
            await house.does(RemoveServer(NOTES))
            await house.until(lambda: NOTES not in house.board.catalogue.listings)
        await anyio.wait_all_tasks_blocked()
        assert set(house.board.catalogue.listings) == {GITHUB}
        assert [made.source for made in house.providers.made if made.running] == [GITHUB]
        assert house.gateway.providers._logs == {}
        assert house.gateway.providers._stopping == {}
