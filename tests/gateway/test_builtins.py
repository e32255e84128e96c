"""The gateway's own tools: on the board by the same rules as any other, run with the view of whoever calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import anyio
import pytest
from tests.core.boards import FILE, ME, key
from tests.gateway.asking import YES, ticket_of
from tests.support.asking import AskedClient
from tests.support.doubles import OK, Providers, named
from tests.support.house import PATIENCE, House, call_of, declared, opened

from pegboard.core.calls.call import (
    AdmittedCall,
    BadArguments,
    CallCancellation,
    CallRecord,
    ConfirmationRefusal,
    LockedToolRefusal,
    Outcome,
    ProviderFailure,
    Refusal,
    ToolSuccess,
    UnknownTool,
)
from pegboard.core.calls.tickets import ConsentScope
from pegboard.core.commands.commands import SetGrants, SetOverride, SetSwitch
from pegboard.core.decision.resolve import HiddenTool
from pegboard.core.decision.visibility import (
    HiddenByGrants,
    HiddenByLaunchFilter,
    HiddenByNarrowerView,
    HiddenBySelection,
)
from pegboard.core.explain.explain import explain
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import BUILTIN, LOCAL_PRINCIPAL, BuiltinKey, ToolId
from pegboard.core.model.patterns import LaunchFilter, Pattern, parse_launch_filter
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.tool import JsonSchema, Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import DeclaredSettings, Denial
from pegboard.gateway import caller
from pegboard.gateway.builtins import MustConfirm
from pegboard.gateway.doctor import diagnose
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.store.open import open_store
from pegboard.store.secrets import key_of

pytestmark = pytest.mark.anyio

GITHUB = key("dev~github")
SCHEMA: JsonSchema = {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}
ASK = ToolId(BuiltinKey(), "ask")
READ = {"sql": "read"}
WRITE = {"sql": "write"}


@dataclass
class Ours:
    """A built-in that must be confirmed for what writes, and does as a test says."""

    tool: Tool = field(default_factory=lambda: Tool(ASK, ToolSpec("ask", input_schema=SCHEMA)))
    answer: Outcome | Refusal | BaseException = OK
    ran: list[tuple[AdmittedCall, View]] = field(default_factory=list[tuple[AdmittedCall, View]])
    held: anyio.Event | None = None
    began: anyio.Event = field(default_factory=anyio.Event)
    given_up: int = 0

    async def call(
        self, admitted: AdmittedCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | Refusal | MustConfirm:
        if admitted.call.arguments["sql"] == "write" and not admitted.confirm:
            return MustConfirm()
        self.ran.append((admitted, view))
        if self.held is not None:
            self.began.set()
            try:
                await self.held.wait()
            except anyio.get_cancelled_exc_class():
                self.given_up += 1
                raise
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def named_ours(name: str) -> Ours:
    return Ours(Tool(ToolId(BuiltinKey(), name), ToolSpec(name, input_schema=SCHEMA)))


@asynccontextmanager
async def housed(declaration: DeclaredSettings | None = None, *builtins: Ours) -> AsyncIterator[House]:
    async with opened(declaration or declared(GITHUB), Providers({GITHUB: named(GITHUB, "search")})) as house:
        house.gateway.builtins.register(*builtins)
        with anyio.fail_after(PATIENCE):
            yield house


@asynccontextmanager
async def with_tickets(folder: Path, ours: Ours) -> AsyncIterator[House]:
    url = f"sqlite:///{folder / 'tickets.db'}"
    async with (
        open_store(url, clock=lambda: datetime.now(UTC), key=key_of({}, folder)) as kept,
        opened(declared(GITHUB), Providers({GITHUB: named(GITHUB, "search")}), tickets=kept.tickets) as house,
    ):
        house.gateway.builtins.register(ours)
        with anyio.fail_after(PATIENCE):
            yield house


@pytest.mark.behaviour("builtins.on_the_board")
async def test_a_built_in_hangs_on_the_board_while_it_is_registered_and_the_board_is_as_before_without() -> None:
    async with housed() as house:
        before = house.board.catalogue
        ours, other = Ours(), named_ours("zoom")
        house.gateway.builtins.register(other, ours)
        up = ProviderUp(house.clock())
        assert house.board.catalogue.listings[BuiltinKey()] == Listing(BuiltinKey(), up, (ours.tool, other.tool))
        assert house.statuses() == {"ask": "open", "zoom": "open", "mcp:dev~github:search": "open"}
        house.clock.passes(60)
        house.gateway.builtins.withdraw("zoom")
        assert house.board.catalogue.listings[BuiltinKey()] == Listing(BuiltinKey(), up, (ours.tool,))
        house.gateway.builtins.withdraw("ask", "never there")
        assert house.board.catalogue == before
        assert await house.gateway.caller.call(call_of("ask", READ), View()) == UnknownTool("ask")


@pytest.mark.behaviour("builtins.on_the_board")
async def test_an_exchange_of_built_ins_is_one_change_of_the_board() -> None:
    async with housed(None, named_ours("one")) as house:
        stamps = [house.board.revision]
        with house.board.changes.subscribe() as bell:
            house.gateway.builtins.replace(("one",), (named_ours("two"),))
            await bell.wait()
        stamps.append(house.board.revision)
        assert [tool.id.name for tool in house.board.catalogue.listings[BuiltinKey()].tools] == ["two"]
        house.gateway.builtins.replace((), ())
        assert house.board.revision is stamps[1]
        assert stamps[0] is not stamps[1]


@pytest.mark.behaviour("builtins.on_the_board", "audit.every_call")
async def test_a_call_of_a_built_in_is_validated_run_with_its_view_and_recorded_once() -> None:
    ours = Ours()
    async with housed(None, ours) as house:
        refused = await house.gateway.caller.call(call_of("ask", {"sql": 7}), View())
        assert isinstance(refused, BadArguments)
        call, view = call_of("ask", READ), View(narrowings=(Selection(enabled=("ask",)),))
        assert await house.gateway.caller.call(call, view) is OK
        assert ours.ran == [(AdmittedCall(call, ours.tool), view)]
        assert [record._replace(duration=timedelta()) for record in house.audit.records] == [
            CallRecord(call_of("ask", {"sql": 7}), ASK, refused, timedelta()),
            CallRecord(call, ASK, OK, timedelta()),
        ]


@pytest.mark.behaviour("audit.every_call")
async def test_the_time_that_a_call_took_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes a second further with each look: at the start of a call, once it is admitted, and at its end. A
    built-in's own time starts once it is admitted."""
    async with housed(None, Ours()) as house:
        monkeypatch.setattr(caller, "perf_counter", count(1_000).__next__)
        await house.gateway.caller.call(call_of("search"), View())
        await house.gateway.caller.call(call_of("ask", READ), View())
        assert [(record.call.name, record.duration.total_seconds()) for record in house.audit.records] == [
            ("search", 2.0),
            ("ask", 1.0),
        ]


@pytest.mark.behaviour("builtins.on_the_board")
async def test_switches_denials_and_overrides_hold_for_built_ins_as_for_any_tool() -> None:
    denied = replace(declared(GITHUB), denials=(Denial(Pattern("builtin", "zo*"), FILE),))
    ours = Ours()
    async with housed(denied, ours, named_ours("zoom")) as house:
        assert house.statuses()["zoom"] == "disabled_by_config"
        await house.does(SetSwitch(ASK, enabled=False))
        assert house.statuses()["ask"] == "disabled_by_user"
        refusal = await house.gateway.caller.call(call_of("ask", READ), View())
        assert isinstance(refusal, LockedToolRefusal)
        trail = explain(house.board.catalogue, house.board.policy, View(), ASK)
        assert trail is not None
        assert [step.passes for step in trail.steps].count(False) == 1
        await house.does(SetSwitch(ASK, enabled=True), SetOverride(Override(BUILTIN, ASK, requires_confirmation=True)))
        waiting = await house.gateway.caller.call(call_of("ask", READ), View())
        assert isinstance(waiting, ConfirmationRefusal)
        assert ours.ran == []
        assert diagnose(house.board) == ()


@pytest.mark.behaviour("builtins.on_the_board", "filter.builtin_allowed")
async def test_selection_grants_narrowing_and_filter_take_built_ins_away_as_any_tool() -> None:
    async with housed(None, Ours()) as house:
        barred = parse_launch_filter({"deny_builtins": ["a*"]})
        assert isinstance(barred, LaunchFilter)
        only = parse_launch_filter({"allow_tools": ["dev:*"]})
        assert isinstance(only, LaunchFilter)
        views = {
            "narrowed": View(narrowings=(Selection(TheseToolsets(("dev",))),)),
            "barred": View(filters=(barred,)),
            "chosen": View(narrowings=(Selection(TheseToolsets(("builtin",))),)),
            "other filters": View(filters=(only,)),
        }
        removals = {name: _removed(house, view) for name, view in views.items()}
        assert {name: type(removal) for name, removal in removals.items()} == {
            "narrowed": HiddenByNarrowerView,
            "barred": HiddenByLaunchFilter,
            "chosen": type(None),
            "other filters": type(None),
        }
        await house.does(SetGrants(LOCAL_PRINCIPAL, frozenset({GITHUB.toolset})))
        assert isinstance(_removed(house, View()), HiddenByGrants)
        await house.does(SetGrants(LOCAL_PRINCIPAL, frozenset({GITHUB.toolset, BUILTIN})))
        assert _removed(house, View()) is None
    chosen = replace(declared(GITHUB), selection=Selection(TheseToolsets(("dev",))))
    async with housed(chosen, Ours()) as house:
        assert isinstance(_removed(house, View()), HiddenBySelection)


def _removed(house: House, view: View) -> object:
    verdict = house.board.resolution(view).verdicts[ASK]
    return verdict.reason if isinstance(verdict, HiddenTool) else None


@pytest.mark.behaviour("builtins.asks_by_its_arguments")
async def test_a_built_in_that_finds_a_call_grave_has_a_person_asked_and_runs_it_after_a_yes() -> None:
    ours = Ours()
    async with housed(None, ours) as house:
        client = AskedClient(YES)
        assert await house.gateway.caller.call(call_of("ask", READ), View(), None, client) is OK
        assert client.asked == []
        call = call_of("ask", WRITE)
        assert await house.gateway.caller.call(call, View(), None, client) is OK
        ((_, params),) = client.asked
        assert '{"sql": "write"}' in str(params["message"])
        assert ours.ran[1:] == [(AdmittedCall(call, ours.tool, confirm=True), View())]
        no = await house.gateway.caller.call(call_of("ask", WRITE), View(), None, AskedClient({"action": "decline"}))
        assert isinstance(no, ConfirmationRefusal)
        assert [type(record.outcome) for record in house.audit.records] == [
            ToolSuccess,
            ToolSuccess,
            ConfirmationRefusal,
        ]
        assert len(ours.ran) == 2


@pytest.mark.behaviour("builtins.asks_by_its_arguments", "confirmation.one_decision_one_call")
async def test_where_nobody_can_be_asked_the_call_waits_as_a_ticket_and_runs_once_after_a_yes(tmp_path: Path) -> None:
    ours = Ours()
    async with with_tickets(tmp_path, ours) as house:
        carry = house.gateway.caller.call
        ticket = ticket_of(await carry(call_of("ask", WRITE), View()))
        assert ours.ran == []
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        assert await carry(call_of("pegboard_ticket", {"ticket": ticket, "wait": 0}), View()) is OK
        assert [admitted.confirm for admitted, _ in ours.ran] == [True]
        assert ticket_of(await carry(call_of("ask", WRITE), View())) != ticket
        assert len(ours.ran) == 1


@pytest.mark.behaviour("builtins.asks_by_its_arguments")
async def test_a_yes_to_all_calls_of_a_built_in_is_none_to_a_grave_one(tmp_path: Path) -> None:
    ours = Ours()
    async with with_tickets(tmp_path, ours) as house:
        carry = house.gateway.caller.call
        await house.does(SetOverride(Override(BUILTIN, ASK, requires_confirmation=True)))
        ticket = ticket_of(await carry(call_of("ask", READ), View()))
        await house.gateway.tickets.allow(ticket, ConsentScope.ALWAYS, ME)
        for _ in range(2):
            assert await carry(call_of("ask", READ), View()) is OK
        assert [admitted.confirm for admitted, _ in ours.ran] == [False, False]
        grave = ticket_of(await carry(call_of("ask", WRITE), View()))
        assert len(ours.ran) == 2
        await house.gateway.tickets.allow(grave, ConsentScope.ONCE, ME)
        assert await carry(call_of("ask", WRITE), View()) is OK
        assert len(ours.ran) == 3


@pytest.mark.behaviour("builtins.asks_by_its_arguments")
async def test_a_yes_for_what_a_built_in_was_before_is_none(tmp_path: Path) -> None:
    ours = Ours()
    async with with_tickets(tmp_path, ours) as house:
        carry = house.gateway.caller.call
        ticket = ticket_of(await carry(call_of("ask", WRITE), View()))
        await house.gateway.tickets.allow(ticket, ConsentScope.ONCE, ME)
        changed = Ours(Tool(ASK, ToolSpec("ask", description="Now another.", input_schema=SCHEMA)))
        house.gateway.builtins.register(changed)
        assert ticket_of(await carry(call_of("ask", WRITE), View())) != ticket
        assert (ours.ran, changed.ran) == ([], [])


@pytest.mark.behaviour("builtins.on_the_board")
@pytest.mark.parametrize("error", [RuntimeError("boom"), asyncio.CancelledError()], ids=["error", "cancels itself"])
async def test_a_built_in_that_breaks_takes_nobody_along(error: BaseException) -> None:
    async with housed(None, Ours(answer=error)) as house:
        ended = await house.gateway.caller.call(call_of("ask", READ), View())
        assert ended == ProviderFailure("ask broke off", may_have_run=True)
        assert [record.outcome for record in house.audit.records] == [ended]


@pytest.mark.behaviour("builtins.on_the_board")
async def test_a_cancelled_call_of_a_built_in_is_cancelled_there_and_recorded() -> None:
    ours = Ours(held=anyio.Event())
    async with housed(None, ours) as house, anyio.create_task_group() as tasks:
        tasks.start_soon(house.gateway.caller.call, call_of("ask", READ), View())
        await ours.began.wait()
        tasks.cancel_scope.cancel()
    assert ours.given_up == 1
    assert [record.outcome for record in house.audit.records] == [CallCancellation()]


@pytest.mark.behaviour("builtins.on_the_board")
async def test_a_pinned_argument_of_a_built_in_reaches_it_and_not_its_caller() -> None:
    ours = Ours(answer=ToolSuccess(b'{"content":[{"type":"text","text":"ran select-the-secret here"}]}'))
    async with housed(None, ours) as house:
        pinned = {"sql": ArgumentOverride(pin=freeze_json("select-the-secret"))}
        await house.does(SetOverride(Override(BUILTIN, ASK, arguments=pinned)))
        ended = await house.gateway.caller.call(call_of("ask"), View())
        assert isinstance(ended, ToolSuccess)
        assert b"select-the-secret" not in ended.body
        assert [admitted.call.arguments for admitted, _ in ours.ran] == [{"sql": "select-the-secret"}]
