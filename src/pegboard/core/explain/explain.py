"""Why a tool has its verdict: each step of the decision with its result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final, assert_never

from pegboard.core.decision.facts import overridden_tool_of
from pegboard.core.decision.resolve import (
    HiddenTool,
    LockedTool,
    OpenTool,
    Resolution,
    Verdict,
    build_visibility_filter,
    filter_for_principal,
    judge_tool,
    resolve,
)
from pegboard.core.decision.rules import RULES, Rule
from pegboard.core.decision.status import explain_reason, remedy
from pegboard.core.decision.visibility import (
    HiddenByGrants,
    HiddenByLaunchFilter,
    HiddenByNarrowerView,
    HiddenBySelection,
    HiddenWithoutDatabase,
    VisibilityFilter,
    describe_selection,
    explain_hidden,
)
from pegboard.core.explain.effects import OverrideEffect, override_effects
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.confirmation import describe_route
from pegboard.core.model.databases import DatabaseTool
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool
from pegboard.core.model.wire_names import is_legal
from pegboard.core.overrides.model import NO_OVERRIDE, EffectiveOverride
from pegboard.core.policy.policy import Consent, Policy, call_fingerprint
from pegboard.core.presentations.costs import endpoint_tool_list

# What would still keep a tool from a caller once the first thing was mended, by the steps and rules that decide.


def remaining_reasons(verdict: Verdict, way: VisibilityFilter, catalogue: Catalogue) -> tuple[str, ...]:
    """A sentence each, in the order in which they would show. `way` is the passage of the view it is a verdict of."""
    match verdict:
        case OpenTool():
            return ()
        case LockedTool(_, _, more):
            return tuple(map(explain_reason, more))
        case HiddenTool(tool, _):
            _, *others = way.hidden_reasons(tool.id)
            beneath = judge_tool(way.narrowed_tools.get(tool.id, tool), catalogue.health(tool.id.source), way.policy)
            reasons = (beneath.reason, *beneath.other_reasons) if isinstance(beneath, LockedTool) else ()
            return (*map(explain_hidden, others), *map(explain_reason, reasons))
        case _:
            assert_never(verdict)


@dataclass(frozen=True)
class DecisionStep:
    """One question that was asked of the tool. `lets` is whether it let the tool through."""

    question: str
    passes: bool
    answer: str


@dataclass(frozen=True)
class DecisionTrail:
    tool: ToolId
    verdict: Verdict
    wire_name: str | None
    steps: tuple[DecisionStep, ...]
    override: EffectiveOverride = NO_OVERRIDE
    """What overrides make of it, field by field, and which of them said so."""
    effects: Mapping[str, OverrideEffect] = field(default_factory=dict[str, OverrideEffect])
    """By the same places, what comes of it where that is not plain."""
    name_notes: tuple[str, ...] = ()
    """Why clients see it under another name than its own, and under which they still reach it."""
    remaining_reasons: tuple[str, ...] = ()
    """What else would still keep it from the caller, in the order in which it would show."""


MAX_CONSENTS_NAMED: Final = 5

RULE_QUESTIONS: Final = {
    "owner_is_on": "Are its server and its toolset on?",
    "server_is_reviewed": "Is its server out of quarantine?",
    "limit_lets_it": "Does its server's enabled_tools or disabled_tools let it?",
    "no_pattern_denies_it": "Do the deny patterns let it?",
    "no_declared_override_denies_it": "Do the declared overrides let it?",
    "is_switched_on": "Is the tool switched on?",
    "overrides_fit_it": "Can the overrides of its arguments be applied?",
    "is_approved": "Is its exact definition approved?",
    "provider_is_up": "Is its server up?",
    "decisions_are_readable": "Can all decisions about it be read?",
    "owner_is_known": "Is its server declared or installed?",
    "no_unknown_denial_is_near_it": "Is every denial with a name near its own about another tool?",
}


def explain(
    catalogue: Catalogue,
    policy: Policy,
    view: View,
    id: ToolId,
    *,
    held: Mapping[WireName, ToolId] = MappingProxyType({}),
    presented: PresentationMode | None = None,
    now: datetime | None = None,
) -> DecisionTrail | None:
    """`None` when the catalogue has no such tool. `held` as `resolve` takes it, to tell the name this caller sees.
    With `presented`, whether the tool is listed is told of the path of that presentation. `now` is for standing
    permissions that have an end: without it none is known to have ended."""
    tool = catalogue.tools.get(id)
    if tool is None:
        return None
    permissions = _describe_consents(policy, tool, view, now)
    resolution, way = resolve(catalogue, policy, view, held=held), build_visibility_filter(catalogue, policy, view)
    policy = way.policy
    tool = tool_seen_by(tool, policy, view)
    health = catalogue.health(id.source)
    rules = [_rule_step(rule, judge_tool(tool, health, policy, (rule,))) for rule in RULES]
    return DecisionTrail(
        tool=id,
        verdict=resolution.verdicts[id],
        wire_name=resolution.names.get(id),
        steps=(
            *_view_steps(way, tool),
            *rules,
            *_confirmation_steps(policy, view, tool, permissions),
            *_listing_steps(resolution, policy, id, presented),
        ),
        override=policy.overrides.for_tool(id),
        effects=override_effects(tool, policy),
        name_notes=_explain_name(resolution, id),
        remaining_reasons=remaining_reasons(resolution.verdicts[id], way, catalogue),
    )


def tool_seen_by(tool: Tool, policy: Policy, view: View) -> Tool:
    """The tool as this caller would see it: over the databases that it may ask."""
    asked = policy.allowed_databases(view.principal)
    return tool.narrow_to(asked) if asked is not None and isinstance(tool, DatabaseTool) else tool


def is_consent_current(consent: Consent, tool: Tool, policy: Policy) -> bool:
    """Whether a standing permission is for the tool as it is, with what overrides put into its calls now."""
    seen = tool_seen_by(tool, policy, View(consent.principal))
    shape = overridden_tool_of(seen, policy)
    return consent.fingerprint == call_fingerprint(seen.spec.fingerprint, "" if shape is None else shape.digest)


def _explain_name(resolution: Resolution, id: ToolId) -> tuple[str, ...]:
    name = resolution.names.get(id)
    if name is None:
        return ()
    had = {other for other, owner in resolution.reserved_names.items() if owner == id}
    if resolution.approved_tools.names.get(WireName(id.name)) == id:
        had.add(WireName(id.name))
    former = sorted(had - {name})
    told = [] if name == id.name else [f"Clients see it as {name}: {_explain_longer_name(resolution, id)}."]
    if former:
        told.append(f"A call of {' or '.join(former)} still reaches it: a name stays the tool's that had it.")
    return tuple(told)


def _explain_longer_name(resolution: Resolution, id: ToolId) -> str:
    own = id.name
    if not is_legal(own):
        return "its own name has characters that not every client takes, or too many of them"
    owner = resolution.name_owner(own)
    if owner not in (None, id):
        return f"{own} is the name of {owner}, and does not pass to another tool"
    others = sorted(other for other in resolution.names if other.name == own and other != id)
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        return f"{own} is also the name of {others[0]}{more}"
    return f"{own} is a name that belongs to another toolset, or to the gateway itself"


def _rule_step(rule: Rule, verdict: Verdict) -> DecisionStep:
    asked = RULE_QUESTIONS[rule.__name__]
    if not isinstance(verdict, LockedTool):
        return DecisionStep(asked, True, "yes")
    said = f"{explain_reason(verdict.reason)} {remedy(verdict.reason, Audience.OPERATOR)}"
    return DecisionStep(asked, False, f"{verdict.status.value}: {said}")


def _confirmation_steps(policy: Policy, view: View, tool: Tool, permissions: Sequence[str]) -> Sequence[DecisionStep]:
    """Only of a tool whose calls, or some of them, must be confirmed. It stays open: each such call is asked about."""
    confirms = policy.overrides.requires_confirmation(tool.id)
    if not confirms and not (isinstance(tool, DatabaseTool) and not tool.spec.hints.read_only):
        return ()
    said = ["no: requires_confirmation is set"] if confirms else ["no, where a statement changes data"]
    if confirms:
        said += permissions[:MAX_CONSENTS_NAMED]
        if (more := len(permissions) - MAX_CONSENTS_NAMED) > 0:
            said.append(f"{more} more standing permissions: pegboard tickets consents")
    return (
        DecisionStep("Does it run without confirmation?", True, "; ".join(said)),
        DecisionStep(
            "How is a call confirmed?", True, describe_route(policy.confirmation_route(view.principal, tool.id))
        ),
    )


def _describe_consents(policy: Policy, tool: Tool, view: View, now: datetime | None) -> Sequence[str]:
    """Those of this caller first: what runs without confirmation for somebody else is worth knowing, too."""
    consents = sorted(policy.consents.get(tool.id, ()), key=lambda consent: consent.principal != view.principal)
    said = []
    for consent in consents:
        given = f"permission {consent.id}, given by {consent.by}"
        if now is not None and consent.is_expired(now):
            said.append(f"the {given}, for {consent.caller_text} lasted {consent.end_text}")
        elif not is_consent_current(consent, tool, policy):
            said.append(
                f"the {given}, for {consent.caller_text} does not count: the tool, or what overrides put into its "
                "calls, has changed since"
            )
        else:
            said.append(
                f"runs without confirmation for {consent.caller_text} {consent.end_text} ({given}), "
                f"revoke: pegboard tickets revoke {consent.id}"
            )
    return said


def _listing_steps(
    resolution: Resolution, policy: Policy, id: ToolId, presented: PresentationMode | None
) -> Sequence[DecisionStep]:
    """Only where not every tool is listed as itself, and of one that this caller may know of. It is no less open."""
    if id not in resolution.names:
        return ()
    found = endpoint_tool_list(resolution, policy, presented)
    if found is not None:
        return (DecisionStep(f"Is it listed as itself at {found.where}?", True, found.describe_step(id)),)
    if presented is None:
        return ()
    return (DecisionStep(f"Is it listed as itself at /mcp/{presented.value}?", True, "yes, while it is open"),)


def _view_steps(way: VisibilityFilter, tool: Tool) -> Iterator[DecisionStep]:
    """Each is asked, whatever those before it said: the first that says no is why the tool is absent."""
    policy, view, removals = way.policy, way.view, way.hidden_reasons(tool.id)
    unselected = any(isinstance(each, HiddenBySelection) for each in removals)
    chosen = describe_selection(policy.declared.selection)
    yield DecisionStep(
        "Does the board's selection choose it?", not unselected, f"{'no' if unselected else 'yes'}: {chosen}"
    )
    granted = None if way.grants is None else way.grants.toolsets
    scope = "everything" if granted is None else ", ".join(sorted(granted)) or "nothing"
    ungranted = any(isinstance(each, HiddenByGrants) for each in removals)
    yield DecisionStep(f"Is {view.principal} granted it?", not ungranted, f"granted: {scope}")
    if isinstance(tool, DatabaseTool) and (asked := policy.allowed_databases(view.principal)) is not None:
        some = ", ".join(sorted(asked)) or "nothing"
        without = any(isinstance(each, HiddenWithoutDatabase) for each in removals)
        none = "none that is on: " if without else ""
        yield DecisionStep(f"Which databases may {view.principal} ask?", not without, f"{none}databases: {some}")
    for narrowing in view.narrowings:
        yield DecisionStep(
            "Does the request keep it?", HiddenByNarrowerView(narrowing) not in removals, describe_selection(narrowing)
        )
    if view.filters:
        barred = next((each.block for each in removals if isinstance(each, HiddenByLaunchFilter)), None)
        yield DecisionStep("Does the launch filter let it?", barred is None, "yes" if barred is None else str(barred))


# Whom a tool is kept from that somebody else gets: an operator looks at a board on which everything may be open.

MAX_CALLERS: Final = 21
"""As many callers are told of, in the order of their names: one more than anybody shows, who tells so that there are
more."""


@dataclass(frozen=True, slots=True)
class CallerWithout:
    """A caller who does not get the tool, and why."""

    principal: PrincipalId
    sentence: str


def callers_without(catalogue: Catalogue, policy: Policy, view: View, id: ToolId) -> tuple[CallerWithout, ...]:
    """The callers who would not get it by the same request. What this one is kept from is no news of the others."""
    way = build_visibility_filter(catalogue, policy, view)
    if way.hidden_reason(id) is not None:
        return ()
    found: list[CallerWithout] = []
    for principal in sorted({*policy.callers, LOCAL_PRINCIPAL} - {view.principal}):
        # Callers differ in what they are granted and may ask alone: the steps over all tools are made once.
        removed = filter_for_principal(way, catalogue, principal).hidden_reasons(id)
        if removed:
            found.append(CallerWithout(principal, explain_hidden(removed[0])))
        if len(found) == MAX_CALLERS:
            break
    return tuple(found)
