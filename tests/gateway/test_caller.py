"""One call, start to end: each way it can end is recorded exactly once, and a refused one reaches no provider."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import anyio
import pytest
from tests.core.boards import ME, key
from tests.support.doubles import OK, MemoryAudit, Providers, held_forever, named
from tests.support.house import PATIENCE, House, call_of, declared, opened

from pegboard.core.calls.call import (
    AdmittedCall,
    BadArguments,
    CallCancellation,
    CallRecord,
    LockedToolRefusal,
    Outcome,
    ProviderFailure,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    refusal_text,
)
from pegboard.core.commands.commands import SetSwitch
from pegboard.core.decision.resolve import LockedTool
from pegboard.core.decision.status import SwitchedOff
from pegboard.core.explain.explain import explain
from pegboard.core.model.ids import PrincipalId, ToolId
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import JsonSchema, Tool, ToolSpec
from pegboard.ports.providers import Progress

pytestmark = pytest.mark.anyio

GITHUB, FILES = key("dev~github"), key("dev~files")
SEARCH = ToolId(GITHUB, "search")
SCHEMA: JsonSchema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = {
    GITHUB: (Tool(SEARCH, ToolSpec("search", input_schema=SCHEMA)), *named(GITHUB, "write")),
    FILES: named(FILES, "read"),
}
FITTING = {"query": "pegs"}


def workshop() -> Providers:
    return Providers(TOOLS)


def alone(audit: MemoryAudit) -> CallRecord:
    (record,) = audit.records
    return record


def untimed(record: CallRecord) -> CallRecord:
    return record._replace(duration=timedelta(), gate_us=None)


# How a call can end


@pytest.mark.behaviour("audit.every_call")
@pytest.mark.parametrize(
    "outcome",
    [
        ToolSuccess(b'{"content":[{"type":"text","text":"found"}]}'),
        ToolFailure(b'{"content":[],"isError":true}'),
        ProviderFailure("dev~github did not answer within 5 seconds", may_have_run=True),
        ProviderFailure("dev~github is starting", may_have_run=False),
    ],
)
async def test_what_a_provider_answers_is_given_back_and_recorded_once(outcome: Outcome) -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = outcome
        call = call_of("search", FITTING, by=PrincipalId("ann"), client="inspector 1.0")
        assert await house.gateway.caller.call(call, View(PrincipalId("ann"))) is outcome
        assert untimed(alone(house.audit)) == CallRecord(call, SEARCH, outcome, timedelta())
        gate = alone(house.audit).gate_us
        assert gate is not None
        assert timedelta() <= timedelta(microseconds=gate) <= alone(house.audit).duration
        assert alone(house.audit).duration > timedelta()
        assert house.provider(GITHUB).calls == [AdmittedCall(call, TOOLS[GITHUB][0])]


@pytest.mark.behaviour("law.only_admitted_calls_run", "audit.refusals", "admission.unknown_tool_names_near_matches")
async def test_an_unknown_tool_is_refused_with_what_is_near_and_recorded() -> None:
    async with opened(declared(GITHUB, FILES), workshop()) as house:
        call = call_of("serch", FITTING)
        refusal = await house.gateway.caller.call(call, View())
        assert refusal == UnknownTool("serch", ("search",))
        assert house.audit.records == [CallRecord(call, None, refusal, timedelta())]
        assert [made.calls for made in house.providers.made] == [[], []]


@pytest.mark.behaviour("law.only_admitted_calls_run", "audit.refusals", "locked.call_is_refused_with_the_same_words")
async def test_a_locked_tool_is_refused_in_the_words_that_explain_it_and_recorded() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        await house.gateway.operator.execute(SetSwitch(SEARCH, enabled=False, note="too chatty"), ME)
        call = call_of("search", FITTING)
        refusal = await house.gateway.caller.call(call, View())
        switch = house.board.policy.decisions.switches[SEARCH]
        assert refusal == LockedToolRefusal(SEARCH, SwitchedOff(SEARCH, switch))
        assert house.audit.records == [CallRecord(call, SEARCH, refusal, timedelta(), policy_version=1)]
        assert house.provider(GITHUB).calls == []
        trail = explain(house.board.catalogue, house.board.policy, View(), SEARCH)
        assert trail is not None
        assert [step.answer for step in trail.steps if not step.passes] == [
            refusal_text(refusal, audience=Audience.OPERATOR)
        ]


@pytest.mark.behaviour("law.only_admitted_calls_run", "audit.refusals", "admission.arguments_validated")
async def test_arguments_that_do_not_fit_are_refused_and_recorded() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        call = call_of("search", {"query": 7})
        refusal = await house.gateway.caller.call(call, View())
        assert isinstance(refusal, BadArguments)
        assert (refusal.tool, len(refusal.problems)) == (SEARCH, 1)
        assert refusal.problems[0].startswith("query: ")
        assert house.audit.records == [CallRecord(call, SEARCH, refusal, timedelta())]
        assert house.provider(GITHUB).calls == []


@pytest.mark.behaviour("request.call_follows_the_narrowing", "locked.absent_outside_the_view")
async def test_a_tool_outside_the_view_is_unknown_by_the_same_words_as_one_that_is_not_there() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        narrowed = View(narrowings=(Selection(disabled=("search",)),))
        refusals = [await house.gateway.caller.call(call_of(name, FITTING), narrowed) for name in ("search", "sxyzzy")]
        assert refusals == [UnknownTool("search"), UnknownTool("sxyzzy")]
        assert [record.tool for record in house.audit.records] == [None, None]
        assert house.provider(GITHUB).calls == []


@pytest.mark.behaviour("law.only_admitted_calls_run", "locked.status.server_unavailable")
async def test_a_server_that_is_down_is_not_called() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).falls()
        await house.until(lambda: house.status(SEARCH) == "server_unavailable")
        refusal = await house.gateway.caller.call(call_of("search", FITTING), View())
        assert isinstance(refusal, LockedToolRefusal)
        assert house.provider(GITHUB).calls == []


async def test_a_call_of_an_open_tool_without_a_provider_fails_without_having_run() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        del house.gateway.providers._running[GITHUB]
        ended = await house.gateway.caller.call(call_of("search", FITTING), View())
        assert ended == ProviderFailure("dev~github is not running", may_have_run=False)
        assert alone(house.audit).outcome == ended


# Cancelling


Asking: TypeAlias = Callable[[], Coroutine[object, object, object]]


async def cancelled_by_a_scope(call: Asking, begun: anyio.Event) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await begun.wait()
        tasks.cancel_scope.cancel()


async def cancelled_by_the_event_loop(call: Asking, begun: anyio.Event) -> None:
    task = asyncio.ensure_future(call())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.behaviour("audit.every_call")
@pytest.mark.parametrize("cancelled", [cancelled_by_a_scope, cancelled_by_the_event_loop])
async def test_a_cancelled_call_is_cancelled_at_its_provider_and_recorded(
    cancelled: Callable[[Asking, anyio.Event], Awaitable[None]],
) -> None:
    begun = anyio.Event()

    async def hold(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        begun.set()
        return await held_forever(admitted, progress)

    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = hold
        call = call_of("search", FITTING)
        with anyio.fail_after(PATIENCE):
            await cancelled(lambda: house.gateway.caller.call(call, View()), begun)
        assert house.provider(GITHUB).given_up == 1
        assert untimed(alone(house.audit)) == CallRecord(call, SEARCH, CallCancellation(), timedelta())


async def test_a_call_whose_caller_left_before_it_began_is_recorded_all_the_same() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = held_forever
        with anyio.CancelScope() as scope:
            scope.cancel()
            await house.gateway.caller.call(call_of("search", FITTING), View())
        assert [record.outcome for record in house.audit.records] == [CallCancellation()]


# Providers that break their contract


class Unheard(BaseException):
    """Nothing that a supervisor may swallow."""


async def raises(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
    raise RuntimeError("token=swordfish")


async def leaks_a_cancellation(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
    """What awaiting a future raises that somebody else cancelled."""
    forgotten: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    forgotten.cancel()
    return await forgotten


@pytest.mark.behaviour("audit.every_call")
@pytest.mark.parametrize("answer", [raises, leaks_a_cancellation])
async def test_a_provider_that_raises_fails_its_call_and_is_logged_without_breaking_the_caller(
    answer: Callable[[AdmittedCall, Progress | None], Awaitable[Outcome]], caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = answer
        call = call_of("search", {"query": "a secret question"})
        ended = await house.gateway.caller.call(call, View())
        assert ended == ProviderFailure("dev~github broke off", may_have_run=True)
        assert untimed(alone(house.audit)) == CallRecord(call, SEARCH, ended, timedelta())
        (logged,) = caplog.records
        assert logged.exc_info is not None
        assert "call-1" in logged.getMessage()
        assert "secret question" not in caplog.text
        # And the next one runs.
        house.provider(GITHUB).answers["search"] = OK
        assert await house.gateway.caller.call(call, View()) is OK


async def test_what_must_not_be_swallowed_passes_and_is_recorded() -> None:
    async def dies(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        raise Unheard

    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = dies
        with pytest.raises(Unheard):
            await house.gateway.caller.call(call_of("search", FITTING), View())
        assert [record.outcome for record in house.audit.records] == [CallCancellation()]


# Beside each other


@pytest.mark.behaviour("supervision.two_hundred_parallel_calls", "audit.every_call")
async def test_two_hundred_calls_at_once_each_get_their_own_answer_and_record() -> None:
    arrived = 0
    everyone = anyio.Event()

    async def together(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        nonlocal arrived
        arrived += 1
        if arrived == 200:
            everyone.set()
        await everyone.wait()
        return ToolSuccess(str(admitted.call.arguments["query"]).encode())

    answers: dict[int, object] = {}

    async def ask(house: House, n: int) -> None:
        call = call_of("search", {"query": f"q{n}"}, id=f"call-{n}")
        answers[n] = await house.gateway.caller.call(call, View())

    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = together
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for n in range(200):
                    tasks.start_soon(ask, house, n)
        assert answers == {n: ToolSuccess(f"q{n}".encode()) for n in range(200)}
        assert {record.call.id: record.outcome for record in house.audit.records} == {
            f"call-{n}": answers[n] for n in range(200)
        }
        assert len(house.audit.records) == 200


@pytest.mark.behaviour("supervision.slow_server_is_alone")
async def test_a_call_that_hangs_holds_up_no_other() -> None:
    async with opened(declared(GITHUB, FILES), workshop()) as house:
        house.provider(GITHUB).answers["search"] = held_forever
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(house.gateway.caller.call, call_of("search", FITTING), View())
                await anyio.wait_all_tasks_blocked()
                assert await house.gateway.caller.call(call_of("read"), View()) is OK
                assert await house.gateway.caller.call(call_of("write"), View()) is OK
                tasks.cancel_scope.cancel()


async def test_how_far_a_call_is_reaches_whoever_called() -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def steps(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        assert progress is not None
        for step in (1.0, 2.0):
            progress(step, 2.0, f"step {step:g}")
        return OK

    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = steps
        call = call_of("search", FITTING)
        assert await house.gateway.caller.call(call, View(), lambda *told: heard.append(told)) is OK
    assert heard == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]


async def test_the_arguments_as_they_came_reach_the_provider() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        call = replace(call_of("search", FITTING), raw=b'{"query": "pegs"}')
        await house.gateway.caller.call(call, View())
        assert [admitted.call.raw for admitted in house.provider(GITHUB).calls] == [b'{"query": "pegs"}']


@pytest.mark.behaviour("toolsets.switch_covers_all_tools", "locked.status.server_disabled")
async def test_a_switch_thrown_during_a_call_lets_it_end_and_refuses_the_next() -> None:
    begun, may_end = anyio.Event(), anyio.Event()

    async def slowly(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        begun.set()
        await may_end.wait()
        return OK

    async with opened(declared(GITHUB), workshop()) as house:
        house.provider(GITHUB).answers["search"] = slowly
        ended: list[object] = []

        async def ask() -> None:
            ended.append(await house.gateway.caller.call(call_of("search", FITTING), View()))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await begun.wait()
                await house.gateway.operator.execute(SetSwitch(GITHUB, enabled=False), ME)
                refused = await house.gateway.caller.call(call_of("search", FITTING), View())
                may_end.set()
        assert ended == [OK]
        assert isinstance(refused, LockedToolRefusal)
        verdict = house.board.resolution(View()).verdicts[SEARCH]
        assert isinstance(verdict, LockedTool)
        assert refused.reason == verdict.reason
