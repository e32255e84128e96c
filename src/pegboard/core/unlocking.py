"""What a wall shows of a verdict: one of five states, and the one thing that a person can do to open the tool."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from .catalogue import Down, NeedsSignIn, Off, Starting
from .gone import Gone
from .ids import BuiltinKey, PrincipalId, ServerKey, Source, ToolId, ToolsetKey
from .outage import lacking
from .policy import Policy
from .resolve import Absent, FilteredAway, Locked, NarrowedAway, NoDatabase, NotGranted, NotSelected, Open, Verdict
from .server import DeclaredAt, InstalledBy, Origin
from .status import (
    ChangedSinceApproval,
    DeniedByLimit,
    DeniedByOverride,
    DeniedByPattern,
    NeverApproved,
    OverrideUnfit,
    OwnerOff,
    Quarantined,
    Reason,
    SwitchedOff,
    Unavailable,
    Undetermined,
    Unlisted,
)


class PegState(StrEnum):
    """What a person sees from afar. The words of the reason say the rest."""

    OPEN = "open"
    LOCKED = "locked"
    """By somebody's choice, or because it is only just starting: nothing is wrong."""
    WANTS = "wants"
    """A person's approval, review or sign-in."""
    BROKEN = "broken"
    """Its provider is down, an override does not fit it, or its state cannot be told."""
    GONE = "gone"
    """No longer offered, though people decided about it."""


class Act(StrEnum):
    APPROVE = "approve"
    SWITCH_TOOL = "switch_tool"
    SWITCH_SERVER = "switch_server"
    SWITCH_TOOLSET = "switch_toolset"
    REVIEW_SERVER = "review_server"
    SIGN_IN = "sign_in"
    RESTART = "restart"
    SET_SECRET = "set_secret"  # noqa: S105  the name of an act
    CORRECT_OVERRIDE = "correct_override"
    EDIT_FILE = "edit_file"
    GRANT = "grant"
    WIDEN = "widen"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Action:
    """`target` is what the act is done to: a tool's id, a server's key, a toolset, a file and line, a principal."""

    act: Act
    target: str = ""
    label: str = ""


NOTHING: Final = Action(Act.NONE)
_FILE: Final = "pegboard.yaml"


def state_of(verdict: Verdict | Gone) -> PegState:
    match verdict:
        case Open():
            return PegState.OPEN
        case Locked(_, reason):
            return _state(reason)
        case Absent():
            return PegState.LOCKED
        case Gone():
            return PegState.GONE
        case _:
            assert_never(verdict)


def _state(reason: Reason) -> PegState:
    match reason:
        case OwnerOff() | DeniedByLimit() | DeniedByPattern() | DeniedByOverride():
            return PegState.LOCKED
        case SwitchedOff():
            return PegState.LOCKED
        case Quarantined() | NeverApproved() | ChangedSinceApproval():
            return PegState.WANTS
        case Unavailable(_, NeedsSignIn()) | Unlisted(_, NeedsSignIn()):
            return PegState.WANTS
        case Unavailable(_, Starting(attempt)) | Unlisted(_, Starting(attempt)):
            # Another attempt tells that the one before failed.
            return PegState.LOCKED if attempt <= 1 else PegState.BROKEN
        case Unavailable(_, Off()):
            return PegState.LOCKED
        case OverrideUnfit() | Unavailable() | Unlisted() | Undetermined():
            return PegState.BROKEN
        case _:
            assert_never(reason)


def unlocking(verdict: Verdict | Gone, policy: Policy, principal: PrincipalId) -> Action:
    """The first step towards an open tool: where more than one reason locks it, the next shows after it."""
    match verdict:
        case Open() | Gone():
            return NOTHING
        case Locked(tool, reason):
            return _unlocking(tool.id, reason, policy)
        case Absent(tool, removed):
            match removed:
                case NotSelected():
                    return Action(Act.EDIT_FILE, _FILE, "Select it in pegboard.yaml")
                case NotGranted():
                    return Action(Act.GRANT, principal, f"Grant {tool.id.toolset} to {principal}")
                case NoDatabase():
                    return Action(Act.EDIT_FILE, _FILE, f"Name a database for {principal} in pegboard.yaml")
                case NarrowedAway() | FilteredAway():
                    return Action(Act.WIDEN, str(tool.id), "Ask without narrowing it away")
                case _:
                    assert_never(removed)
        case _:
            assert_never(verdict)


def _unlocking(tool: ToolId, reason: Reason, policy: Policy) -> Action:
    match reason:
        case OwnerOff(owner, by):
            if isinstance(owner, ServerKey):
                return Action(Act.SWITCH_SERVER, str(owner), f"Switch server {owner} on")
            own = policy.servers.get(ToolsetKey(owner))
            if own is not None and not own.enabled and by is own.origin:
                # What the toolset brings itself is off as it was declared, and the toolset's switch is over all of it.
                return _editing(own.origin, "Enable it")
            return Action(Act.SWITCH_TOOLSET, owner, f"Switch toolset {owner} on")
        case Quarantined(server):
            return Action(Act.REVIEW_SERVER, str(server), f"Review {server}")
        case DeniedByLimit(_, _, at):
            return _editing(at, "Let it be used")
        case DeniedByPattern(_, _, at):
            return _editing(at, "Change the deny pattern")
        case DeniedByOverride(_, where):
            return _editing(where, "Change the override")
        case SwitchedOff(_, switch):
            if switch is not None and switch.blocks:
                return Action(Act.APPROVE, str(tool), "Review it again")
            return Action(Act.SWITCH_TOOL, str(tool), "Switch it on")
        case OverrideUnfit(_, operators, where):
            if operators:
                return _editing(where, "Correct the override")
            return Action(Act.CORRECT_OVERRIDE, str(tool), "Correct the override")
        case NeverApproved():
            return Action(Act.APPROVE, str(tool), "Review and approve it")
        case ChangedSinceApproval():
            return Action(Act.APPROVE, str(tool), "Review what changed and approve it")
        case Unavailable(source, health) | Unlisted((source, *_), health):
            return _reviving(source, health)
        case Unlisted():
            return NOTHING
        case Undetermined(_, _, server):
            return NOTHING if server is None else Action(Act.RESTART, str(server), f"Restart {server}")
        case _:
            assert_never(reason)


def _reviving(source: Source, health: Starting | Down | NeedsSignIn | Off) -> Action:
    match health:
        case NeedsSignIn():
            return Action(Act.SIGN_IN, str(source), f"Sign in to {source}")
        case Down(_, why):
            if (wanted := lacking(why)) is not None:
                return Action(Act.SET_SECRET, f"{wanted.toolset}/{wanted.name}", f"Set the secret {wanted.name}")
            return NOTHING if isinstance(source, BuiltinKey) else Action(Act.RESTART, str(source), f"Restart {source}")
        case Starting() | Off():
            # Whoever waits a moment needs no act, and what does not run is off for a reason of its own.
            return NOTHING
        case _:
            assert_never(health)


def _editing(at: Origin | None, label: str) -> Action:
    """What was installed so stays so for as long as it is installed."""
    match at:
        case DeclaredAt():
            return Action(Act.EDIT_FILE, at.short, label)
        case InstalledBy():
            return NOTHING
        case None:
            return Action(Act.EDIT_FILE, _FILE, label)
        case _:
            assert_never(at)
