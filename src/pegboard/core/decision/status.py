"""Why a tool is locked: statuses in their order of precedence; each reason has one sentence and one remedy."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from pegboard.core.model.catalogue import ProviderDown, ProviderNeedsSignIn, ProviderOff, ProviderStart
from pegboard.core.model.ids import ProviderKey, ServerKey, SourceKey, ToolId, ToolsetId, ToolsetKey, provider_title
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt, InstalledBy, Origin
from pegboard.core.model.text import Audience, quote_name, shell_word
from pegboard.core.model.tool import ToolSpec
from pegboard.core.policy.policy import TOOLSETS_SETTING, ExactDenial, Switch
from pegboard.core.policy.unreadable_rows import UnreadableRow, repair_command

# What kind of trouble a server has, in our own words: agents hear this, and never what a server or a system wrote.

_KIND_PATTERN: Final = re.compile(
    r"(?:it )?(?:"
    r"exited with code -?\d{1,10}|was ended by signal \d{1,3}|was restarted|fell asleep|"
    r"closed (?:its output|its input|the connection|the event stream)|"
    r"(?P<late>did not (?:answer|list its tools)\b)|(?P<slow>did not start within\b)|"
    r"answered HTTP \d{3}|answered with an error|answered tools/list with something that is no list of tools|"
    r"cannot be reached|cannot be asked|broke the connection off|"
    r"(?P<unstarted>command ['\"]|cannot start\b)|"
    r"(?P<unsigned>wants a sign-in|was not signed in to)|"
    r"does not speak (?:MCP|SSE)|sent a message longer than \d{1,6} MiB|"
    r"its provider broke|its former process does not stop|"
    r"has no environment(?:, because its requirements cannot be installed)?|"
    r"(?P<heavy>[^\s:]{1,400}\.py:\d{1,7}: importing it takes more memory than\b)|"
    r"(?P<unloaded>[^\s:]{1,400}\.py:\d{1,7}: )|"
    r"(?:cannot run: )?(?P<unset>the secret [A-Za-z_][A-Za-z0-9_]{0,127} "
    r"(?:is not set|of [a-z0-9][a-z0-9_-]{0,63} (?:stands for nothing|cannot be read)))"
    r")"
)
_KIND_TEXTS: Final = {
    "late": "did not answer in time",
    "slow": "did not start in time",
    "unstarted": "cannot be started",
    "unsigned": "its sign-in failed",
    "heavy": "importing its Python files takes more memory than it may use",
    "unloaded": "its Python files cannot be imported",
}


def outage_kind(why: str) -> str:
    """Of why a server is down, what is ours; empty where we have no words for it."""
    found = _KIND_PATTERN.match(why)
    if found is None:
        return ""
    return found["unset"] or _KIND_TEXTS.get(found.lastgroup or "", found.group())


def outage_sentence(why: str) -> str:
    """Why a server is down reads on from its name, but for what names a secret or a file itself."""
    text = why.rstrip(".")
    if _NAMES_ITSELF.match(text) is None:
        return f"It {text}."
    return f"{text[0].upper()}{text[1:]}." if text.startswith(("the ", "command ")) else f"{text}."


_NAMES_ITSELF: Final = re.compile(r"the secret |command ['\"]|\$\{|[^\s:]{1,400}\.py:\d{1,7}: ")


@dataclass(frozen=True, slots=True)
class UnsetSecret:
    """A secret that a toolset asks for, and that nobody has set. What needs it is down until somebody does."""

    toolset: ToolsetId
    name: str

    def __str__(self) -> str:
        return f"the secret {self.name} is not set. Run: {self.command}"

    @property
    def command(self) -> str:
        return f"pegboard toolset secrets set {self.toolset} {self.name}"


_UNSET: Final = re.compile(
    r"(?:cannot run: )?the secret (?P<name>[A-Za-z_][A-Za-z0-9_]{0,127}) is not set\. "
    r"Run: pegboard toolset secrets set (?P<toolset>[a-z0-9][a-z0-9_-]{0,63}) (?P=name)"
)


def find_unset_secret(why: str) -> UnsetSecret | None:
    """Of why a server or toolset is down, the secret it waits for."""
    found = _UNSET.fullmatch(why.rstrip("."))
    return None if found is None else UnsetSecret(ToolsetId(found["toolset"]), found["name"])


_UNFIT: Final = re.compile(
    r"(?:cannot run: )?the secret (?P<name>[A-Za-z_][A-Za-z0-9_]{0,127}) "
    r"of (?P<toolset>[a-z0-9][a-z0-9_-]{0,63}) (?:stands for nothing|cannot be read): "
)


def find_unusable_secret(why: str) -> UnsetSecret | None:
    """Of why a server or toolset is down, the secret that was set, and has no value all the same."""
    found = _UNFIT.match(why)
    return None if found is None else UnsetSecret(ToolsetId(found["toolset"]), found["name"])


def find_needed_secret(why: str) -> UnsetSecret | None:
    """The secret by which it would be up, whatever is the matter with it."""
    return find_unset_secret(why) or find_unusable_secret(why)


_MISSING_COMMAND: Final = re.compile(r"command (?P<command>'[^']{1,400}'|\"[^\"]{1,400}\") was not found\b")


def missing_command(why: str) -> str | None:
    """Of why a server is down, the command that is not there, in quotes."""
    found = _MISSING_COMMAND.match(why)
    return None if found is None else found["command"]


class LockStatus(Enum):
    """In the order of precedence: of all that applies, the first is *the* status."""

    SERVER_DISABLED = "server_disabled"
    SERVER_QUARANTINED = "server_quarantined"
    DISABLED_BY_CONFIG = "disabled_by_config"
    DISABLED_BY_USER = "disabled_by_user"
    PENDING_APPROVAL = "pending_approval"
    SERVER_UNAVAILABLE = "server_unavailable"
    DISABLED_UNKNOWN = "disabled_unknown"


_MAX_NAMED: Final = 5

PRECEDENCE: Final = {status: place for place, status in enumerate(LockStatus)}


@dataclass(frozen=True)
class OwnerOff:
    """The server or toolset that owns the tool is off: by a switch, or as it was declared."""

    owner: ServerKey | ToolsetId
    by: Switch | Origin


@dataclass(frozen=True)
class ServerInQuarantine:
    server: ProviderKey


@dataclass(frozen=True)
class DeniedByToolFilter:
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
class UnusableOverride:
    """An override pins or hides what it cannot, so that nobody may call the tool until it is corrected."""

    tool: ToolId
    is_operators: bool
    """Whether it is the operator's, in a file."""
    at: DeclaredAt | None = None


@dataclass(frozen=True)
class NoApproval:
    tool: ToolId


@dataclass(frozen=True)
class ChangedSinceApproval:
    tool: ToolId
    approved_spec: ToolSpec
    current_spec: ToolSpec


@dataclass(frozen=True)
class ProviderUnavailable:
    source: SourceKey
    health: ProviderStart | ProviderDown | ProviderNeedsSignIn | ProviderOff


@dataclass(frozen=True)
class NoToolListYet:
    """Servers that have not listed their tools yet, any of which may have the tool that was asked for."""

    servers: tuple[ProviderKey, ...]
    health: ProviderStart | ProviderDown | ProviderNeedsSignIn
    """Of the first; the others are in a state of the same kind."""


@dataclass(frozen=True)
class UndeterminedState:
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


LockReason: TypeAlias = (
    OwnerOff
    | ServerInQuarantine
    | DeniedByToolFilter
    | DeniedByPattern
    | DeniedByOverride
    | SwitchedOff
    | UnusableOverride
    | NoApproval
    | ChangedSinceApproval
    | ProviderUnavailable
    | NoToolListYet
    | UndeterminedState
    | UnreadableDecision
    | NearUnknownDenial
)


def status_of(reason: LockReason) -> LockStatus:
    match reason:
        case OwnerOff():
            return LockStatus.SERVER_DISABLED
        case ServerInQuarantine():
            return LockStatus.SERVER_QUARANTINED
        case DeniedByToolFilter() | DeniedByPattern() | DeniedByOverride():
            return LockStatus.DISABLED_BY_CONFIG
        case SwitchedOff():
            return LockStatus.DISABLED_BY_USER
        case UnusableOverride(_, operators):
            return LockStatus.DISABLED_BY_CONFIG if operators else LockStatus.DISABLED_BY_USER
        case NoApproval() | ChangedSinceApproval():
            return LockStatus.PENDING_APPROVAL
        case ProviderUnavailable() | NoToolListYet():
            return LockStatus.SERVER_UNAVAILABLE
        case UndeterminedState() | UnreadableDecision() | NearUnknownDenial():
            return LockStatus.DISABLED_UNKNOWN
        case _:
            assert_never(reason)


def precedence_of(reason: LockReason) -> int:
    return PRECEDENCE[status_of(reason)]


def explain_reason(reason: LockReason) -> str:
    """What is wrong and who or what made it so. It goes to agents too, so it never quotes a tool's own words."""
    match reason:
        case OwnerOff(owner, by):
            what = f"Server {owner}" if isinstance(owner, ServerKey) else f"Toolset {owner}"
            return f"{what} is off: {_origin_text(by)}."
        case ServerInQuarantine(server):
            return f"{provider_title(server)} is in quarantine until a person has reviewed it."
        case DeniedByToolFilter(tool, key, at):
            return f"{quote_name(tool)} is denied by the operator: {key} of its {_owner(tool)} ({at.short_text})."
        case DeniedByPattern(tool, pattern, at):
            return f"{quote_name(tool)} is denied by the operator: deny pattern {str(pattern)!r} ({at.short_text})."
        case DeniedByOverride(tool, at):
            where = "" if at is None else f" ({at.short_text})"
            return f"{quote_name(tool)} is denied by the operator: a declared override sets enabled to false{where}."
        case SwitchedOff(tool, switch, by_manifest):
            if switch is None:
                return f"{quote_name(tool)} is hidden by {'its toolset' if by_manifest else 'a person'}'s override."
            return f"{quote_name(tool)} was {_block_text(switch) if switch.blocks else _origin_text(switch)}."
        case UnusableOverride(tool):
            return f"{quote_name(tool)} is closed: an override of its arguments cannot be applied to it."
        case NoApproval(tool):
            return f"{quote_name(tool)} is waiting for a person's approval."
        case ChangedSinceApproval(tool):
            return f"{quote_name(tool)} changed since it was approved."
        case ProviderUnavailable(source, health):
            return f"{_provider(source)} {_health_text(health)}."
        case NoToolListYet((source,), health):
            return f"{_provider(source)} {_health_text(health)}, and has not listed its tools yet."
        case NoToolListYet(servers, health):
            first, *rest = map(_provider, servers[:_MAX_NAMED])
            more = f" and {len(servers) - _MAX_NAMED} others" if len(servers) > _MAX_NAMED else ""
            return f"{', '.join((first, *rest))}{more} have not listed their tools yet; {first} {_health_text(health)}."
        case UndeterminedState(tool, why):
            return f"The state of {quote_name(tool)} could not be determined: {why}."
        case UnreadableDecision(tool, row):
            return f"{quote_name(tool)} is locked: a decision about it cannot be read ({row.name})."
        case NearUnknownDenial(tool, ExactDenial(setting, text, at, within=within, unreviewed_match=unreviewed)):
            where, had = "" if at is None else f" ({at.short_text})", "which no tool has"
            if setting == TOOLSETS_SETTING:
                had = "to which no server belongs"
            elif isinstance(within, str):
                had = f"which no tool of toolset {within!r} has"
            if unreviewed is not None:
                had = f"which only {quote_name(unreviewed)} has, and nobody has reviewed that tool"
            return f"{setting} names {quote_name(text)!r}{where}, {had}; it may mean {quote_name(tool)}."
        case _:
            assert_never(reason)


@dataclass(frozen=True, slots=True)
class _Names:
    """What a remedy names, as a shell reads it; a placeholder where it names none."""

    tool: str = "TOOL"
    server: str = "SERVER"
    toolset: str = "TOOLSET"
    setting: str = "NAME"
    """A secret."""


_PLACEHOLDERS: Final = _Names()


def status_remedy(status: LockStatus, audience: Audience, names: _Names = _PLACEHOLDERS) -> str:
    """The same for every reason of a status, but for those that `remedy` has words of their own for."""
    match status:
        case LockStatus.SERVER_DISABLED:
            return audience.request(f"enable the server first: pegboard servers enable {names.server}")
        case LockStatus.SERVER_QUARANTINED:
            return audience.request(
                f"review the server; it is not started before: pegboard servers review {names.server}"
            )
        case LockStatus.DISABLED_BY_CONFIG:
            return "This is operator policy: only an edit of pegboard.yaml changes it."
        case LockStatus.DISABLED_BY_USER:
            return audience.request(f"switch the tool on again: pegboard tools enable {names.tool}")
        case LockStatus.PENDING_APPROVAL:
            return audience.request(f"review the tool and approve it: pegboard approvals show {names.tool}")
        case LockStatus.SERVER_UNAVAILABLE:
            do = audience.inline_request("run: pegboard doctor")
            return f"Try again in a moment; if it stays so, or a sign-in is missing, {do}"
        case LockStatus.DISABLED_UNKNOWN:
            return audience.request(f"check the server's log: pegboard servers logs {names.server}")
        case _:
            assert_never(status)


def general_remedy(reason: LockReason, audience: Audience) -> str:
    """The same for every tool that is locked so: with placeholders for what it is about."""
    return _remedy(reason, audience, _PLACEHOLDERS)


def remedy(reason: LockReason, audience: Audience) -> str:
    """With the tool, server or toolset that it is about, so that the command can be run as it stands.

    Of a sign-in the command and never its link: whoever follows that signs in for everybody, and an agent reads this.
    Operators find the link with the server's health."""
    return _remedy(reason, audience, _names_in(reason))


def _remedy(reason: LockReason, audience: Audience, names: _Names) -> str:
    match reason:
        case ProviderUnavailable(_, ProviderNeedsSignIn()) | NoToolListYet(_, ProviderNeedsSignIn()):
            return audience.request(f"sign in: pegboard servers sign-in {names.server}")
        case ProviderUnavailable(_, ProviderDown(_, why)) | NoToolListYet(_, ProviderDown(_, why)) if (
            find_needed_secret(why) is not None
        ):
            return audience.request(f"set the secret: pegboard toolset secrets set {names.toolset} {names.setting}")
        case ProviderUnavailable(_, ProviderDown(fix=fix)) | NoToolListYet(_, ProviderDown(fix=fix)) if fix:
            return audience.request(fix)
        case UnusableOverride(_, is_operators=True, at=at):
            where = "" if at is None else f" at {at.short_text}"
            return f"This is operator policy: only an edit of pegboard.yaml corrects the override{where}."
        case UnusableOverride():
            return audience.request(f"correct the override: pegboard overrides show {names.tool}")
        case OwnerOff(str()):
            # To switch its server on would not help.
            return audience.request(f"enable the toolset first: pegboard toolset enable {names.toolset}")
        case DeniedByToolFilter(tool, _, InstalledBy()):
            # No file says so: what was installed with a limit keeps it.
            do = audience.inline_request(f"install its {_owner(tool)} again")
            return f"It was installed so: {do} without that limit."
        case SwitchedOff(_, Switch(blocks=True)):
            # To switch it on would pass over what somebody read and refused.
            return audience.request(f"review the tool again: pegboard approvals show {names.tool}")
        case NearUnknownDenial(tool, ExactDenial(at=InstalledBy())):
            do = audience.inline_request(f"install its {_owner(tool)} again")
            return f"It was installed so: {do} with the name corrected."
        case NearUnknownDenial(_, ExactDenial(unreviewed_match=ToolId() as unreviewed)):
            named, word = quote_name(unreviewed), shell_word(str(unreviewed)) or _PLACEHOLDERS.tool
            return audience.request(
                f"correct the entry in pegboard.yaml, or, if it means {named}, approve that tool; "
                f"the entry goes on applying to it: pegboard approvals show {word}"
            )
        case NearUnknownDenial(_, ExactDenial(setting=setting)) if setting == TOOLSETS_SETTING:
            return audience.request("correct the entry in pegboard.yaml, or remove it.")
        case NearUnknownDenial(_, denial):
            form = optional_form(denial)
            return audience.request(f"correct the entry in pegboard.yaml, or mark it as optional: {form}")
        case UndeterminedState(_, _, None):
            return audience.request("run: pegboard doctor")
        case UnreadableDecision():
            return audience.request("fix the row: pegboard store check")
        case _:
            return status_remedy(status_of(reason), audience, names)


def operator_detail(reason: LockReason) -> str | None:
    """For operators alone: what the sentence leaves out, because a server or a system has said it."""
    match reason:
        case ProviderUnavailable(_, ProviderDown(_, why, _, lines, "")) if find_unset_secret(why) is None and (
            lines or why.rstrip(".") != outage_kind(why)
        ):
            wrote = f" It last wrote: {quote_name(lines[-1])}." if lines else ""
            return f"{outage_sentence(why)}{wrote}"
        case UnreadableDecision(_, row):
            return f"{row.row}: {row.why}. {repair_command(row)}"
        case _:
            return None


def optional_form(denial: ExactDenial) -> str:
    """What to write where the name need not exist."""
    return "optional: true" if denial.setting.startswith("overrides.") else f"{{name: {denial.text}, optional: true}}"


def _names_in(reason: LockReason) -> _Names:
    match reason:
        case (
            OwnerOff(ServerKey() as server)
            | ServerInQuarantine(server)
            | UndeterminedState(_, _, (ServerKey() | ToolsetKey()) as server)
        ):
            return _Names(server=str(server))
        case ProviderUnavailable(source, health) | NoToolListYet((source, *_), health):
            secret = find_needed_secret(health.why) if isinstance(health, ProviderDown) else None
            if secret is None:
                return _Names(server=str(source))
            return _Names(server=str(source), toolset=secret.toolset, setting=secret.name)
        case OwnerOff(str() as toolset):
            return _Names(toolset=toolset)
        case OwnerOff() | UndeterminedState() | NoToolListYet():
            return _PLACEHOLDERS
        case _:
            return _Names(tool=shell_word(str(reason.tool)) or _PLACEHOLDERS.tool)


def _owner(tool: ToolId) -> str:
    return "server" if isinstance(tool.source, ServerKey) else "toolset"


def _provider(source: SourceKey) -> str:
    """A server is known by its key; the id of a toolset alone could be taken for a server's."""
    return provider_title(source) if isinstance(source, ToolsetKey) else str(source)


def _block_text(switch: Switch) -> str:
    return f"blocked at its review by {_switch_author_text(switch)}"


def _switch_author_text(switch: Switch) -> str:
    note = f" ({switch.note})" if switch.note else ""
    return f"{switch.by} on {switch.at:%Y-%m-%d}{note}"


def _origin_text(by: Switch | Origin) -> str:
    match by:
        case Switch():
            return f"switched off by {_switch_author_text(by)}"
        case DeclaredAt():
            return f"enabled is false at {by.short_text}"
        case InstalledBy():
            return f"installed switched off by {by.by}"
        case _:
            assert_never(by)


def _health_text(health: ProviderStart | ProviderDown | ProviderNeedsSignIn | ProviderOff) -> str:
    match health:
        case ProviderStart(attempt):
            return f"is starting (attempt {attempt})"
        case ProviderDown(_, why, fix=fix) if fix:
            return f"is down: {why.rstrip('.')}"
        case ProviderDown(_, why):
            # Why is in part the server's own words, and may name places of this machine.
            return f"is down: {told}" if (told := outage_kind(why)) else "is down"
        case ProviderNeedsSignIn():
            return "needs a person to sign in"
        case ProviderOff():
            return "is not running"
        case _:
            assert_never(health)
