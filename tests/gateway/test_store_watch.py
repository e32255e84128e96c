"""The watch over the store: what others decide is heard, and an outage is told, survived and forgotten."""

import logging
from collections.abc import AsyncGenerator
from dataclasses import replace

import anyio
import pytest
from tests.core.boards import ME, NOW, key
from tests.support.doubles import MemoryStore, Providers, named
from tests.support.house import PATIENCE, House, declared, opened

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import Trust
from pegboard.core.policy.policy import Policy, PolicyDecisions, Switch
from pegboard.gateway import maintenance as store_watch
from pegboard.gateway.board import Notice
from pegboard.gateway.maintenance import STORE_NOTICE
from pegboard.gateway.operator import SaveFailure

pytestmark = pytest.mark.anyio

GITHUB = key("dev~github")
SEARCH = ToolId(GITHUB, "search")
TOOLS = {GITHUB: named(GITHUB, "search")}
REFUSED = ConnectionError("connection refused\n[parameters: 'swordfish']")
AWAY = Notice(STORE_NOTICE, "The store does not answer: connection refused. What was decided before still holds.", NOW)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_watch, "RETRY_INTERVAL_S", 0)


def is_away(house: House) -> bool:
    return house.board.notices == {STORE_NOTICE: AWAY}


@pytest.mark.behaviour("store.change_bell")
async def test_what_another_process_saves_is_heard() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        for version in (1, 2, 3):
            off = Switch(version % 2 == 0, ME, NOW)
            house.store.decide_elsewhere(PolicyDecisions(version, switches={SEARCH: off}))
            await house.until(lambda: house.board.policy.decisions == house.store.decided)
        assert house.status(SEARCH) == "disabled_by_user"


async def test_what_was_saved_between_the_first_load_and_the_first_bell_is_not_missed() -> None:
    class Busy(MemoryStore):
        async def load(self) -> PolicyDecisions:
            found = await super().load()
            if self.loads == 1:
                self.decide_elsewhere(PolicyDecisions(1, switches={SEARCH: Switch(False, ME, NOW)}), ring=False)
            return found

    async with opened(declared(GITHUB), Providers(TOOLS), store=Busy()) as house:
        await house.until(lambda: house.board.policy.version == 1)


async def test_an_outage_is_told_once_and_forgotten_when_the_store_is_back(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        house.store.go_away(REFUSED)
        await house.until(lambda: is_away(house))
        asked = house.store.loads
        with anyio.fail_after(PATIENCE), house.board.changes.subscribe() as bell:
            while house.store.loads < asked + 10:
                house.clock.passes(2)
                await anyio.lowlevel.checkpoint()
            with anyio.move_on_after(0) as rung:
                await bell.wait()
        # Asked ten times more, and it is still one notice of one moment, one line in the log, and no bell.
        assert is_away(house)
        assert rung.cancelled_caught
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        # What was decided before holds, and tools can be called.
        assert house.status(SEARCH) == "open"
        house.store.come_back()
        await house.until(lambda: house.board.notices == {})
        assert [record.getMessage() for record in caplog.records[1:]] == ["The store answers again"]


async def test_what_was_decided_during_an_outage_is_taken_over_after_it() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        house.store.go_away(REFUSED)
        await house.until(lambda: is_away(house))
        house.store.decide_elsewhere(PolicyDecisions(9, switches={SEARCH: Switch(False, ME, NOW)}), ring=False)
        house.store.come_back()
        await house.until(lambda: house.status(SEARCH) == "disabled_by_user")
        assert house.board.notices == {}
        # And the bell is heard again.
        house.store.decide_elsewhere(PolicyDecisions(10))
        await house.until(lambda: house.status(SEARCH) == "open")


async def test_a_command_during_an_outage_is_told_and_the_outage_with_it() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await anyio.wait_all_tasks_blocked()
        house.store.away = REFUSED  # nothing rings: the command is the first to notice
        assert isinstance(await house.gateway.operator.execute(SetSwitch(SEARCH, enabled=False), ME), SaveFailure)
        await house.until(lambda: is_away(house))
        house.store.come_back()
        await house.until(lambda: house.board.notices == {})
        assert isinstance(await house.gateway.operator.execute(SetSwitch(SEARCH, enabled=False), ME), Policy)


async def test_a_save_that_reached_the_store_before_it_went_away_is_on_the_board_after_it() -> None:
    class Cut(MemoryStore):
        async def save(self, before: PolicyDecisions, after: PolicyDecisions, **kwargs: object) -> None:  # type: ignore[override]
            self.decided = after
            self.away = REFUSED
            raise self.away

    async with opened(declared(GITHUB), Providers(TOOLS), store=Cut()) as house:
        await anyio.wait_all_tasks_blocked()
        assert isinstance(await house.gateway.operator.execute(SetSwitch(SEARCH, enabled=False), ME), SaveFailure)
        assert house.status(SEARCH) == "open"
        house.store.come_back()
        await house.until(lambda: house.status(SEARCH) == "disabled_by_user")


@pytest.mark.behaviour("approvals.trust_baseline")
async def test_a_first_sight_during_an_outage_is_recorded_after_it() -> None:
    async with opened(declared(GITHUB, trust=Trust.BASELINE), Providers(), settle=False) as house:
        await anyio.wait_all_tasks_blocked()
        house.store.go_away(REFUSED)
        house.provider(GITHUB).lists(*TOOLS[GITHUB])
        await house.until(lambda: house.status(SEARCH) == "pending_approval")
        house.store.come_back()
        await house.until(lambda: house.status(SEARCH) == "open")
        assert [save.what for save in house.store.saves] == ["TakeBaseline"]


@pytest.mark.behaviour("approvals.trust_baseline")
async def test_a_first_sight_is_recorded_after_an_outage_that_was_over_before_anyone_looked() -> None:
    class Stumbling(MemoryStore):
        async def load(self) -> PolicyDecisions:
            try:
                return await super().load()
            finally:
                self.come_back()

    async with opened(declared(GITHUB, trust=Trust.BASELINE), Providers(), store=Stumbling(), settle=False) as house:
        await anyio.wait_all_tasks_blocked()
        house.store.away = REFUSED
        house.provider(GITHUB).lists(*TOOLS[GITHUB])
        await house.until(lambda: house.status(SEARCH) == "open")


async def test_during_an_outage_the_board_does_not_wait_for_the_store_once_for_each_server() -> None:
    keys = [key(f"dev~s{n}") for n in range(20)]
    tools = {each: named(each, f"tool_{each.server}") for each in keys}
    async with opened(declared(*keys, trust=Trust.BASELINE), Providers(), settle=False) as house:
        await anyio.wait_all_tasks_blocked()
        house.store.go_away(REFUSED)
        await house.until(lambda: is_away(house))
        for each in keys:
            house.provider(each).lists(*tools[each])
        await house.until(lambda: list(house.statuses().values()) == ["pending_approval"] * 20)
        assert house.store.tries <= 1
        house.store.come_back()
        await house.until(lambda: list(house.statuses().values()) == ["open"] * 20)


async def test_a_store_whose_bell_ends_is_asked_again() -> None:
    class Bell1(MemoryStore):
        listened = 0

        async def changes(self) -> AsyncGenerator[None, None]:
            self.listened += 1
            yield

    store = Bell1()
    async with opened(declared(GITHUB), Providers(TOOLS), store=store) as house:
        store.decide_elsewhere(replace(store.decided, version=5))
        await house.until(lambda: house.board.policy.version == 5)
        with anyio.fail_after(PATIENCE):
            while store.listened < 3:
                await anyio.lowlevel.checkpoint()
        assert house.board.notices == {}


async def test_a_bell_that_is_left_is_closed() -> None:
    class Counted(MemoryStore):
        """Keeps hold of every bell it gave, so that none is closed by being forgotten."""

        def __init__(self) -> None:
            super().__init__()
            self.bells: list[AsyncGenerator[None, None]] = []
            self.open = 0

        def changes(self) -> AsyncGenerator[None, None]:
            self.bells.append(self._counted())
            return self.bells[-1]

        async def _counted(self) -> AsyncGenerator[None, None]:
            self.open += 1
            try:
                while True:
                    with self._others.subscribe() as bell:
                        await bell.wait()
                    yield
            finally:
                self.open -= 1

    store = Counted()
    async with opened(declared(GITHUB), Providers(TOOLS), store=store) as house:
        for version in (1, 2, 3):
            store.decide_elsewhere(PolicyDecisions(version))
            await house.until(lambda: house.board.policy.version == store.decided.version)
            await anyio.wait_all_tasks_blocked()
            assert (store.open, len(store.bells)) == (1, version)
            store.go_away(REFUSED)
            await house.until(lambda: is_away(house))
            store.come_back()
            await house.until(lambda: house.board.notices == {})
            await anyio.wait_all_tasks_blocked()
    assert store.open == 0


async def test_a_store_that_leaks_a_cancellation_does_not_end_the_gateway() -> None:
    async with opened(declared(GITHUB), Providers(TOOLS)) as house:
        await anyio.wait_all_tasks_blocked()  # so that the bell is what leaks first
        house.store.go_away(anyio.get_cancelled_exc_class()())
        cancelled = "The store does not answer: it was cancelled from within. What was decided before still holds."
        await house.until(lambda: STORE_NOTICE in house.board.notices)
        assert house.board.notices[STORE_NOTICE].text == cancelled
        assert isinstance(await house.gateway.operator.execute(SetSwitch(SEARCH, enabled=False), ME), SaveFailure)
        house.store.come_back()
        await house.until(lambda: house.board.notices == {})
