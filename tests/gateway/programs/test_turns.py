"""Programs that wait for a person in their client: their clock, their turns, and how many of them may."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup
from tests.gateway.programs.programs import Place, ok, place, said, ticket_of
from tests.gateway.programs.test_ending import holding
from tests.gateway.programs.test_waiting import CLEANED, CLEANS, YES
from tests.support.asking import AskedClient

from pegboard.core.commands.access import SetPrincipalConfirmation
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.settings import CodeSettings
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.programs.clock import ConcurrencySlots, RunActivity, RunClock
from pegboard.ports.providers import ClientPeer, PeerRequestError

pytestmark = pytest.mark.anyio

DELETES = 'await files.delete(path="a")'
BESIDE = """
import asyncio
await asyncio.gather(files.delete(path="a"), files.hold())
"""
LACKED = (
    "The program was ended after 2 seconds. A person was asked, and when it could go on there was no turn for it, "
    "because so many programs run. What it did before is done: see tool_calls."
)


class LateClient(AskedClient):
    """Says yes when the test does."""

    def __init__(self) -> None:
        super().__init__(YES)
        self.decided = anyio.Event()

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        self.was_asked.set()
        await self.decided.wait()
        return await super().request(method, params, last)


@pytest.mark.behaviour("programs.asked_in_place", "programs.limits")
async def test_the_time_of_a_program_passes_while_another_of_its_calls_is_under_way(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.answers("1")  # so that there is a worker
        client = AskedClient()
        answer = await here.answers(BESIDE, peer=client, timeout_s=2, id="run-2")
        assert answer["error"] == {
            "type": "TimeoutError",
            "message": "The program was ended after 2 seconds.",
            "line": None,
        }
        assert client.given_up.is_set()
        assert here.files.given_up == 1


@pytest.mark.behaviour("programs.asked_in_place", "programs.limits")
async def test_a_clock_stands_still_only_while_a_program_waits_for_people_alone() -> None:
    wall = RunClock(100.0)
    course = RunActivity(wall)
    stood: list[bool] = []
    with wall.start():
        async with course.track_call(1):
            course.set_idle(True)
            stood.append(wall.is_paused)
            with course.track_question(1):
                stood.append(wall.is_paused)
                async with course.track_call(2):
                    course.set_idle(True)
                    stood.append(wall.is_paused)
                    with course.track_question(2):
                        stood.append(wall.is_paused)
                # The second has its answer, with which the program goes on, until it waits again.
                stood.append(wall.is_paused)
                course.set_idle(True)
                stood.append(wall.is_paused)
                course.set_idle(False)
                stood.append(wall.is_paused)
            course.set_idle(True)
            stood.append(wall.is_paused)
    assert stood == [False, True, False, True, False, True, False, False]


class Asked:
    """A program whose client is asked, and what became of it."""

    def __init__(
        self, here: Place, code: str = DELETES, *, by: PrincipalId = LOCAL_PRINCIPAL, id: str = "run-1"
    ) -> None:
        self.client = LateClient()
        self.ended: CallOutcome | None = None
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()
        self._here = here
        self._code = code
        self._by = by
        self._id = id

    async def run(self, seconds: float = 120) -> None:
        with self.scope:
            self.ended = await self._here.runs(
                self._code, peer=self.client, by=self._by, id=self._id, timeout_s=seconds
            )
        self.over.set()


async def holds(here: Place, tasks: TaskGroup) -> anyio.CancelScope:
    """Has a turn when this is over, until it is cancelled."""
    scope, reached = anyio.CancelScope(), holding(here, 1)

    async def run() -> None:
        with scope:
            await here.runs("await files.hold()", id="holder")

    tasks.start_soon(run)
    await reached.wait()
    return scope


async def is_done(here: Place) -> None:
    """When what somebody said yes to has come to its server."""
    while not here.called("delete"):
        await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("programs.gives_its_turn")
async def test_a_program_that_waits_for_a_person_in_its_client_keeps_nobody_from_running(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(runs=1)) as here, anyio.create_task_group() as tasks:
        asked = Asked(here, CLEANS)
        tasks.start_soon(asked.run)
        await asked.client.was_asked.wait()
        assert await here.answers("1 + 1", id="run-2") == ok(2)
        asked.client.decided.set()
        await asked.over.wait()
        assert asked.ended is not None
        assert said(asked.ended) == CLEANED


@pytest.mark.behaviour("programs.gives_its_turn")
async def test_what_was_confirmed_is_done_at_once_and_the_program_goes_on_in_its_turn(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(runs=1)) as here, anyio.create_task_group() as tasks:
        asked = Asked(here, f"gone = {DELETES}\nsum = await files.add(a=1, b=2)\ngone")
        tasks.start_soon(asked.run)
        await asked.client.was_asked.wait()
        holder = await holds(here, tasks)
        asked.client.decided.set()
        await is_done(here)
        await anyio.wait_all_tasks_blocked()
        assert (here.called("add"), asked.over.is_set()) == ([], False)
        holder.cancel()
        await asked.over.wait()
        assert asked.ended is not None
        assert said(asked.ended) == ok("a is gone", "delete", "add")


@pytest.mark.behaviour("programs.gives_its_turn", "programs.limits")
async def test_a_program_that_gets_no_turn_again_in_its_time_is_ended_and_says_so(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(runs=1)) as here, anyio.create_task_group() as tasks:
        await here.answers("1")  # so that there is a worker
        asked = Asked(here)
        tasks.start_soon(asked.run, 2)
        await asked.client.was_asked.wait()
        holder = await holds(here, tasks)
        asked.client.decided.set()
        await asked.over.wait()
        assert asked.ended is not None
        answer = said(asked.ended)
        assert answer["error"] == {"type": "TimeoutError", "message": LACKED, "line": None}
        assert answer["tool_calls"] == [{"name": "files.delete", "ok": True}]
        holder.cancel()
        assert await here.answers("1 + 1", id="run-3") == ok(2)


@pytest.mark.behaviour("programs.gives_its_turn", "programs.cancelled")
@pytest.mark.parametrize("answered", [False, True])
async def test_who_gives_up_a_program_that_has_no_turn_takes_none_from_others(tmp_path: Path, answered: bool) -> None:
    async with place(tmp_path, settings=CodeSettings(runs=1)) as here, anyio.create_task_group() as tasks:
        asked = Asked(here)
        tasks.start_soon(asked.run)
        await asked.client.was_asked.wait()
        holder = await holds(here, tasks)
        if answered:
            asked.client.decided.set()
            await is_done(here)
        asked.scope.cancel()
        await asked.over.wait()
        late = await here.answers("1 + 1", timeout_s=0.2, id="run-2")
        assert late["error"]["message"].startswith("So many programs run now that this one got no turn within 0.2 ")
        holder.cancel()
        assert await here.answers("1 + 1", id="run-3") == ok(2)


@pytest.mark.behaviour("programs.few_wait_in_clients")
async def test_beyond_a_few_programs_of_one_caller_and_of_all_a_ticket_is_asked_for(tmp_path: Path) -> None:
    # Two in all, and one of each caller.
    async with place(tmp_path, settings=CodeSettings(runs=2)) as here, anyio.create_task_group() as tasks:
        eve, mallory = PrincipalId("eve"), PrincipalId("mallory")
        for person in (eve, mallory):
            await here.house.does(SetPrincipalConfirmation(person, interactive=True))
        first, second = Asked(here), Asked(here, by=eve, id="run-2")
        tasks.start_soon(first.run)
        await first.client.was_asked.wait()
        again = AskedClient(YES)
        ticket_of(await here.runs(DELETES, peer=again, id="run-3"))
        tasks.start_soon(second.run)
        await second.client.was_asked.wait()
        ticket_of(await here.runs(DELETES, peer=again, by=mallory, id="run-4"))
        assert again.asked == []
        for each in (first, second):
            each.client.decided.set()
            await each.over.wait()
        assert said(await here.runs(DELETES, peer=again, by=mallory, id="run-5")) == ok("a is gone", "delete")


@pytest.mark.behaviour("programs.few_wait_in_clients")
async def test_whoever_asks_for_one_too_many_is_told_how_many_wait() -> None:
    turns, settings = ConcurrencySlots(), CodeSettings(runs=4)
    told: list[str] = []
    with ExitStack() as open_:
        for name in ("a", "a", "a", "b", "b", "c"):
            try:
                open_.enter_context(turns.track_question(PrincipalId(name), settings))
            except PeerRequestError as error:
                told.append(error.message)
    assert told == [
        "2 programs of this caller wait for an answer in its client already, and no more of them do at once. Answer "
        "those first.",
        "4 programs wait for an answer in their clients already, and no more of them do at once. Try again later.",
    ]
    with turns.track_question(PrincipalId("c"), settings):
        pass
