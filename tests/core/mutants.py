"""Cores that are broken on purpose, each with the law it breaks and what that law is drawn from."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from tests.core import laws
from tests.core.boards import (
    DAMAGES,
    ME,
    SOURCES,
    Board,
    boards,
    damaging,
    ids,
    open_boards,
    selections,
    views,
)
from tests.core.laws import Core
from tests.core.misnaming import (
    forgets_former_names,
    gives_a_clashing_name_to_the_first,
    gives_former_names_away,
    ignores_held_names,
    names_by_own_name,
    names_the_locked_with_the_open,
)
from tests.core.spec_changes import CHANGES

from pegboard.core.calls.call import (
    AdmittedCall,
    ArgumentValidator,
    BadArguments,
    Refusal,
    ToolCall,
    UnknownTool,
    admit,
)
from pegboard.core.decision.resolve import (
    ListingJudge,
    LockedTool,
    OpenTool,
    Resolution,
    Verdict,
    build_directory,
    judge_tool,
    resolve,
)
from pegboard.core.decision.rules import RULES, Rule, is_approved, is_switched_on, provider_is_up
from pegboard.core.decision.status import ChangedSinceApproval, LockReason, NoApproval, explain_reason, precedence_of
from pegboard.core.explain.explain import DecisionTrail, explain
from pegboard.core.model.catalogue import Catalogue, Health, Listing
from pegboard.core.model.ids import BuiltinKey, ToolId, ToolsetKey
from pegboard.core.model.selection import Selection, View, select_tools
from pegboard.core.model.server import Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Policy


@dataclass(frozen=True)
class Mutant:
    name: str
    law: Callable[..., None]
    strategies: tuple[st.SearchStrategy[object], ...]
    core: Core


def _mutated(change: Callable[[Resolution], Mapping[ToolId, Verdict]]) -> laws.Resolve:
    def mutant(catalogue: Catalogue, policy: Policy, view: View) -> Resolution:
        resolution = resolve(catalogue, policy, view)
        return replace(resolution, verdicts=change(resolution))

    return mutant


def _judging(verdict: Callable[[Tool, Health | None, Policy], OpenTool | LockedTool]) -> laws.Resolve:
    def judge(listing: Listing, policy: Policy) -> Mapping[ToolId, OpenTool | LockedTool]:
        return {tool.id: verdict(tool, listing.health, policy) for tool in listing.tools}

    return _by(judge)


def _by(judge: ListingJudge) -> laws.Resolve:
    return lambda catalogue, policy, view: resolve(catalogue, policy, view, judge=judge)


# Law 1


def drops_locked_tools(resolution: Resolution) -> Mapping[ToolId, Verdict]:
    return {id: verdict for id, verdict in resolution.verdicts.items() if not isinstance(verdict, LockedTool)}


def forgets_further_reasons(resolution: Resolution) -> Mapping[ToolId, Verdict]:
    return {
        id: replace(v, other_reasons=()) if isinstance(v, LockedTool) else v for id, v in resolution.verdicts.items()
    }


def tells_the_last_reason_first(tool: Tool, health: Health | None, policy: Policy) -> OpenTool | LockedTool:
    reasons = [reason for rule in RULES if (reason := rule(tool, health, policy)) is not None]
    if not reasons:
        return OpenTool(tool)
    first, *more = sorted(reasons, key=precedence_of, reverse=True)
    return LockedTool(tool, first, tuple(more))


def swaps_the_tool(resolution: Resolution) -> Mapping[ToolId, Verdict]:
    tools = [verdict.tool for verdict in resolution.verdicts.values()]
    return {id: replace(v, tool=tools[0]) for id, v in resolution.verdicts.items()}


# Law 2 and 6


def narrows_by_the_whole_board(catalogue: Catalogue, policy: Policy, view: View) -> Resolution:
    """What a request enables is looked up on the whole board instead of in the global result."""
    resolution = resolve(catalogue, policy, view)
    unlimited = replace(policy, declared=replace(policy.declared, selection=Selection()))
    everything = resolve(catalogue, unlimited, View(ME))
    whole = build_directory(catalogue, policy)
    wide = frozenset(id for narrowing in view.narrowings for id in select_tools(narrowing, whole).tools)
    verdicts = {id: everything.verdicts[id] if id in wide else v for id, v in resolution.verdicts.items()}
    return replace(resolution, verdicts=verdicts)


def lets_the_last_narrowing_win(catalogue: Catalogue, policy: Policy, view: View) -> Resolution:
    return resolve(catalogue, policy, replace(view, narrowings=view.narrowings[-1:]))


def narrows_in_sequence(catalogue: Catalogue, policy: Policy, view: View) -> Resolution:
    """Each narrowing looks only at what the one before left, and what it cannot find there is its own error."""
    if len(view.narrowings) < 2:
        return resolve(catalogue, policy, view)
    first = resolve(catalogue, policy, replace(view, narrowings=view.narrowings[:1]))
    left = Catalogue(
        {
            source: replace(listing, tools=tuple(t for t in listing.tools if t.id in first.names))
            for source, listing in catalogue.listings.items()
        }
    )
    return resolve(left, policy, replace(view, narrowings=view.narrowings[1:]))


# Law 3


def lets_a_rule_unlock(
    tool: Tool, health: Health | None, policy: Policy, rules: tuple[Rule, ...]
) -> OpenTool | LockedTool:
    """A switch that a person threw on opens the tool, whatever else was said before it."""
    reasons: list[LockReason] = []
    for rule in rules:
        reason = rule(tool, health, policy)
        if reason is not None:
            reasons.append(reason)
        elif rule is is_switched_on and tool.id in policy.decisions.switches:
            reasons.clear()
    return LockedTool(tool, reasons[0], tuple(reasons[1:])) if reasons else OpenTool(tool)


def asks_the_first_rule_only(
    tool: Tool, health: Health | None, policy: Policy, rules: tuple[Rule, ...]
) -> OpenTool | LockedTool:
    return judge_tool(tool, health, policy, rules[:1])


# Law 4


def approves_by(same: Callable[[ToolSpec, ToolSpec], bool]) -> laws.Resolve:
    def approved(tool: Tool, health: Health | None, policy: Policy) -> LockReason | None:
        source = tool.id.source
        server = None if isinstance(source, BuiltinKey) else policy.servers.get(source)
        if server is None or policy.trust(server) is Trust.OPEN:
            return None
        approval = policy.decisions.approvals.get(tool.id)
        if approval is None:
            return NoApproval(tool.id)
        return None if same(approval.spec, tool.spec) else ChangedSinceApproval(tool.id, approval.spec, tool.spec)

    rules = tuple(approved if rule is is_approved else rule for rule in RULES)
    return _judging(lambda tool, health, policy: judge_tool(tool, health, policy, rules))


def asks_of_servers_only(tool: Tool, health: Health | None, policy: Policy) -> OpenTool | LockedTool:
    """What a toolset brings itself is taken as it comes."""
    spares = isinstance(tool.id.source, ToolsetKey)
    return judge_tool(tool, health, policy, tuple(rule for rule in RULES if not (spares and rule is is_approved)))


def never_asks(tool: Tool, health: Health | None, policy: Policy) -> OpenTool | LockedTool:
    return judge_tool(tool, health, policy, tuple(rule for rule in RULES if rule is not is_approved))


# Law 5


def explains_with_fewer_rules(catalogue: Catalogue, policy: Policy, view: View, id: ToolId) -> DecisionTrail | None:
    trail = explain(catalogue, policy, view, id)
    assert trail is not None
    steps = tuple(replace(s, passes=True) if s.question == "Is its server up?" else s for s in trail.steps)
    return replace(trail, steps=steps)


def explains_another_view(catalogue: Catalogue, policy: Policy, view: View, id: ToolId) -> DecisionTrail | None:
    return explain(catalogue, policy, View(view.principal), id)


def decides_without_health(tool: Tool, health: Health | None, policy: Policy) -> OpenTool | LockedTool:
    return judge_tool(tool, health, policy, tuple(rule for rule in RULES if rule is not provider_is_up))


# Law 7


def admits_the_locked(call: ToolCall, resolution: Resolution, validate: ArgumentValidator) -> AdmittedCall | Refusal:
    id = resolution.by_name.get(call.name)
    if id is None:
        return UnknownTool(call.name)
    tool = resolution.verdicts[id].tool
    problems = validate(tool, call.arguments)
    return BadArguments(id, problems) if problems else AdmittedCall(call, tool)


def admits_any_arguments(call: ToolCall, resolution: Resolution, validate: ArgumentValidator) -> AdmittedCall | Refusal:
    return admit(call, resolution, lambda tool, arguments: ())


def admits_by_id(call: ToolCall, resolution: Resolution, validate: ArgumentValidator) -> AdmittedCall | Refusal:
    """Whoever knows an id gets the tool, seen or not."""
    by_id = {str(id): verdict.tool for id, verdict in resolution.verdicts.items()}
    return AdmittedCall(call, by_id[call.name]) if call.name in by_id else admit(call, resolution, validate)


# Law 8


def validates_before_judging(
    call: ToolCall, resolution: Resolution, validate: ArgumentValidator
) -> AdmittedCall | Refusal:
    id = resolution.by_name.get(call.name)
    if id is None:
        return UnknownTool(call.name)
    problems = validate(resolution.verdicts[id].tool, call.arguments)
    return BadArguments(id, problems) if problems else admit(call, resolution, validate)


def quotes_the_change(reason: LockReason) -> str:
    told = f" It now says: {reason.current_spec.description}" if isinstance(reason, ChangedSinceApproval) else ""
    return explain_reason(reason) + told


def suggests_by_description(
    call: ToolCall, resolution: Resolution, validate: ArgumentValidator
) -> AdmittedCall | Refusal:
    refused = admit(call, resolution, validate)
    if isinstance(refused, UnknownTool):
        return UnknownTool(call.name, tuple(v.tool.spec.description for v in resolution.verdicts.values()))
    return refused


# Law 11


def lists_as_they_arrive(listings: Sequence[Listing]) -> Catalogue:
    return Catalogue({listing.source: listing for listing in listings})


def shuffles(resolution: Resolution) -> Mapping[ToolId, Verdict]:
    pairs = [*resolution.verdicts.items()]
    random.shuffle(pairs)
    return dict(pairs)


# What the laws are drawn from

changed_tools = open_boards().flatmap(
    lambda board: st.tuples(
        st.just(board), st.sampled_from(sorted(board.tools)), st.sampled_from([change.do for change in CHANGES])
    )
)
locked_tools = open_boards().flatmap(
    lambda board: st.tuples(
        st.just(board),
        st.sampled_from(sorted(board.tools)),
        st.sampled_from(DAMAGES).map(lambda damage: lambda made, id: damaging(made, id, [damage])),
    )
)
tool_lists = st.lists(ids, unique=True, max_size=12)
BOARD_AND_VIEW: tuple[st.SearchStrategy[object], ...] = (boards(), views)


def _a_change_locks(core: Core, drawn: tuple[Board, ToolId, Callable[[ToolSpec], ToolSpec]]) -> None:
    laws.a_change_locks_it_again(core, *drawn)


def _an_old_name_reaches_its_tool(core: Core, drawn: tuple[Board, ToolId, Callable[[Board, ToolId], Board]]) -> None:
    laws.an_old_name_reaches_its_tool_and_no_other(core, *drawn)


def _a_locked_tool_renames_none(core: Core, drawn: tuple[Board, ToolId, Callable[[Board, ToolId], Board]]) -> None:
    board, id, lock = drawn
    laws.a_locked_tool_renames_no_open_one(core, lock(board, id))


def _all(law: Callable[..., None], strategies: Sequence[st.SearchStrategy[object]], **cores: Core) -> list[Mutant]:
    return [Mutant(name, law, tuple(strategies), core) for name, core in cores.items()]


MUTANTS = (
    *_all(
        laws.every_tool_gets_exactly_one_verdict,
        BOARD_AND_VIEW,
        drops_locked_tools=Core(resolve=_mutated(drops_locked_tools)),
        forgets_further_reasons=Core(resolve=_mutated(forgets_further_reasons)),
        tells_the_last_reason_first=Core(resolve=_judging(tells_the_last_reason_first)),
        swaps_the_tool=Core(resolve=_mutated(swaps_the_tool)),
        leaves_a_rule_out=Core(resolve=_judging(decides_without_health)),
    ),
    *_all(
        laws.a_narrowing_never_opens,
        (*BOARD_AND_VIEW, selections()),
        narrows_by_the_whole_board=Core(resolve=narrows_by_the_whole_board),
        lets_the_last_narrowing_win=Core(resolve=lets_the_last_narrowing_win),
    ),
    *_all(
        laws.narrowings_commute,
        (*BOARD_AND_VIEW, selections(), selections()),
        lets_the_last_narrowing_win=Core(resolve=lets_the_last_narrowing_win),
        narrows_in_sequence=Core(resolve=narrows_in_sequence),
    ),
    *_all(
        laws.a_rule_only_locks,
        (boards(), st.permutations(RULES), st.integers(0, len(RULES))),
        lets_a_rule_unlock=Core(verdict_on=lets_a_rule_unlock),
        asks_the_first_rule_only=Core(verdict_on=asks_the_first_rule_only),
    ),
    *_all(
        laws.an_open_tool_is_what_was_approved,
        BOARD_AND_VIEW,
        never_asks=Core(resolve=_judging(never_asks)),
        asks_of_servers_only=Core(resolve=_judging(asks_of_servers_only)),
        approves_by_name=Core(resolve=approves_by(lambda was, now: was.name == now.name)),
    ),
    *_all(
        _a_change_locks,
        (changed_tools,),
        ignores_the_name=Core(resolve=approves_by(lambda was, now: replace(was, name="") == replace(now, name=""))),
        ignores_the_title=Core(
            resolve=approves_by(lambda was, now: replace(was, title=None) == replace(now, title=None))
        ),
        ignores_the_description=Core(
            resolve=approves_by(lambda was, now: replace(was, description="") == replace(now, description=""))
        ),
        ignores_the_input_schema=Core(
            resolve=approves_by(lambda was, now: replace(was, input_schema={}) == replace(now, input_schema={}))
        ),
        ignores_the_output_schema=Core(
            resolve=approves_by(lambda was, now: replace(was, output_schema=None) == replace(now, output_schema=None))
        ),
        ignores_the_annotations=Core(
            resolve=approves_by(lambda was, now: replace(was, annotations=None) == replace(now, annotations=None))
        ),
        takes_one_for_true=Core(resolve=approves_by(lambda was, now: was == now)),
        locks_everything_on_a_change=Core(resolve=approves_by(lambda was, now: False)),
    ),
    *_all(
        laws.explaining_is_deciding,
        BOARD_AND_VIEW,
        explains_with_fewer_rules=Core(explain=explains_with_fewer_rules),
        explains_another_view=Core(explain=explains_another_view),
        decides_without_health=Core(resolve=_judging(decides_without_health)),
    ),
    *_all(
        laws.a_view_never_widens,
        BOARD_AND_VIEW,
        narrows_by_the_whole_board=Core(resolve=narrows_by_the_whole_board),
        admits_by_id=Core(admit=admits_by_id),
        admits_the_locked=Core(admit=admits_the_locked),
    ),
    *_all(
        laws.only_an_open_tool_is_admitted,
        BOARD_AND_VIEW,
        admits_the_locked=Core(admit=admits_the_locked),
        admits_any_arguments=Core(admit=admits_any_arguments),
        admits_by_id=Core(admit=admits_by_id),
    ),
    *_all(
        laws.the_withheld_stays_withheld,
        BOARD_AND_VIEW,
        validates_before_judging=Core(admit=validates_before_judging),
        quotes_the_change=Core(sentence=quotes_the_change),
        suggests_by_description=Core(admit=suggests_by_description),
    ),
    *_all(
        laws.order_is_deterministic,
        (*BOARD_AND_VIEW, st.permutations(range(len(SOURCES)))),
        lists_as_they_arrive=Core(catalogue=lists_as_they_arrive),
        shuffles=Core(resolve=_mutated(shuffles)),
    ),
    *_all(
        laws.names_are_unique_and_never_move,
        (tool_lists, tool_lists),
        ignores_held_names=Core(wire_names=ignores_held_names),
        gives_a_clashing_name_to_the_first=Core(wire_names=gives_a_clashing_name_to_the_first),
        names_by_own_name=Core(wire_names=names_by_own_name),
    ),
    *_all(
        _a_locked_tool_renames_none,
        (locked_tools,),
        names_the_locked_with_the_open=Core(resolve=names_the_locked_with_the_open),
    ),
    *_all(
        _an_old_name_reaches_its_tool,
        (locked_tools,),
        forgets_former_names=Core(resolve=forgets_former_names),
        gives_former_names_away=Core(resolve=gives_former_names_away),
    ),
)
