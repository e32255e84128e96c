"""The state of a tool on the dashboard, and the one action that opens it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from pegboard.core.calls.activity import DONE, NOT_SAVED
from pegboard.core.calls.call import MissingConfirmation
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Verdict
from pegboard.core.decision.rules import entry_matches
from pegboard.core.decision.status import (
    ChangedSinceApproval,
    DeniedByOverride,
    DeniedByPattern,
    DeniedByToolFilter,
    LockReason,
    LockStatus,
    NearUnknownDenial,
    NoApproval,
    NoToolListYet,
    OwnerOff,
    ProviderUnavailable,
    ServerInQuarantine,
    SwitchedOff,
    UndeterminedState,
    UnreadableDecision,
    UnusableOverride,
    find_needed_secret,
    missing_command,
)
from pegboard.core.decision.visibility import (
    HiddenByGrants,
    HiddenByLaunchFilter,
    HiddenByNarrowerView,
    HiddenBySelection,
    HiddenWithoutDatabase,
    file_place,
    grants_with,
    suggest_edit,
)
from pegboard.core.model.catalogue import (
    Catalogue,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    has_listed,
)
from pegboard.core.model.ids import BuiltinKey, ServerKey, SourceKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import find_launch_block
from pegboard.core.model.references import ToolDirectory
from pegboard.core.model.selection import View, select_tools
from pegboard.core.model.server import AllButTools, DeclaredAt, InstalledBy, OnlyTools, Origin
from pegboard.core.model.text import quote_name
from pegboard.core.policy.policy import GrantSource, Policy, PrincipalGrants

# Tools that people decided about and that their source no longer offers: nobody can call them, and the wall tells.


@dataclass(frozen=True, slots=True)
class MissingTool:
    tool: ToolId
    has_approval: bool = False
    has_switch: bool = False
    has_override: bool = False


def missing_tools(catalogue: Catalogue, policy: Policy, view: View) -> tuple[MissingTool, ...]:
    """Of sources that have listed what they have: what another one once had may still be there. Those that this view
    would leave out are left out."""
    decided = policy.decisions
    # Of a server that is trusted openly, what was approved once says nothing.
    approved = _missing_from_list(policy.approved_tools.ids, catalogue)
    switched = _missing_from_list((id for id in decided.switches if isinstance(id, ToolId)), catalogue)
    overridden = _missing_from_list(
        (row.target for row in decided.overrides if isinstance(row.target, ToolId)), catalogue
    )
    found = _visible_to(approved | switched | overridden, catalogue, policy, view)
    return tuple([MissingTool(id, id in approved, id in switched, id in overridden) for id in sorted(found)])


def describe_missing(left: MissingTool) -> str:
    words = ("an approval", left.has_approval), ("a switch", left.has_switch), ("an override", left.has_override)
    kept = ", ".join(word for word, is_so in words if is_so)
    return f"{left.tool.source} no longer offers {quote_name(left.tool.name)}. Kept for it: {kept}."


def missing_remedy(left: MissingTool) -> str:
    is_plain = left.has_approval and not (left.has_switch or left.has_override)
    held = "as it was approved, it is open again" if is_plain else "what was decided holds"
    return f"There is nothing to do. Should it come back, {held}."


def _missing_from_list(ids: Iterable[ToolId], catalogue: Catalogue) -> set[ToolId]:
    tools, listings = catalogue.tools, catalogue.listings
    return {
        id for id in ids if id not in tools and (listing := listings.get(id.source)) is not None and has_listed(listing)
    }


def _visible_to(found: set[ToolId], catalogue: Catalogue, policy: Policy, view: View) -> Iterable[ToolId]:
    granted = policy.granted_toolsets(view.principal)
    within = tuple([id for id in found if granted is None or id.toolset in granted])
    if not within:
        return ()
    toolsets = frozenset({*policy.toolsets, *(source.toolset for source in catalogue.listings)})
    servers = frozenset(source for source in catalogue.listings if isinstance(source, ServerKey))
    everyone = ToolDirectory(within, toolsets, servers)
    kept = frozenset(within)
    for selection in (policy.declared.selection, *view.narrowings):
        kept &= select_tools(selection, everyone).tools
    return [id for id in kept if find_launch_block(view.filters, id) is None]


class ToolState(StrEnum):
    """What a person sees from afar. The words of the reason say the rest."""

    OPEN = "open"
    LOCKED = "locked"
    """By somebody's choice, or because it is only just starting: nothing is wrong."""
    NEEDS_ACTION = "needs_action"
    """A person's approval, review or sign-in."""
    BROKEN = "broken"
    """Its provider is down, an override does not fit it, or its state cannot be told."""
    MISSING = "missing"
    """No longer offered, though people decided about it."""


class ActionKind(StrEnum):
    APPROVE = "approve"
    ENABLE_TOOL = "enable_tool"
    ENABLE_SERVER = "enable_server"
    ENABLE_TOOLSET = "enable_toolset"
    REVIEW_SERVER = "review_server"
    SIGN_IN = "sign_in"
    RESTART = "restart"
    SET_SECRET = "set_secret"  # noqa: S105  the name of an act
    EDIT_OVERRIDE = "edit_override"
    EDIT_FILE = "edit_file"
    GRANT = "grant"
    CREATE_TOKEN = "create_token"  # noqa: S105  the name of an act
    WIDEN_SELECTION = "widen_selection"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SuggestedAction:
    """`target` is what the act is done to: a tool's id, a server's key, a toolset, a file and line, a principal. For
    operators alone: a file is named with its folder."""

    kind: ActionKind
    target: str = ""
    label: str = ""
    toolsets: tuple[ToolsetId, ...] = ()
    """Of a grant: all that the principal may use after it."""


NO_ACTION: Final = SuggestedAction(ActionKind.NONE)


def state_of(verdict: Verdict | MissingTool) -> ToolState:
    match verdict:
        case OpenTool():
            return ToolState.OPEN
        case LockedTool(_, reason):
            return _state(reason)
        case HiddenTool():
            return ToolState.LOCKED
        case MissingTool():
            return ToolState.MISSING
        case _:
            assert_never(verdict)


def _state(reason: LockReason) -> ToolState:
    match reason:
        case OwnerOff() | DeniedByToolFilter() | DeniedByPattern() | DeniedByOverride():
            return ToolState.LOCKED
        case SwitchedOff():
            return ToolState.LOCKED
        case ServerInQuarantine() | NoApproval() | ChangedSinceApproval():
            return ToolState.NEEDS_ACTION
        case ProviderUnavailable(_, ProviderNeedsSignIn()) | NoToolListYet(_, ProviderNeedsSignIn()):
            return ToolState.NEEDS_ACTION
        case ProviderUnavailable(_, ProviderStart(attempt)) | NoToolListYet(_, ProviderStart(attempt)):
            # Another attempt tells that the one before failed.
            return ToolState.LOCKED if attempt <= 1 else ToolState.BROKEN
        case ProviderUnavailable(_, ProviderOff()):
            return ToolState.LOCKED
        case UnusableOverride() | ProviderUnavailable() | NoToolListYet():
            return ToolState.BROKEN
        case UndeterminedState() | UnreadableDecision() | NearUnknownDenial():
            return ToolState.BROKEN
        case _:
            assert_never(reason)


def suggest_action(verdict: Verdict | MissingTool, policy: Policy) -> SuggestedAction:
    """The first step towards an open tool: where more than one reason locks it, the next shows after it."""
    match verdict:
        case OpenTool() | MissingTool():
            return NO_ACTION
        case LockedTool(tool, reason):
            return _action_for(tool.id, reason, policy)
        case HiddenTool(tool, removed):
            match removed:
                case (
                    HiddenBySelection(_, at)
                    | HiddenWithoutDatabase(at=at)
                    | HiddenByGrants(PrincipalGrants(by=GrantSource.FILE, at=at))
                ):
                    return SuggestedAction(
                        ActionKind.EDIT_FILE, file_place(at), _capitalize(suggest_edit(removed, tool.id))
                    )
                case HiddenByGrants(PrincipalGrants(principal, by=GrantSource.NOBODY)):
                    return SuggestedAction(ActionKind.CREATE_TOKEN, principal, f"Make {principal} a token")
                case HiddenByGrants(limit, toolset):
                    who, then = limit.principal, grants_with(limit, toolset)
                    return SuggestedAction(ActionKind.GRANT, who, f"Grant {toolset} to {who}", then)
                case HiddenByNarrowerView() | HiddenByLaunchFilter():
                    return SuggestedAction(ActionKind.WIDEN_SELECTION, str(tool.id), "Ask without narrowing it away")
                case _:
                    assert_never(removed)
        case _:
            assert_never(verdict)


def _action_for(tool: ToolId, reason: LockReason, policy: Policy) -> SuggestedAction:
    match reason:
        case OwnerOff(owner, by):
            if isinstance(owner, ServerKey):
                return SuggestedAction(ActionKind.ENABLE_SERVER, str(owner), f"Switch server {owner} on")
            own = policy.servers.get(ToolsetKey(owner))
            if own is not None and not own.enabled and by is own.origin:
                # What the toolset brings itself is off as it was declared, and the toolset's switch is over all of it.
                return _edit_action(own.origin, "Set its enabled to true")
            return SuggestedAction(ActionKind.ENABLE_TOOLSET, owner, f"Switch toolset {owner} on")
        case ServerInQuarantine(server):
            return SuggestedAction(ActionKind.REVIEW_SERVER, str(server), f"Review {server}")
        case DeniedByToolFilter(_, _, at):
            return _edit_action(at, _tool_filter_hint(tool, policy))
        case DeniedByPattern(_, pattern, at):
            return _edit_action(at, f"Take the deny pattern {str(pattern)!r} out, or narrow it")
        case DeniedByOverride(_, where):
            return _edit_action(where, "Take enabled: false out of its override")
        case SwitchedOff(_, switch):
            if switch is not None and switch.blocks:
                return SuggestedAction(ActionKind.APPROVE, str(tool), "Review it again")
            return SuggestedAction(ActionKind.ENABLE_TOOL, str(tool), "Switch it on")
        case UnusableOverride(_, operators, where):
            if operators:
                return _edit_action(where, "Correct the override of its arguments")
            return SuggestedAction(ActionKind.EDIT_OVERRIDE, str(tool), "Correct the override")
        case NoApproval():
            return SuggestedAction(ActionKind.APPROVE, str(tool), "Review and approve it")
        case ChangedSinceApproval():
            return SuggestedAction(ActionKind.APPROVE, str(tool), "Review what changed and approve it")
        case ProviderUnavailable(source, health) | NoToolListYet((source, *_), health):
            return _restart_action(source, health, policy)
        case NoToolListYet():
            return NO_ACTION
        case UnreadableDecision(_, row) if row.row.table == "approvals":
            return SuggestedAction(ActionKind.APPROVE, str(tool), "Review and approve it again")
        case UnreadableDecision():
            return NO_ACTION
        case NearUnknownDenial(_, denial):
            other = "mark it as optional" if denial.unreviewed_match is None else f"approve {denial.unreviewed_match}"
            return _edit_action(denial.at, f"Correct {denial.text!r} under {denial.setting}, or {other}")
        case UndeterminedState(_, _, server):
            return (
                NO_ACTION if server is None else SuggestedAction(ActionKind.RESTART, str(server), f"Restart {server}")
            )
        case _:
            assert_never(reason)


def _restart_action(
    source: SourceKey, health: ProviderStart | ProviderDown | ProviderNeedsSignIn | ProviderOff, policy: Policy
) -> SuggestedAction:
    match health:
        case ProviderNeedsSignIn():
            return SuggestedAction(ActionKind.SIGN_IN, str(source), f"Sign in to {source}")
        case ProviderDown(_, why):
            if (wanted := find_needed_secret(why)) is not None:
                return SuggestedAction(
                    ActionKind.SET_SECRET, f"{wanted.toolset}/{wanted.name}", f"Set the secret {wanted.name}"
                )
            if (missing := missing_command(why)) is not None and not isinstance(source, BuiltinKey):
                # A restart looks for the same command again; once it is installed, the next attempt finds it by itself.
                return _edit_action(_origin(source, policy), f"Install {missing}, or correct the command")
            return (
                NO_ACTION
                if isinstance(source, BuiltinKey)
                else SuggestedAction(ActionKind.RESTART, str(source), f"Restart {source}")
            )
        case ProviderStart() | ProviderOff():
            # Whoever waits a moment needs no act, and what does not run is off for a reason of its own.
            return NO_ACTION
        case _:
            assert_never(health)


def _origin(source: ServerKey | ToolsetKey, policy: Policy) -> Origin | None:
    server = policy.servers.get(source)
    return None if server is None else server.origin


def _edit_action(at: Origin | None, label: str) -> SuggestedAction:
    """What was installed so stays so for as long as it is installed."""
    match at:
        case DeclaredAt():
            return SuggestedAction(ActionKind.EDIT_FILE, str(at), label)
        case InstalledBy():
            return NO_ACTION
        case None:
            return SuggestedAction(ActionKind.EDIT_FILE, file_place(None), label)
        case _:
            assert_never(at)


def _tool_filter_hint(tool: ToolId, policy: Policy) -> str:
    """What to do in the list of the server that does not let it."""
    server = None if isinstance(tool.source, BuiltinKey) else policy.servers.get(tool.source)
    match server and server.limit:
        case OnlyTools():
            return f"Add {tool.name} to enabled_tools"
        case AllButTools(names):
            fitting = [name for name in names if name == tool.name or entry_matches(name, tool)]
            return f"Take {', '.join(fitting)} out of disabled_tools"
        case _:
            return "Let it be used"


def _capitalize(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}"


# What a record's outcome means to whoever looks at it from afar: one of the five states of the wall.

_STATES: Final[Mapping[str, ToolState]] = {
    "returned": ToolState.OPEN,
    DONE: ToolState.OPEN,
    "tool_failed": ToolState.BROKEN,
    "provider_failed": ToolState.BROKEN,
    "broken": ToolState.BROKEN,
    NOT_SAVED: ToolState.BROKEN,
    LockStatus.SERVER_UNAVAILABLE.value: ToolState.BROKEN,
    LockStatus.DISABLED_UNKNOWN.value: ToolState.BROKEN,
    "needs_input": ToolState.NEEDS_ACTION,
    "demanded": ToolState.NEEDS_ACTION,
    "waits": ToolState.NEEDS_ACTION,
    LockStatus.PENDING_APPROVAL.value: ToolState.NEEDS_ACTION,
    LockStatus.SERVER_QUARANTINED.value: ToolState.NEEDS_ACTION,
    MissingConfirmation.WAITING.value: ToolState.NEEDS_ACTION,
}


def outcome_state(outcome: str) -> ToolState:
    """Whatever is not named is a refusal, or a decision that was turned down: by choice."""
    return _STATES.get(outcome, ToolState.LOCKED)
