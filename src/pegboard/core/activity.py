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

from .call import Unconfirmed
from .carrying import ReplaceDecisions
from .choosing import ChooseTools
from .commands import (
    AddServer,
    Approve,
    ApproveSeveral,
    Block,
    EditOverride,
    Grant,
    Release,
    Remember,
    RemoveServer,
    Revoke,
    SetOverride,
    SetTrust,
    TakeBaseline,
    ThrowSwitch,
)
from .consent import Consent, end_text
from .docspace.connection import DocSpace
from .editing import ARGUMENT, Edit
from .entitling import MakeToken, RemovePrincipal, RevokeToken, SetPrincipalConfirmation
from .ids import PrincipalId, ServerKey, ToolId
from .imported import InstallToolset, RemoveToolset, TurnSecret
from .override import Override
from .own import Own
from .row_repair import DeleteRows
from .rules import awaited_review
from .said import plainly
from .scope import in_order
from .server import Container, Http, Server, Stdio
from .settling import ThrowSeveral
from .status import Status

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
    *("unknown_tool", "bad_arguments", *(status.value for status in Status), *(how.value for how in Unconfirmed)),
    *(DONE, REJECTED, STALE, NOT_SAVED, "waits", "broken"),
)

FILE: Final = PrincipalId("file")
"""Who did it, when it was the operator by editing pegboard.yaml."""

FINGERPRINT_SHOWN: Final = 12
MOST_NAMED: Final = 20
"""Of many tools that are approved at once."""


@dataclass(frozen=True)
class Decision:
    kind: str
    about: str | None
    """The id of the tool, server or toolset; `None` where it is about none of them."""
    said: str
    """In words, without secrets: it is kept, shown and exported."""
    by: PrincipalId
    at: datetime
    policy_version: int
    """The version of the policy that came of it, or at which it was turned down."""
    ended: str = DONE


class Told(NamedTuple):
    kind: str
    about: str | None
    said: str


def told(command: object) -> Told:
    """Any command, also one that is not known here: then its class and what it names must do."""
    match command:
        case AddServer(server, _, seen):
            held = "" if awaited_review(server) is None else ", in quarantine"
            sight = "" if seen is None else f", {_count(len(seen), 'tool')} seen before"
            return Told(
                "server", str(server.key), f"added, {_reached(server)}, trust {server.trust.value}{held}{sight}"
            )
        case InstallToolset(toolset):
            return Told("toolset", toolset.id, _installed(command))
        case RemoveToolset(id):
            return Told("toolset", id, "removed with its tools, servers, switches and approvals")
        case TurnSecret(id, name, is_set):
            return Told("secret", id, f"{'set' if is_set else 'forgot'} the secret {name}")
        case RemoveServer(key):
            return Told("server", str(key), "removed with its switches and approvals")
        case ThrowSwitch(what, on, note):
            return Told("switch", str(what), f"switched {'on' if on else 'off'}{f': {note}' if note else ''}")
        case ThrowSeveral(tools, on, note):
            return Told("switch", _owner(tools), _thrown(tools, on=on, note=note))
        case Approve(tool, spec):
            return Told("approval", str(tool), f"approved as {spec.fingerprint[:FINGERPRINT_SHOWN]}")
        case ApproveSeveral(approvals):
            return Told("approval", _owner(each.tool for each in approvals), _approved(approvals))
        case Block(tool, note):
            return Told("block", str(tool), f"blocked at its review{f': {note}' if note else ''}")
        case Release(key):
            return Told("server", str(key), "released from quarantine")
        case TakeBaseline(key, specs):
            return Told("first_sight", str(key), f"{_count(len(specs), 'tool')} approved at first sight")
        case SetTrust(key, trust):
            return Told("trust", str(key), f"trust {trust.value}")
        case SetOverride(override):
            return Told("override", str(override.target), _overridden(override))
        case EditOverride(edit):
            return Told("override", str(edit.said.target), _edited(edit))
        case ChooseTools(id, includes, excludes):
            lists = ("includes", includes), ("excludes", excludes)
            said = [f"{word} {', '.join(map(str, each[:MOST_NAMED]))}{_more(each)}" for word, each in lists if each]
            return Told("override", id, "; ".join(said) or "includes and excludes nothing any more")
        case DeleteRows(rows):
            deleted = "; ".join(map(str, rows[:MOST_NAMED]))
            return Told("store", None, f"deleted {_count(len(rows), 'unreadable row')}: {deleted}{_more(rows)}")
        case MakeToken():
            until = "" if command.expires is None else f" until {command.expires:%Y-%m-%d %H:%M} UTC"
            scopes = ", ".join(in_order(command.scopes))
            marked = {True: ", interactive", False: ", not interactive", None: ""}[command.interactive]
            made = f"made {command.id} ({command.name!r}) for {command.principal}: {scopes}{until}{marked}"
            return Told("token", None, made)
        case RevokeToken(id):
            return Told("token", None, f"revoked {id}")
        case RemovePrincipal(principal):
            return Told("token", None, f"removed {principal} with its tokens and grants")
        case SetPrincipalConfirmation(principal, interactive, mode):
            both = f"interactive {_setting(interactive)}, confirmation {_setting(mode)}"
            return Told("grant", None, f"{principal}: {both}")
        case Grant(principal, toolsets):
            limit = "no limit" if toolsets is None else ", ".join(sorted(toolsets)) or "nothing"
            return Told("grant", None, f"{principal} may use: {limit}")
        case Remember(_, tool, _, principal, client, until, whose):
            source = "from any client" if client is None else f"from the client {client!r}"
            source += "" if whose is None else f", at {whose.told}"
            allowed = f"allowed {principal} to call this without confirmation, {source}, {end_text(until)}"
            return Told("ticket", str(tool), allowed)
        case ReplaceDecisions(carried):
            counts = (_count(len(carried.servers), "server"), _count(len(carried.approvals), "approval"))
            return Told("policy", None, f"all decisions replaced by those of a file: {', '.join(counts)} and the rest")
        case Revoke(id, None):
            return Told("ticket", None, f"revoked the standing permission {id}")
        case Revoke(id, Consent(tool=tool) as given):
            revoked = f"revoked the permission of {given.caller_text} to call this without confirmation ({id})"
            return Told("ticket", str(tool), revoked)
        case _:
            about = next((str(named) for name in _NAMES if (named := getattr(command, name, None)) is not None), None)
            return Told(_HUMP.sub("_", type(command).__name__).lower(), about, "")


def told_by_owner(command: object) -> tuple[Told, ...]:
    """What is decided of the tools of several servers is told of each of them: who asks what became of one tool asks by
    its id and by its server."""
    match command:
        case ThrowSeveral(tools):
            groups = _by_owner(tools, lambda tool: tool)
            return tuple(told(replace(command, tools=group)) for group in groups)
        case ApproveSeveral(approvals):
            given = _by_owner(approvals, lambda each: each.tool)
            return tuple(told(replace(command, approvals=group)) for group in given)
        case _:
            return (told(command),)


def _by_owner(several: Iterable[T], tool: Callable[[T], ToolId]) -> Iterable[tuple[T, ...]]:
    groups: dict[str, list[T]] = {}
    for each in several:
        groups.setdefault(str(tool(each).source), []).append(each)
    return map(tuple, groups.values())


_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMES: Final = ("tool", "server", "key", "what", "toolset", "target")


def _installed(command: InstallToolset) -> str:
    servers = [server for server in command.servers if isinstance(server.key, ServerKey)]
    own, version = len(command.specs), f" {plainly(command.toolset.version)}" if command.toolset.version else ""
    parts = [_count(own, "tool") + " of its own"] if own else []
    parts += [_count(len(servers), "server")] if servers else []
    read = f"; {_count(len(command.approve), 'tool')} approved as read" if command.approve else ""
    return f"imported{version} with {' and '.join(parts) or 'no tools'}{read}"


def _owner(tools: Iterable[ToolId]) -> str | None:
    """The server they all belong to, if it is one."""
    owners = {str(tool.source) for tool in tools}
    return owners.pop() if len(owners) == 1 else None


def _approved(approvals: tuple[Approve, ...]) -> str:
    named = [f"{each.tool} as {each.spec.fingerprint[:FINGERPRINT_SHOWN]}" for each in approvals[:MOST_NAMED]]
    return f"{_count(len(approvals), 'tool')} approved: {', '.join(named)}{_more(approvals)}"


def _thrown(tools: tuple[ToolId, ...], *, on: bool, note: str) -> str:
    named = f"{', '.join(map(str, tools[:MOST_NAMED]))}{_more(tools)}"
    said = f": {note}" if note else ""
    return f"{_count(len(tools), 'tool')} switched {'on' if on else 'off'}{said} ({named})"


def _more(all_of_them: Sized) -> str:
    return f" and {len(all_of_them) - MOST_NAMED:,} more" if len(all_of_them) > MOST_NAMED else ""


def _reached(server: Server) -> str:
    """How, not where: commands and addresses may hold secrets, and `servers list` shows them masked."""
    match server.connection:
        case Stdio():
            return "started as a program"
        case Http(transport=transport):
            return f"reached by {transport.value}"
        case Container():
            return "started in a container"
        case Own():
            return "run by itself"
        case DocSpace():
            return "reached by the API of DocSpace"
        case _:
            assert_never(server.connection)


def _overridden(override: Override) -> str:
    """Which fields, not what they say: a pinned argument is nobody's to read."""
    return f"sets {', '.join(override.says)}" if override.says else "cleared"


def _edited(edit: Edit) -> str:
    said = [name for name in edit.said.says if name != "arguments"]
    said += [f"{ARGUMENT}{name}" for name in edit.said.arguments or {}]
    parts = [f"sets {', '.join(said)}"] if said else []
    parts += [f"clears {', '.join(sorted(edit.cleared))}"] if edit.cleared else []
    return "; ".join(parts)


def _setting(value: bool | str | None) -> str:
    return "unset" if value is None else str(value).lower()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
