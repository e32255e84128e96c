"""Why a tool is where it is: every step of the decision and what it said, by the code that decides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

from .catalogue import Catalogue
from .confirmation import route_text
from .consent import Consent, call_fingerprint
from .database.source import DatabaseTool
from .effects import Effect, effects
from .ids import ToolId, WireName
from .naming import is_legal
from .override import PLAIN, Appearance
from .passage import FilteredAway, NarrowedAway, NoDatabase, NotGranted, NotSelected, Passage
from .policy import Policy
from .presentations import Presented
from .presentations.listing import listing
from .remaining import remaining
from .removal import selection_text
from .resolve import Locked, Resolution, Verdict, passage, resolve, verdict_on
from .rules import RULES, Rule, shape_of
from .status import remedy, sentence
from .tool import Tool
from .view import View


@dataclass(frozen=True)
class Step:
    """One question that was asked of the tool. `lets` is whether it let the tool through."""

    asked: str
    lets: bool
    said: str


@dataclass(frozen=True)
class Trail:
    tool: ToolId
    verdict: Verdict
    wire_name: str | None
    steps: tuple[Step, ...]
    appearance: Appearance = PLAIN
    """What overrides make of it, field by field, and which of them said so."""
    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    """By the same places, what comes of it where that is not plain."""
    naming: tuple[str, ...] = ()
    """Why clients see it under another name than its own, and under which they still reach it."""
    more: tuple[str, ...] = ()
    """What else would still keep it from the caller, in the order in which it would show."""


MAX_PERMISSIONS_NAMED: Final = 5

QUESTIONS: Final = {
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
    presented: Presented | None = None,
    now: datetime | None = None,
) -> Trail | None:
    """`None` when the catalogue has no such tool. `held` as `resolve` takes it, to tell the name this caller sees.
    With `presented`, whether the tool is listed is told of the path of that presentation. `now` is for standing
    permissions that have an end: without it none is known to have ended."""
    tool = catalogue.tools.get(id)
    if tool is None:
        return None
    permissions = _permissions(policy, tool, view, now)
    resolution, way = resolve(catalogue, policy, view, held=held), passage(catalogue, policy, view)
    policy = way.policy
    tool = seen_by(tool, policy, view)
    health = catalogue.health(id.source)
    rules = [_rule_step(rule, verdict_on(tool, health, policy, (rule,))) for rule in RULES]
    return Trail(
        tool=id,
        verdict=resolution.verdicts[id],
        wire_name=resolution.names.get(id),
        steps=(
            *_view_steps(way, tool),
            *rules,
            *_confirmation_steps(policy, view, tool, permissions),
            *_listing_steps(resolution, policy, id, presented),
        ),
        appearance=policy.overrides.for_tool(id),
        effects=effects(tool, policy),
        naming=_naming(resolution, id),
        more=remaining(resolution.verdicts[id], way, catalogue),
    )


def seen_by(tool: Tool, policy: Policy, view: View) -> Tool:
    """The tool as this caller would see it: over the databases that it may ask."""
    asked = policy.asks(view.principal)
    return tool.within(asked) if asked is not None and isinstance(tool, DatabaseTool) else tool


def is_current(consent: Consent, tool: Tool, policy: Policy) -> bool:
    """Whether a standing permission is for the tool as it is, with what overrides put into its calls now."""
    seen = seen_by(tool, policy, View(consent.principal))
    shape = shape_of(seen, policy)
    return consent.fingerprint == call_fingerprint(seen.spec.fingerprint, "" if shape is None else shape.tag)


def _naming(resolution: Resolution, id: ToolId) -> tuple[str, ...]:
    name = resolution.names.get(id)
    if name is None:
        return ()
    had = {other for other, owner in resolution.held.items() if owner == id}
    if resolution.vouched.names.get(WireName(id.name)) == id:
        had.add(WireName(id.name))
    former = sorted(had - {name})
    told = [] if name == id.name else [f"Clients see it as {name}: {_why_not_own(resolution, id)}."]
    if former:
        told.append(f"A call of {' or '.join(former)} still reaches it: a name stays the tool's that had it.")
    return tuple(told)


def _why_not_own(resolution: Resolution, id: ToolId) -> str:
    own = id.name
    if not is_legal(own):
        return "its own name has characters that not every client takes, or too many of them"
    owner = resolution.owner(own)
    if owner not in (None, id):
        return f"{own} is the name of {owner}, and does not pass to another tool"
    others = sorted(other for other in resolution.names if other.name == own and other != id)
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        return f"{own} is also the name of {others[0]}{more}"
    return f"{own} is a name that belongs to another toolset, or to the gateway itself"


def _rule_step(rule: Rule, verdict: Verdict) -> Step:
    asked = QUESTIONS[rule.__name__]
    if not isinstance(verdict, Locked):
        return Step(asked, True, "yes")
    return Step(asked, False, f"{verdict.status.value}: {sentence(verdict.reason)} {remedy(verdict.reason)}")


def _confirmation_steps(policy: Policy, view: View, tool: Tool, permissions: Sequence[str]) -> Sequence[Step]:
    """Only of a tool whose calls, or some of them, must be confirmed. It stays open: each such call is asked about."""
    confirms = policy.overrides.confirms(tool.id)
    if not confirms and not (isinstance(tool, DatabaseTool) and not tool.spec.hints.read_only):
        return ()
    said = ["no: requires_confirmation is set"] if confirms else ["no, where a statement changes data"]
    if confirms:
        said += permissions[:MAX_PERMISSIONS_NAMED]
        if (more := len(permissions) - MAX_PERMISSIONS_NAMED) > 0:
            said.append(f"{more} more standing permissions: pegboard tickets consents")
    return (
        Step("Does it run without confirmation?", True, "; ".join(said)),
        Step("How is a call confirmed?", True, route_text(policy.confirmation_route(view.principal, tool.id))),
    )


def _permissions(policy: Policy, tool: Tool, view: View, now: datetime | None) -> Sequence[str]:
    """Those of this caller first: what runs without confirmation for somebody else is worth knowing, too."""
    consents = sorted(policy.consents.get(tool.id, ()), key=lambda consent: consent.principal != view.principal)
    said = []
    for consent in consents:
        given = f"permission {consent.id}, given by {consent.by}"
        if now is not None and consent.is_expired(now):
            said.append(f"the {given}, for {consent.caller_text} lasted {consent.end_text}")
        elif not is_current(consent, tool, policy):
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


def _listing_steps(resolution: Resolution, policy: Policy, id: ToolId, presented: Presented | None) -> Sequence[Step]:
    """Only where not every tool is listed as itself, and of one that this caller may know of. It is no less open."""
    if id not in resolution.names:
        return ()
    found = listing(resolution, policy, presented)
    if found is not None:
        return (Step(f"Is it listed as itself at {found.where}?", True, found.step(id)),)
    if presented is None:
        return ()
    return (Step(f"Is it listed as itself at /mcp/{presented.value}?", True, "yes, while it is open"),)


def _view_steps(way: Passage, tool: Tool) -> Iterator[Step]:
    """Each is asked, whatever those before it said: the first that says no is why the tool is absent."""
    policy, view, removals = way.policy, way.view, way.removals(tool.id)
    unselected = any(isinstance(each, NotSelected) for each in removals)
    chosen = selection_text(policy.declared.selection)
    yield Step("Does the board's selection choose it?", not unselected, f"{'no' if unselected else 'yes'}: {chosen}")
    granted = None if way.limit is None else way.limit.toolsets
    scope = "everything" if granted is None else ", ".join(sorted(granted)) or "nothing"
    ungranted = any(isinstance(each, NotGranted) for each in removals)
    yield Step(f"Is {view.principal} granted it?", not ungranted, f"granted: {scope}")
    if isinstance(tool, DatabaseTool) and (asked := policy.asks(view.principal)) is not None:
        some = ", ".join(sorted(asked)) or "nothing"
        without = any(isinstance(each, NoDatabase) for each in removals)
        none = "none that is on: " if without else ""
        yield Step(f"Which databases may {view.principal} ask?", not without, f"{none}databases: {some}")
    for narrowing in view.narrowings:
        yield Step("Does the request keep it?", NarrowedAway(narrowing) not in removals, selection_text(narrowing))
    if view.filters:
        barred = next((each.why for each in removals if isinstance(each, FilteredAway)), None)
        yield Step("Does the launch filter let it?", barred is None, "yes" if barred is None else str(barred))
