"""Why a tool is locked: a closed list with a total precedence; each reason has one sentence and one remedy."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from .catalogue import Down, NeedsSignIn, Off, Starting
from .docspace.misconfigured import misconfigured
from .ids import ProviderKey, ServerKey, Source, ToolId, ToolsetId, ToolsetKey, titled
from .outage import as_sentence, kind, lacking, unset
from .pattern import Pattern
from .policy import TOOLSETS_SETTING, ExactDenial, Switch
from .said import plainly, shell_word
from .server import DeclaredAt, InstalledBy, Origin
from .tool import ToolSpec
from .unreadable import UnreadableRow, repair_command


class Status(Enum):
    """In the order of precedence: of all that applies, the first is *the* status."""

    SERVER_DISABLED = "server_disabled"
    SERVER_QUARANTINED = "server_quarantined"
    DISABLED_BY_CONFIG = "disabled_by_config"
    DISABLED_BY_USER = "disabled_by_user"
    PENDING_APPROVAL = "pending_approval"
    SERVER_UNAVAILABLE = "server_unavailable"
    DISABLED_UNKNOWN = "disabled_unknown"


_NAMED: Final = 5

PRECEDENCE: Final = {status: place for place, status in enumerate(Status)}


@dataclass(frozen=True)
class OwnerOff:
    """The server or toolset that owns the tool is off: by a switch, or as it was declared."""

    owner: ServerKey | ToolsetId
    by: Switch | Origin


@dataclass(frozen=True)
class Quarantined:
    server: ProviderKey


@dataclass(frozen=True)
class DeniedByLimit:
    """The server's own `enabled_tools` or `disabled_tools`."""

    tool: ToolId
    key: str
    at: Origin


@dataclass(frozen=True)
class DeniedByPattern:
    tool: ToolId
    pattern: Pattern
    at: DeclaredAt


@dataclass(frozen=True)
class DeniedByOverride:
    tool: ToolId
    at: DeclaredAt | None = None


@dataclass(frozen=True)
class SwitchedOff:
    tool: ToolId
    by: Switch | None
    """`None` when an override hides it."""
    by_manifest: bool = False
    """Whether that override is the toolset's own, and no person's."""


@dataclass(frozen=True)
class OverrideUnfit:
    """An override pins or hides what it cannot, so that nobody may call the tool until it is corrected."""

    tool: ToolId
    operators: bool
    """Whether it is the operator's, in a file."""
    at: DeclaredAt | None = None


@dataclass(frozen=True)
class NeverApproved:
    tool: ToolId


@dataclass(frozen=True)
class ChangedSinceApproval:
    tool: ToolId
    approved: ToolSpec
    now: ToolSpec


@dataclass(frozen=True)
class Unavailable:
    source: Source
    health: Starting | Down | NeedsSignIn | Off


@dataclass(frozen=True)
class Unlisted:
    """Servers that have not listed their tools yet, any of which may have the tool that was asked for."""

    servers: tuple[ProviderKey, ...]
    health: Starting | Down | NeedsSignIn
    """Of the first; the others are in a state of the same kind."""


@dataclass(frozen=True)
class Undetermined:
    """A look-up failed, or nothing else fits. It locks, because an unknown state is not an open one."""

    tool: ToolId
    why: str
    server: ProviderKey | None = None
    """The one whose log may tell more, if there is one."""


@dataclass(frozen=True)
class UnreadableDecision:
    """A row of the store that decides about the tool cannot be read, so the tool counts as closed."""

    tool: ToolId
    row: UnreadableRow


@dataclass(frozen=True)
class NearUnknownDenial:
    """A denial names a tool that does not exist, and this tool's name is nearly the same (ADR 16)."""

    tool: ToolId
    denial: ExactDenial


Reason: TypeAlias = (
    OwnerOff
    | Quarantined
    | DeniedByLimit
    | DeniedByPattern
    | DeniedByOverride
    | SwitchedOff
    | OverrideUnfit
    | NeverApproved
    | ChangedSinceApproval
    | Unavailable
    | Unlisted
    | Undetermined
    | UnreadableDecision
    | NearUnknownDenial
)


def status(reason: Reason) -> Status:
    match reason:
        case OwnerOff():
            return Status.SERVER_DISABLED
        case Quarantined():
            return Status.SERVER_QUARANTINED
        case DeniedByLimit() | DeniedByPattern() | DeniedByOverride():
            return Status.DISABLED_BY_CONFIG
        case SwitchedOff():
            return Status.DISABLED_BY_USER
        case OverrideUnfit(_, operators):
            return Status.DISABLED_BY_CONFIG if operators else Status.DISABLED_BY_USER
        case NeverApproved() | ChangedSinceApproval():
            return Status.PENDING_APPROVAL
        case Unavailable() | Unlisted():
            return Status.SERVER_UNAVAILABLE
        case Undetermined() | UnreadableDecision() | NearUnknownDenial():
            return Status.DISABLED_UNKNOWN
        case _:
            assert_never(reason)


def precedence(reason: Reason) -> int:
    return PRECEDENCE[status(reason)]


def sentence(reason: Reason) -> str:
    """What is wrong and who or what made it so. It goes to agents too, so it never quotes a tool's own words."""
    match reason:
        case OwnerOff(owner, by):
            what = f"Server {owner}" if isinstance(owner, ServerKey) else f"Toolset {owner}"
            return f"{what} is off: {_by(by)}."
        case Quarantined(server):
            return f"{titled(server)} is in quarantine until a person has reviewed it."
        case DeniedByLimit(tool, key, at):
            return f"{plainly(tool)} is denied by the operator: {key} of its {_owner(tool)} ({at.short})."
        case DeniedByPattern(tool, pattern, at):
            return f"{plainly(tool)} is denied by the operator: deny pattern {str(pattern)!r} ({at.short})."
        case DeniedByOverride(tool, at):
            where = "" if at is None else f" ({at.short})"
            return f"{plainly(tool)} is denied by the operator: a declared override sets enabled to false{where}."
        case SwitchedOff(tool, switch, by_manifest):
            if switch is None:
                return f"{plainly(tool)} is hidden by {'its toolset' if by_manifest else 'a person'}'s override."
            return f"{plainly(tool)} was {_blocked(switch) if switch.blocks else _by(switch)}."
        case OverrideUnfit(tool):
            return f"{plainly(tool)} is closed: an override of its arguments cannot be applied to it."
        case NeverApproved(tool):
            return f"{plainly(tool)} is waiting for a person's approval."
        case ChangedSinceApproval(tool):
            return f"{plainly(tool)} changed since it was approved."
        case Unavailable(source, health):
            return f"{_provider(source)} {_health(health)}."
        case Unlisted((source,), health):
            return f"{_provider(source)} {_health(health)}, and has not listed its tools yet."
        case Unlisted(servers, health):
            first, *rest = map(_provider, servers[:_NAMED])
            more = f" and {len(servers) - _NAMED} others" if len(servers) > _NAMED else ""
            return f"{', '.join((first, *rest))}{more} have not listed their tools yet; {first} {_health(health)}."
        case Undetermined(tool, why):
            return f"The state of {plainly(tool)} could not be determined: {why}."
        case UnreadableDecision(tool, row):
            return f"{plainly(tool)} is locked: a decision about it cannot be read ({row.name})."
        case NearUnknownDenial(tool, ExactDenial(setting, text, at, within=within, unreviewed=unreviewed)):
            where, had = "" if at is None else f" ({at.short})", "which no tool has"
            if setting == TOOLSETS_SETTING:
                had = "to which no server belongs"
            elif isinstance(within, str):
                had = f"which no tool of toolset {within!r} has"
            if unreviewed is not None:
                had = f"which only {plainly(unreviewed)} has, and nobody has reviewed that tool"
            return f"{setting} names {plainly(text)!r}{where}, {had}; it may mean {plainly(tool)}."
        case _:
            assert_never(reason)


_REMEDIES: Final = {
    Status.SERVER_DISABLED: "Ask the user to enable the server first: pegboard servers enable {server}",
    Status.SERVER_QUARANTINED: (
        "Ask the user to review the server; it is not started before: pegboard servers review {server}"
    ),
    Status.DISABLED_BY_CONFIG: "This is operator policy: only an edit of pegboard.yaml changes it.",
    Status.DISABLED_BY_USER: "Ask the user to switch the tool on again: pegboard tools enable {tool}",
    Status.PENDING_APPROVAL: "Ask the user to review the tool and approve it: pegboard approvals show {tool}",
    Status.SERVER_UNAVAILABLE: (
        "Try again in a moment; if it stays so, or a sign-in is missing, ask the user to run: pegboard doctor"
    ),
    Status.DISABLED_UNKNOWN: "Ask the user to check the server's log: pegboard servers logs {server}",
}
_ANY: Final = {"{tool}": "TOOL", "{server}": "SERVER", "{toolset}": "TOOLSET", "{secret}": "NAME"}


def _filled(text: str, words: Mapping[str, str]) -> str:
    for place, word in words.items():
        text = text.replace(place, word)
    return text


REMEDIES: Final = {status: _filled(text, _ANY) for status, text in _REMEDIES.items()}
"""One remedy a status: the same words wherever the status is told. Only a sign-in, a secret without a value, a DocSpace
that is misconfigured, a toolset that is off, a tool that was blocked, an override that does not fit, a limit that
was installed, a row that cannot be read and a tool of nobody have words of their own."""


def remedy(reason: Reason) -> str:
    """With the tool, server or toolset that it is about, so that the command can be run as it stands.

    Of a sign-in the command and never its link: whoever follows that signs in for everybody, and an agent hears this.
    Operators find the link with the server's health."""
    return _filled(_remedy(reason), _ANY | _about(reason))


def general_remedy(reason: Reason) -> str:
    """The same for every tool that is locked so."""
    return _filled(_remedy(reason), _ANY)


def detail(reason: Reason) -> str | None:
    """For operators alone: what the sentence leaves out, because a server or a system has said it."""
    match reason:
        case Unavailable(_, Down(_, why, _, lines)) if unset(why) is None and (lines or why.rstrip(".") != kind(why)):
            wrote = f" It last wrote: {plainly(lines[-1])}." if lines else ""
            return f"{as_sentence(why)}{wrote}"
        case UnreadableDecision(_, row):
            return f"{row.row}: {row.why}. {repair_command(row)}"
        case _:
            return None


def _remedy(reason: Reason) -> str:
    match reason:
        case Unavailable(_, NeedsSignIn()) | Unlisted(_, NeedsSignIn()):
            return "Ask the user to sign in: pegboard servers sign-in {server}"
        case Unavailable(_, Down(_, why)) | Unlisted(_, Down(_, why)) if lacking(why) is not None:
            return "Ask the user to set the secret: pegboard toolset secrets set {toolset} {secret}"
        case Unavailable(_, Down(_, why)) | Unlisted(_, Down(_, why)) if misconfigured(why) is not None:
            return "Ask the user to correct the settings of DocSpace; this says how: pegboard docspace check"
        case OverrideUnfit(_, operators=True, at=at):
            where = "" if at is None else f" at {at.short}"
            return f"This is operator policy: only an edit of pegboard.yaml corrects the override{where}."
        case OverrideUnfit():
            return "Ask the user to correct the override: pegboard overrides show {tool}"
        case OwnerOff(str()):
            # To switch its server on would not help.
            return "Ask the user to enable the toolset first: pegboard toolset enable {toolset}"
        case DeniedByLimit(tool, _, InstalledBy()):
            # No file says so: what was installed with a limit keeps it.
            return f"It was installed so: ask the user to install its {_owner(tool)} again without that limit."
        case SwitchedOff(_, Switch(blocks=True)):
            # To switch it on would pass over what somebody read and refused.
            return "Ask the user to review the tool again: pegboard approvals show {tool}"
        case NearUnknownDenial(tool, ExactDenial(at=InstalledBy())):
            return f"It was installed so: ask the user to install its {_owner(tool)} again with the name corrected."
        case NearUnknownDenial(_, ExactDenial(unreviewed=ToolId() as unreviewed)):
            named, word = plainly(unreviewed), shell_word(str(unreviewed)) or "TOOL"
            return (
                f"Ask the user to correct the entry in pegboard.yaml, or, if it means {named}, approve that tool; "
                f"the entry goes on applying to it: pegboard approvals show {word}"
            )
        case NearUnknownDenial(_, ExactDenial(setting=setting)) if setting == TOOLSETS_SETTING:
            return "Ask the user to correct the entry in pegboard.yaml, or remove it."
        case NearUnknownDenial(_, denial):
            form = optional_form(denial)
            return f"Ask the user to correct the entry in pegboard.yaml, or mark it as optional: {form}"
        case Undetermined(_, _, None):
            return "Ask the user to run: pegboard doctor"
        case UnreadableDecision():
            return "Ask the user to fix the row: pegboard store check"
        case _:
            return _REMEDIES[status(reason)]


def optional_form(denial: ExactDenial) -> str:
    """What to write where the name need not exist."""
    return "optional: true" if denial.setting.startswith("overrides.") else f"{{name: {denial.text}, optional: true}}"


def _about(reason: Reason) -> dict[str, str]:
    match reason:
        case (
            OwnerOff(ServerKey() as server)
            | Quarantined(server)
            | Undetermined(_, _, (ServerKey() | ToolsetKey()) as server)
        ):
            return {"{server}": str(server)}
        case Unavailable(source, health) | Unlisted((source, *_), health):
            wanted = lacking(health.why) if isinstance(health, Down) else None
            secret = {} if wanted is None else {"{toolset}": wanted.toolset, "{secret}": wanted.name}
            return {"{server}": str(source), **secret}
        case OwnerOff(str() as toolset):
            return {"{toolset}": toolset}
        case _:
            word = None if isinstance(reason, OwnerOff | Undetermined | Unlisted) else shell_word(str(reason.tool))
            return {} if word is None else {"{tool}": word}


def _owner(tool: ToolId) -> str:
    return "server" if isinstance(tool.source, ServerKey) else "toolset"


def _provider(source: Source) -> str:
    """A server is known by its key; the id of a toolset alone could be taken for a server's."""
    return titled(source) if isinstance(source, ToolsetKey) else str(source)


def _blocked(switch: Switch) -> str:
    return f"blocked at its review by {_signed(switch)}"


def _signed(switch: Switch) -> str:
    note = f" ({switch.note})" if switch.note else ""
    return f"{switch.by} on {switch.at:%Y-%m-%d}{note}"


def _by(by: Switch | Origin) -> str:
    match by:
        case Switch():
            return f"switched off by {_signed(by)}"
        case DeclaredAt():
            return f"enabled is false at {by.short}"
        case InstalledBy():
            return f"installed switched off by {by.by}"
        case _:
            assert_never(by)


def _health(health: Starting | Down | NeedsSignIn | Off) -> str:
    match health:
        case Starting(attempt):
            return f"is starting (attempt {attempt})"
        case Down(_, why):
            # Why is in part the server's own words, and may name places of this machine.
            return f"is down: {told}" if (told := kind(why)) else "is down"
        case NeedsSignIn():
            return "needs a person to sign in"
        case Off():
            return "is not running"
        case _:
            assert_never(health)
