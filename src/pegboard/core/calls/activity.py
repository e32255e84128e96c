"""What people, files and first sights decided, as the audit tells it: who, when, about what, in words without secrets.

Calls leave a `CallRecord`; everything else that happens to the board leaves a `Decision`. The kinds are open: a command
that is not named here is told by the name of its class, and whatever is no command chooses a word of its own. Whoever
asks for a kind or an outcome asks for one of `KINDS` and `OUTCOMES`.
"""

import re
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple, TypeVar, assert_never

from pegboard.core.calls.call import MissingConfirmation
from pegboard.core.commands.access import MakeToken, RemovePrincipal, RevokeToken, SetPrincipalConfirmation
from pegboard.core.commands.base import SetToolSwitches
from pegboard.core.commands.commands import (
    AddConsent,
    AddServer,
    ApproveTool,
    ApproveTools,
    BlockTool,
    EditOverride,
    ReleaseServer,
    RemoveServer,
    RevokeConsent,
    SetGrants,
    SetOverride,
    SetSwitch,
    SetTrust,
    TakeBaseline,
)
from pegboard.core.commands.row_repair import DeleteRows
from pegboard.core.commands.toolset_choice import SetToolsetChoice
from pegboard.core.commands.toolset_install import InstallToolset, RecordSecretChange, RemoveToolset
from pegboard.core.commands.transfer import ReplaceDecisions
from pegboard.core.decision.facts import find_quarantine
from pegboard.core.decision.status import LockStatus
from pegboard.core.model.ids import PrincipalId, ServerKey, ToolId
from pegboard.core.model.principals import sort_scopes
from pegboard.core.model.server import Container, Http, Server, Stdio
from pegboard.core.model.text import quote_name
from pegboard.core.model.tool import OwnTools
from pegboard.core.model.web_api import WebApi
from pegboard.core.overrides.model import ARGUMENT_PREFIX, Override, OverrideEdit
from pegboard.core.policy.policy import Consent, format_end

T = TypeVar("T")

CALL: Final = "call"
"""The kind of a call that reached its tool's provider."""
REFUSAL: Final = "refusal"
"""The kind of a call that did not."""

DECISION: Final = "decision"
"""Stands for every kind that is no call."""

DONE: Final = "done"
REJECTED: Final = "rejected"
STALE: Final = "stale"
"""Somebody else decided first, and the command named the version that was looked at."""
NOT_SAVED: Final = "not_saved"

CHANGE: Final = "change"
"""A server changed or added tools, and they are locked for it."""

KINDS: Final = (
    *(CALL, REFUSAL, DECISION, CHANGE, "server", "switch", "approval", "block", "first_sight", "ticket", "trust"),
    *("override", "grant", "token", "sign_in", "sign_out", "config", "toolset", "store"),
)
"""All there are; `decision` stands for every one but the first two."""
OUTCOMES: Final = (
    *("returned", "tool_failed", "needs_input", "demanded", "provider_failed", "cancelled"),
    *(
        "unknown_tool",
        "bad_arguments",
        *(status.value for status in LockStatus),
        *(how.value for how in MissingConfirmation),
    ),
    *(DONE, REJECTED, STALE, NOT_SAVED, "waits", "broken"),
)

FILE_PRINCIPAL: Final = PrincipalId("file")
"""Who did it, when it was the operator by editing pegboard.yaml."""

FINGERPRINT_CHARS: Final = 12
MAX_NAMED: Final = 20
"""Of many tools that are approved at once."""


@dataclass(frozen=True)
class DecisionRecord:
    kind: str
    about: str | None
    """The id of the tool, server or toolset; `None` where it is about none of them."""
    text: str
    """In words, without secrets: it is kept, shown and exported."""
    by: PrincipalId
    at: datetime
    policy_version: int
    """The version of the policy that came of it, or at which it was turned down."""
    outcome: str = DONE


class DecisionSummary(NamedTuple):
    kind: str
    about: str | None
    text: str


def describe_command(command: object) -> DecisionSummary:
    """Any command, also one that is not known here: then its class and what it names must do."""
    match command:
        case AddServer(server, _, seen):
            held = "" if find_quarantine(server) is None else ", in quarantine"
            sight = "" if seen is None else f", {_count_text(len(seen), 'tool')} seen before"
            return DecisionSummary(
                "server",
                str(server.key),
                f"added, {_describe_connection(server)}, trust {server.trust.value}{held}{sight}",
            )
        case InstallToolset(toolset):
            return DecisionSummary("toolset", toolset.id, _describe_install(command))
        case RemoveToolset(id):
            return DecisionSummary("toolset", id, "removed with its tools, servers, switches and approvals")
        case RecordSecretChange(id, name, is_set):
            return DecisionSummary("secret", id, f"{'set' if is_set else 'forgot'} the secret {name}")
        case RemoveServer(key):
            return DecisionSummary("server", str(key), "removed with its switches and approvals")
        case SetSwitch(what, on, note):
            return DecisionSummary(
                "switch", str(what), f"switched {'on' if on else 'off'}{f': {note}' if note else ''}"
            )
        case SetToolSwitches(tools, on, note):
            return DecisionSummary("switch", _common_owner(tools), _describe_switches(tools, on=on, note=note))
        case ApproveTool(tool, spec):
            return DecisionSummary("approval", str(tool), f"approved as {spec.fingerprint[:FINGERPRINT_CHARS]}")
        case ApproveTools(approvals):
            return DecisionSummary(
                "approval", _common_owner(each.tool for each in approvals), _describe_approvals(approvals)
            )
        case BlockTool(tool, note):
            return DecisionSummary("block", str(tool), f"blocked at its review{f': {note}' if note else ''}")
        case ReleaseServer(key):
            return DecisionSummary("server", str(key), "released from quarantine")
        case TakeBaseline(key, specs):
            return DecisionSummary(
                "first_sight", str(key), f"{_count_text(len(specs), 'tool')} approved at first sight"
            )
        case SetTrust(key, trust):
            return DecisionSummary("trust", str(key), f"trust {trust.value}")
        case SetOverride(override):
            return DecisionSummary("override", str(override.target), _describe_override(override))
        case EditOverride(edit):
            return DecisionSummary("override", str(edit.changes.target), _describe_edit(edit))
        case SetToolsetChoice(id, includes, excludes):
            lists = ("includes", includes), ("excludes", excludes)
            said = [f"{word} {', '.join(map(str, each[:MAX_NAMED]))}{_and_more(each)}" for word, each in lists if each]
            return DecisionSummary("override", id, "; ".join(said) or "includes and excludes nothing any more")
        case DeleteRows(rows):
            deleted = "; ".join(map(str, rows[:MAX_NAMED]))
            return DecisionSummary(
                "store", None, f"deleted {_count_text(len(rows), 'unreadable row')}: {deleted}{_and_more(rows)}"
            )
        case MakeToken():
            until = "" if command.expires_at is None else f" until {command.expires_at:%Y-%m-%d %H:%M} UTC"
            scopes = ", ".join(sort_scopes(command.scopes))
            marked = {True: ", interactive", False: ", not interactive", None: ""}[command.interactive]
            made = f"made {command.id} ({command.name!r}) for {command.principal}: {scopes}{until}{marked}"
            return DecisionSummary("token", None, made)
        case RevokeToken(id):
            return DecisionSummary("token", None, f"revoked {id}")
        case RemovePrincipal(principal):
            return DecisionSummary("token", None, f"removed {principal} with its tokens and grants")
        case SetPrincipalConfirmation(principal, interactive, mode):
            both = f"interactive {_format_setting(interactive)}, confirmation {_format_setting(mode)}"
            return DecisionSummary("grant", None, f"{principal}: {both}")
        case SetGrants(principal, toolsets):
            limit = "no limit" if toolsets is None else ", ".join(sorted(toolsets)) or "nothing"
            return DecisionSummary("grant", None, f"{principal} may use: {limit}")
        case AddConsent(_, tool, _, principal, client, until, whose):
            source = "from any client" if client is None else f"from the client {client!r}"
            source += "" if whose is None else f", at {whose.description}"
            allowed = f"allowed {principal} to call this without confirmation, {source}, {format_end(until)}"
            return DecisionSummary("ticket", str(tool), allowed)
        case ReplaceDecisions(carried):
            counts = (_count_text(len(carried.servers), "server"), _count_text(len(carried.approvals), "approval"))
            return DecisionSummary(
                "policy", None, f"all decisions replaced by those of a file: {', '.join(counts)} and the rest"
            )
        case RevokeConsent(id, None):
            return DecisionSummary("ticket", None, f"revoked the standing permission {id}")
        case RevokeConsent(id, Consent(tool=tool) as given):
            revoked = f"revoked the permission of {given.caller_text} to call this without confirmation ({id})"
            return DecisionSummary("ticket", str(tool), revoked)
        case _:
            about = next(
                (str(named) for name in _SUBJECT_FIELDS if (named := getattr(command, name, None)) is not None), None
            )
            return DecisionSummary(_CAMEL_BOUNDARY.sub("_", type(command).__name__).lower(), about, "")


def describe_by_owner(command: object) -> tuple[DecisionSummary, ...]:
    """What is decided of the tools of several servers is told of each of them: who asks what became of one tool asks by
    its id and by its server."""
    match command:
        case SetToolSwitches(tools):
            groups = _group_by_owner(tools, lambda tool: tool)
            return tuple(describe_command(replace(command, tools=group)) for group in groups)
        case ApproveTools(approvals):
            given = _group_by_owner(approvals, lambda each: each.tool)
            return tuple(describe_command(replace(command, approvals=group)) for group in given)
        case _:
            return (describe_command(command),)


def _group_by_owner(several: Iterable[T], tool: Callable[[T], ToolId]) -> Iterable[tuple[T, ...]]:
    groups: dict[str, list[T]] = {}
    for each in several:
        groups.setdefault(str(tool(each).source), []).append(each)
    return map(tuple, groups.values())


_CAMEL_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SUBJECT_FIELDS: Final = ("tool", "server", "key", "what", "toolset", "target")


def _describe_install(command: InstallToolset) -> str:
    servers = [server for server in command.servers if isinstance(server.key, ServerKey)]
    own, version = len(command.specs), f" {quote_name(command.toolset.version)}" if command.toolset.version else ""
    parts = [_count_text(own, "tool") + " of its own"] if own else []
    parts += [_count_text(len(servers), "server")] if servers else []
    read = f"; {_count_text(len(command.approve), 'tool')} approved as read" if command.approve else ""
    return f"imported{version} with {' and '.join(parts) or 'no tools'}{read}"


def _common_owner(tools: Iterable[ToolId]) -> str | None:
    """The server they all belong to, if it is one."""
    owners = {str(tool.source) for tool in tools}
    return owners.pop() if len(owners) == 1 else None


def _describe_approvals(approvals: tuple[ApproveTool, ...]) -> str:
    named = [f"{each.tool} as {each.spec.fingerprint[:FINGERPRINT_CHARS]}" for each in approvals[:MAX_NAMED]]
    return f"{_count_text(len(approvals), 'tool')} approved: {', '.join(named)}{_and_more(approvals)}"


def _describe_switches(tools: tuple[ToolId, ...], *, on: bool, note: str) -> str:
    named = f"{', '.join(map(str, tools[:MAX_NAMED]))}{_and_more(tools)}"
    said = f": {note}" if note else ""
    return f"{_count_text(len(tools), 'tool')} switched {'on' if on else 'off'}{said} ({named})"


def _and_more(all_of_them: Sized) -> str:
    return f" and {len(all_of_them) - MAX_NAMED:,} more" if len(all_of_them) > MAX_NAMED else ""


def _describe_connection(server: Server) -> str:
    """How, not where: commands and addresses may hold secrets, and `servers list` shows them masked."""
    match server.connection:
        case Stdio():
            return "started as a program"
        case Http(transport=transport):
            return f"reached by {transport.value}"
        case Container():
            return "started in a container"
        case OwnTools():
            return "run by itself"
        case WebApi(_, title):
            return f"reached by the API of {title}"
        case _:
            assert_never(server.connection)


def _describe_override(override: Override) -> str:
    """Which fields, not what they say: a pinned argument is nobody's to read."""
    return f"sets {', '.join(override.fields_set)}" if override.fields_set else "cleared"


def _describe_edit(edit: OverrideEdit) -> str:
    said = [name for name in edit.changes.fields_set if name != "arguments"]
    said += [f"{ARGUMENT_PREFIX}{name}" for name in edit.changes.arguments or {}]
    parts = [f"sets {', '.join(said)}"] if said else []
    parts += [f"clears {', '.join(sorted(edit.cleared_fields))}"] if edit.cleared_fields else []
    return "; ".join(parts)


def _format_setting(value: bool | str | None) -> str:
    return "unset" if value is None else str(value).lower()


def _count_text(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
