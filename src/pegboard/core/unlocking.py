"""What a wall shows of a verdict: one of five states, and the one thing that a person can do to open the tool."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from .catalogue import Down, NeedsSignIn, Off, Starting
from .gone import Gone
from .ids import BuiltinKey, ServerKey, Source, ToolId, ToolsetId, ToolsetKey
from .outage import lacking, missing_command
from .passage import FilteredAway, NarrowedAway, NoDatabase, NotGranted, NotSelected
from .policy import Limit, Policy, Sayer
from .removal import edit_of, granted_then, place_of
from .resolve import Absent, Locked, Open, Verdict
from .rules import means
from .server import AllButTools, DeclaredAt, InstalledBy, OnlyTools, Origin
from .status import (
    ChangedSinceApproval,
    DeniedByLimit,
    DeniedByOverride,
    DeniedByPattern,
    NearUnknownDenial,
    NeverApproved,
    OverrideUnfit,
    OwnerOff,
    Quarantined,
    Reason,
    SwitchedOff,
    Unavailable,
    Undetermined,
    Unlisted,
    UnreadableDecision,
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
    MAKE_TOKEN = "make_token"  # noqa: S105  the name of an act
    WIDEN = "widen"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Action:
    """`target` is what the act is done to: a tool's id, a server's key, a toolset, a file and line, a principal. For
    operators alone: a file is named with its folder."""

    act: Act
    target: str = ""
    label: str = ""
    toolsets: tuple[ToolsetId, ...] = ()
    """Of a grant: all that the principal may use after it."""


NOTHING: Final = Action(Act.NONE)


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
        case OverrideUnfit() | Unavailable() | Unlisted():
            return PegState.BROKEN
        case Undetermined() | UnreadableDecision() | NearUnknownDenial():
            return PegState.BROKEN
        case _:
            assert_never(reason)


def unlocking(verdict: Verdict | Gone, policy: Policy) -> Action:
    """The first step towards an open tool: where more than one reason locks it, the next shows after it."""
    match verdict:
        case Open() | Gone():
            return NOTHING
        case Locked(tool, reason):
            return _unlocking(tool.id, reason, policy)
        case Absent(tool, removed):
            match removed:
                case NotSelected(_, at) | NoDatabase(at=at) | NotGranted(Limit(by=Sayer.FILE, at=at)):
                    return Action(Act.EDIT_FILE, place_of(at), _capital(edit_of(removed, tool.id)))
                case NotGranted(Limit(principal, by=Sayer.NOBODY)):
                    return Action(Act.MAKE_TOKEN, principal, f"Make {principal} a token")
                case NotGranted(limit, toolset):
                    who, then = limit.principal, granted_then(limit, toolset)
                    return Action(Act.GRANT, who, f"Grant {toolset} to {who}", then)
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
                return _editing(own.origin, "Set its enabled to true")
            return Action(Act.SWITCH_TOOLSET, owner, f"Switch toolset {owner} on")
        case Quarantined(server):
            return Action(Act.REVIEW_SERVER, str(server), f"Review {server}")
        case DeniedByLimit(_, _, at):
            return _editing(at, _letting(tool, policy))
        case DeniedByPattern(_, pattern, at):
            return _editing(at, f"Take the deny pattern {str(pattern)!r} out, or narrow it")
        case DeniedByOverride(_, where):
            return _editing(where, "Take enabled: false out of its override")
        case SwitchedOff(_, switch):
            if switch is not None and switch.blocks:
                return Action(Act.APPROVE, str(tool), "Review it again")
            return Action(Act.SWITCH_TOOL, str(tool), "Switch it on")
        case OverrideUnfit(_, operators, where):
            if operators:
                return _editing(where, "Correct the override of its arguments")
            return Action(Act.CORRECT_OVERRIDE, str(tool), "Correct the override")
        case NeverApproved():
            return Action(Act.APPROVE, str(tool), "Review and approve it")
        case ChangedSinceApproval():
            return Action(Act.APPROVE, str(tool), "Review what changed and approve it")
        case Unavailable(source, health) | Unlisted((source, *_), health):
            return _reviving(source, health, policy)
        case Unlisted():
            return NOTHING
        case UnreadableDecision(_, row) if row.row.table == "approvals":
            return Action(Act.APPROVE, str(tool), "Review and approve it again")
        case UnreadableDecision():
            return NOTHING
        case NearUnknownDenial(_, denial):
            other = "mark it as optional" if denial.unreviewed is None else f"approve {denial.unreviewed}"
            return _editing(denial.at, f"Correct {denial.text!r} under {denial.setting}, or {other}")
        case Undetermined(_, _, server):
            return NOTHING if server is None else Action(Act.RESTART, str(server), f"Restart {server}")
        case _:
            assert_never(reason)


def _reviving(source: Source, health: Starting | Down | NeedsSignIn | Off, policy: Policy) -> Action:
    match health:
        case NeedsSignIn():
            return Action(Act.SIGN_IN, str(source), f"Sign in to {source}")
        case Down(_, why):
            if (wanted := lacking(why)) is not None:
                return Action(Act.SET_SECRET, f"{wanted.toolset}/{wanted.name}", f"Set the secret {wanted.name}")
            if (missing := missing_command(why)) is not None and not isinstance(source, BuiltinKey):
                # A restart looks for the same command again; once it is installed, the next attempt finds it by itself.
                return _editing(_origin(source, policy), f"Install {missing}, or correct the command")
            return NOTHING if isinstance(source, BuiltinKey) else Action(Act.RESTART, str(source), f"Restart {source}")
        case Starting() | Off():
            # Whoever waits a moment needs no act, and what does not run is off for a reason of its own.
            return NOTHING
        case _:
            assert_never(health)


def _origin(source: ServerKey | ToolsetKey, policy: Policy) -> Origin | None:
    server = policy.servers.get(source)
    return None if server is None else server.origin


def _editing(at: Origin | None, label: str) -> Action:
    """What was installed so stays so for as long as it is installed."""
    match at:
        case DeclaredAt():
            return Action(Act.EDIT_FILE, str(at), label)
        case InstalledBy():
            return NOTHING
        case None:
            return Action(Act.EDIT_FILE, place_of(None), label)
        case _:
            assert_never(at)


def _letting(tool: ToolId, policy: Policy) -> str:
    """What to do in the list of the server that does not let it."""
    server = None if isinstance(tool.source, BuiltinKey) else policy.servers.get(tool.source)
    match server and server.limit:
        case OnlyTools():
            return f"Add {tool.name} to enabled_tools"
        case AllButTools(names):
            fitting = [name for name in names if name == tool.name or means(name, tool)]
            return f"Take {', '.join(fitting)} out of disabled_tools"
        case _:
            return "Let it be used"


def _capital(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}"
