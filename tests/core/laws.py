"""The laws of the core as checks. Each takes the functions it is held against, so that broken ones can be tried too."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from tests.core.boards import ME, NOW, SECRET, Board

from pegboard.core.calls.call import (
    AdmittedCall,
    ArgumentValidator,
    BadArguments,
    ConfirmationRefusal,
    LockedToolRefusal,
    Refusal,
    ToolCall,
    UnknownTool,
)
from pegboard.core.calls.call import admit as real_admit
from pegboard.core.calls.call import refusal_text as real_refusal_text
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution, judge_tool
from pegboard.core.decision.resolve import resolve as real_resolve
from pegboard.core.decision.rules import RULES, Rule
from pegboard.core.decision.status import (
    PRECEDENCE,
    LockReason,
    LockStatus,
    NearUnknownDenial,
    explain_reason,
    remedy,
    status_of,
)
from pegboard.core.decision.unknown_names import with_suspects
from pegboard.core.explain.explain import DecisionTrail
from pegboard.core.explain.explain import explain as real_explain
from pegboard.core.model.catalogue import Catalogue, Health, Listing
from pegboard.core.model.catalogue import build_catalogue as real_catalogue
from pegboard.core.model.ids import BuiltinKey, CallId, PrincipalId, ToolId, WireName
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.server import Trust
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.wire_names import assign_wire_names as real_wire_names
from pegboard.core.model.wire_names import long_names
from pegboard.core.policy.policy import Policy

Resolve = Callable[..., Resolution]
"""Takes a catalogue, a policy and a view; and the names held before, as `held`."""
Explain = Callable[[Catalogue, Policy, View, ToolId], DecisionTrail | None]
Admit = Callable[[ToolCall, Resolution, ArgumentValidator], AdmittedCall | Refusal]
VerdictOn = Callable[[Tool, Health | None, Policy, tuple[Rule, ...]], OpenTool | LockedTool]
WireNames = Callable[[Sequence[ToolId], Mapping[WireName, ToolId]], Mapping[ToolId, WireName]]


@dataclass(frozen=True)
class Core:
    """What the laws are about. A mutant is this, with one function replaced."""

    resolve: Resolve = real_resolve
    explain: Explain = real_explain
    admit: Admit = real_admit
    refusal_text: Callable[[Refusal], str] = real_refusal_text
    sentence: Callable[[LockReason], str] = explain_reason
    verdict_on: VerdictOn = judge_tool
    wire_names: WireNames = real_wire_names
    catalogue: Callable[[Sequence[Listing]], Catalogue] = real_catalogue


def opened(resolution: Resolution) -> frozenset[ToolId]:
    return frozenset(tool.id for tool in resolution.open_tools())


def call(name: str) -> ToolCall:
    return ToolCall(CallId("c1"), WireName(name), {}, ME, NOW)


def fits(tool: Tool, arguments: object) -> tuple[str, ...]:
    return ()


def every_tool_gets_exactly_one_verdict(core: Core, board: Board, view: View) -> None:
    resolution = core.resolve(board.catalogue, board.policy, view)
    assert [*resolution.verdicts] == [*board.tools]
    assert resolution.names.keys() == {i for i, v in resolution.verdicts.items() if not isinstance(v, HiddenTool)}
    # What a misspelled denial may mean depends on the catalogue, so it is worked out once and not by a rule.
    policy = with_suspects(board.catalogue, board.policy)
    for id, verdict in resolution.verdicts.items():
        assert verdict.tool == board.tools[id]
        if isinstance(verdict, HiddenTool):
            continue
        health = board.catalogue.health(id.source)
        said = [reason for rule in RULES if (reason := rule(board.tools[id], health, policy)) is not None]
        assert isinstance(verdict, OpenTool) == (not said)
        if isinstance(verdict, LockedTool):
            told = [verdict.reason, *verdict.other_reasons]
            assert len(told) == len(said)
            assert all(reason in said for reason in told)
            assert [*map(status_of, told)] == sorted(map(status_of, said), key=[*LockStatus].index)
            assert verdict.status is min(map(status_of, said), key=PRECEDENCE.__getitem__)


def a_narrowing_never_opens(core: Core, board: Board, view: View, by: Selection) -> None:
    wide = core.resolve(board.catalogue, board.policy, view)
    narrow = core.resolve(board.catalogue, board.policy, view.narrow(by))
    assert opened(narrow) <= opened(wide)
    assert narrow.names.keys() <= wide.names.keys()


def narrowings_commute(core: Core, board: Board, view: View, one: Selection, other: Selection) -> None:
    there = core.resolve(board.catalogue, board.policy, view.narrow(one).narrow(other))
    back = core.resolve(board.catalogue, board.policy, view.narrow(other).narrow(one))
    assert opened(there) == opened(back)
    assert there.names == back.names
    assert {*map(str, there.unknown_in_narrowing)} == {*map(str, back.unknown_in_narrowing)}


def a_rule_only_locks(core: Core, board: Board, order: Sequence[Rule], left_out: int) -> None:
    """In any order the same verdict; and what fewer rules lock, more rules do not open."""
    some = tuple(order[:left_out])
    for id, tool in board.tools.items():
        health = board.catalogue.health(id.source)
        usual = core.verdict_on(tool, health, board.policy, RULES)
        shuffled = core.verdict_on(tool, health, board.policy, tuple(order))
        assert isinstance(shuffled, OpenTool) == isinstance(usual, OpenTool)
        if isinstance(core.verdict_on(tool, health, board.policy, some), LockedTool):
            assert isinstance(usual, LockedTool)


def seen(spec: ToolSpec) -> str:
    """All that a model sees of a tool, worked out apart from the fingerprint."""
    shown = {field.name: getattr(spec, field.name) for field in fields(spec) if field.init}
    return json.dumps(shown, sort_keys=True, default=dict)


def an_open_tool_is_what_was_approved(core: Core, board: Board, view: View) -> None:
    for tool in core.resolve(board.catalogue, board.policy, view).open_tools():
        source = tool.id.source
        if isinstance(source, BuiltinKey):
            continue
        server = board.policy.servers.get(source)
        assert server is not None
        if board.policy.trust(server) is not Trust.OPEN:
            approval = board.policy.decisions.approvals.get(tool.id)
            assert approval is not None
            assert seen(approval.spec) == seen(tool.spec)


def a_change_locks_it_again(core: Core, board: Board, id: ToolId, change: Callable[[ToolSpec], ToolSpec]) -> None:
    """The board is open before. Whatever the change, the tool waits, and no other tool is touched by it."""
    spec = board.tools[id].spec
    before = opened(core.resolve(board.catalogue, board.policy, View(ME)))
    assert before == board.tools.keys()
    after = opened(core.resolve(board.with_spec(id, change(spec)).catalogue, board.policy, View(ME)))
    source = id.source
    asks = not isinstance(source, BuiltinKey) and board.policy.trust(board.policy.servers[source]) is not Trust.OPEN
    assert after == (before - {id} if asks and seen(change(spec)) != seen(spec) else before)


def explaining_is_deciding(core: Core, board: Board, view: View) -> None:
    resolution = core.resolve(board.catalogue, board.policy, view)
    for id, verdict in resolution.verdicts.items():
        trail = core.explain(board.catalogue, board.policy, view, id)
        assert trail is not None
        assert (trail.tool, trail.verdict, trail.wire_name) == (id, verdict, resolution.names.get(id))
        of_view, of_rules = trail.steps[: -len(RULES)], trail.steps[-len(RULES) :]
        assert all(step.passes for step in of_view) == (not isinstance(verdict, HiddenTool))
        # Whatever else says no is told beside the first that does.
        assert len(trail.remaining_reasons) == max(0, sum(not step.passes for step in trail.steps) - 1)
        against = [step.answer for step in of_rules if not step.passes]
        match verdict:
            case OpenTool():
                assert against == []
            case LockedTool(_, reason, more):
                told = [
                    f"{status_of(r).value}: {explain_reason(r)} {remedy(r, Audience.OPERATOR)}" for r in (reason, *more)
                ]
                assert sorted(against) == sorted(told)
            case HiddenTool():
                pass


def a_view_never_widens(core: Core, board: Board, view: View) -> None:
    """Whatever an agent puts into its request, it gets no more than without it."""
    asked = core.resolve(board.catalogue, board.policy, view)
    plain = core.resolve(board.catalogue, board.policy, View(view.principal))
    assert opened(asked) <= opened(plain)
    assert {i for i, v in asked.verdicts.items() if isinstance(v, LockedTool)} <= {
        i for i, v in plain.verdicts.items() if isinstance(v, LockedTool)
    }
    for id in asked.verdicts.keys() - opened(plain):
        for name in (str(id), id.name, *([asked.names[id]] if id in asked.names else [])):
            verdict = core.admit(call(name), asked, fits)
            assert not isinstance(verdict, AdmittedCall) or verdict.tool.id in opened(plain)


def only_an_open_tool_is_admitted(core: Core, board: Board, view: View) -> None:
    resolution = core.resolve(board.catalogue, board.policy, view)
    for id, name in resolution.names.items():
        asked = replace(call(name), arguments={"wrong": True})
        well = core.admit(call(name), resolution, fits)
        badly = core.admit(asked, resolution, lambda tool, arguments: tuple(arguments))
        match resolution.verdicts[id]:
            case OpenTool(tool):
                assert well == AdmittedCall(call(name), tool)
                assert badly == BadArguments(id, ("wrong",))
            case LockedTool(_, reason):
                assert well == badly == LockedToolRefusal(id, reason)
            case HiddenTool():
                raise AssertionError("a tool outside the view has a name")
    for id in board.tools.keys() - resolution.names.keys():
        verdict, text = core.admit(call(str(id)), resolution, fits), str(id)
        if not isinstance(verdict, UnknownTool):
            # The id of a built-in is a plain name, which may be that of another tool as well.
            another = _told(verdict)
            assert another is not None
            assert another != id
            assert another in resolution.names
            assert text in (resolution.names[another], another.name, *long_names(another))


def what_stands_beside_decides_nothing(core: Core, board: Board, view: View) -> None:
    resolution = core.resolve(board.catalogue, board.policy, view)
    beside = {"_meta": b'{"io.modelcontextprotocol/clientInfo":{"name":"operator"}}', "approve": b"true"}
    for id in board.tools:
        asked = call(resolution.names.get(id, str(id)))
        dressed = replace(asked, beside=beside, headers={b"authorization": b"Bearer operator"}, presentation="operator")
        dressed = replace(dressed, kept_as=CallId("run"), made_by=PrincipalId("operator"), audience=Audience.OPERATOR)
        plain, told = core.admit(asked, resolution, fits), core.admit(dressed, resolution, fits)
        assert told == (plain._replace(call=dressed) if isinstance(plain, AdmittedCall) else plain)


def _told(verdict: AdmittedCall | Refusal) -> ToolId | None:
    match verdict:
        case AdmittedCall(_, tool):
            return tool.id
        case LockedToolRefusal(id) | BadArguments(id) | ConfirmationRefusal(id):
            return id
        case UnknownTool():
            return None


def the_withheld_stays_withheld(core: Core, board: Board, view: View) -> None:
    """No text for an agent repeats what an unapproved, changed or quarantined tool says of itself."""
    resolution = core.resolve(board.catalogue, board.policy, view)
    said = [
        *resolution.names.values(),
        *map(str, resolution.unknown_in_narrowing),
        *map(str, resolution.unknown_in_selection),
    ]
    for id, verdict in resolution.verdicts.items():
        if not isinstance(verdict, LockedTool):
            continue
        told = {status_of(reason) for reason in (verdict.reason, *verdict.other_reasons)}
        if not told & {LockStatus.PENDING_APPROVAL, LockStatus.SERVER_QUARANTINED}:
            continue
        said += [core.sentence(reason) for reason in (verdict.reason, *verdict.other_reasons)]
        for name in (resolution.names[id], resolution.names[id] + "x", str(id)):
            said.append(core.refusal_text(core.admit(call(name), resolution, _quoting)))  # type: ignore[arg-type]  # a locked tool is never admitted
    assert not any(SECRET in text for text in said)


def _quoting(tool: Tool, arguments: object) -> tuple[str, ...]:
    """A validator that quotes the schema, as validators do: it must not be asked about a locked tool."""
    return (json.dumps(dict(tool.spec.input_schema)),)


def order_is_deterministic(core: Core, board: Board, view: View, arrival: Sequence[int]) -> None:
    """Providers answer in any order; the same answers give the same board, in the same order."""
    listings = [*board.catalogue.listings.values()]
    shuffled = [listings[place] for place in arrival]
    decided = board.policy.decisions
    rebuilt = replace(board.policy, decisions=replace(decided, approvals=dict(reversed([*decided.approvals.items()]))))
    one = core.resolve(core.catalogue(listings), board.policy, view)
    other = core.resolve(core.catalogue(shuffled), rebuilt, view)
    assert [*one.verdicts.items()] == [*other.verdicts.items()]
    assert [*one.names.items()] == [*other.names.items()]
    assert (one.unknown_in_selection, one.unknown_in_narrowing) == (
        other.unknown_in_selection,
        other.unknown_in_narrowing,
    )


def names_are_unique_and_never_move(core: Core, before: Sequence[ToolId], after: Sequence[ToolId]) -> None:
    """`after` is the same board later: tools came and went. A name that was given keeps its owner or has none."""
    given = core.wire_names(before, {})
    assert len({*given.values()}) == len(given) == len(before)
    assert core.wire_names([*reversed(before)], {}) == given
    held = {name: id for id, name in given.items()}
    later = core.wire_names(after, held)
    assert len({*later.values()}) == len(later) == len(after)
    assert all(held.get(name, id) == id for id, name in later.items())


def a_locked_tool_renames_no_open_one(core: Core, board: Board) -> None:
    """As if what is locked did not exist, whatever it is called."""
    resolution = core.resolve(board.catalogue, board.policy, View(ME))
    alone = opened(resolution)
    listings = board.catalogue.listings.values()
    rest = [replace(each, tools=tuple(tool for tool in each.tools if tool.id in alone)) for each in listings]
    without = core.resolve(real_catalogue(rest), board.policy, View(ME))
    if opened(without) != alone:
        # A denial that named what is left out names no tool then, and locks another that it may mean.
        locked = [verdict.reason for verdict in without.verdicts.values() if isinstance(verdict, LockedTool)]
        assert any(isinstance(reason, NearUnknownDenial) for reason in locked)
        return
    assert {id: name for id, name in resolution.names.items() if id in alone} == without.names


def an_old_name_reaches_its_tool_and_no_other(
    core: Core, board: Board, id: ToolId, lock: Callable[[Board, ToolId], Board]
) -> None:
    """All of its name locked in turn: whoever remembers a list from before reaches the same tools as then."""
    held = dict[WireName, ToolId]()
    alike = [other for other in sorted(board.tools) if other.name == id.name]
    for now in (board, *(lock(board, other) for other in alike), board):
        resolution = core.resolve(now.catalogue, now.policy, View(ME), held=held)
        assert {name: resolution.find_tool(name) for name in held} == held
        assert all(held.get(name, id) == id for name, id in resolution.by_name.items())
        held |= resolution.names_of_open_tools()
