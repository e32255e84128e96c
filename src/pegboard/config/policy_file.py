"""Reads an exported policy, or returns all its problems with their lines. An approval applies to the tool definition
beside it; its fingerprint must match.

An approval holds for the one spec that stands beside it. A fingerprint that is not the spec's own is a mistake.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar, assert_never

from pegboard.config.manifest.secrets import Placeholders, referenced_names
from pegboard.config.schema.section import format_tool_filter
from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.commands.transfer import PolicyExport
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.characters import is_deceptive_name
from pegboard.core.model.confirmation import ConfirmationMode, PrincipalConfirmation
from pegboard.core.model.ids import (
    BadId,
    LegacyToolId,
    PrincipalId,
    ProviderKey,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    is_id,
    parse_server_key,
    parse_tool_id,
)
from pegboard.core.model.patterns import Pattern, parse_pattern
from pegboard.core.model.server import (
    EveryTool,
    Http,
    InstalledBy,
    NoOAuth,
    OAuth,
    Origin,
    ProtocolMode,
    Server,
    StartOnDemand,
    StartWithGateway,
    Stdio,
    Timeouts,
    ToolFilter,
    Trust,
    require_stdio_or_http,
)
from pegboard.core.model.tool import Fingerprint, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DEFAULT_CONSENT_DAYS, MAX_CONSENT_DAYS, Approval, Consent, Switch, Switchable

# What people decided as one text that another board can read. No secret is in it: what may be one becomes a
# reference
# to an environment variable, by the rule that exports of toolsets go by.

FORMAT_VERSION: Final = 1
KIND_KEY: Final = "pegboard_policy"


@dataclass(frozen=True)
class PolicyText:
    text: str
    secrets: Mapping[str, tuple[str, ...]]
    """The variables that were put in place of what may be secret, and where each stands."""


def policy_text(carried: PolicyExport) -> PolicyText:
    held = Placeholders(reserved_names=referenced_names(_texts(carried)))
    whole: JsonObject = {
        KIND_KEY: FORMAT_VERSION,
        "tokens_required": carried.tokens_required,
        "servers": {str(key): server_entry(server, held) for key, server in carried.servers.items()},
        "toolsets": {id: _toolset(toolset) for id, toolset in carried.toolsets.items()},
        "trust": {str(key): trust.value for key, trust in carried.trust.items()},
        "first_sights": {str(key): at.isoformat() for key, at in carried.first_seen.items()},
        "switches": [_switch(what, switch) for what, switch in carried.switches.items()],
        "approvals": [_approval(tool, approval) for tool, approval in carried.approvals.items()],
        "overrides": [_override(row, held) for row in carried.overrides],
        "grants": {who: [*sorted(toolsets)] for who, toolsets in carried.grants.items()},
        "confirmations": {who: _confirmation(said) for who, said in carried.confirmations.items()},
        "remembered": [_consent(consent) for consent in carried.consents.values()],
    }
    text = json.dumps(whole, indent=1)
    return PolicyText(f"{text}\n", {name: tuple(map(str, held.locations[name])) for name in held.names})


def server_entry(server: Server, held: Placeholders) -> JsonObject:
    """By the keys of a server in pegboard.yaml."""
    entry: JsonObject = {}
    match require_stdio_or_http(server.connection):
        case Stdio(command, args, env, cwd):
            entry |= {"command": held.replace_text(server.id, "command", command)}
            entry |= {
                "args": [*held.replace_args(server.id, command, args)],
                "env": {**held.replace_values(server.id, "env", env)},
            }
            entry |= {} if cwd is None else {"cwd": cwd}
        case Http(url, transport, headers, oauth):
            entry |= {"url": held.replace_text(server.id, "url", url), "transport": transport.value}
            entry |= {
                "headers": {**held.replace_values(server.id, "headers", headers)},
                **_oauth(server.id, oauth, held),
            }
        case never:
            assert_never(never)
    entry |= {"trust": server.trust.value, "enabled": server.enabled, "quarantine": server.quarantined}
    entry |= format_tool_filter(server.limit)
    match server.starts:
        case StartWithGateway():
            pass
        case StartOnDemand(idle):
            entry |= {"start": "on_demand", "idle_stop": idle}
        case _:
            assert_never(server.starts)
    if server.protocol is not ProtocolMode.LATEST:
        entry["protocol"] = server.protocol.value
    if (waits := server.timeouts) != Timeouts():
        entry["timeouts"] = {"start": waits.start, "call": waits.call, "stop": waits.stop}
    return {**entry, **_provenance_fields(server.origin)}


def _oauth(owner: str, oauth: OAuth | NoOAuth, held: Placeholders) -> JsonObject:
    match oauth:
        case NoOAuth():
            return {"oauth": False}
        case OAuth(client_id, client_secret, metadata, scopes):
            said: JsonObject = {} if client_id is None else {"client_id": client_id}
            if client_secret is not None:
                said |= held.replace_values(owner, "oauth", {"client_secret": client_secret})
            said |= {} if metadata is None else {"client_metadata_url": metadata}
            said |= {"scopes": [*scopes]} if scopes else {}
            return {"oauth": said} if said else {}


def _provenance_fields(origin: Origin) -> JsonObject:
    return {"by": origin.by, "at": origin.at.isoformat()} if isinstance(origin, InstalledBy) else {}


def _toolset(toolset: Toolset) -> JsonObject:
    return {
        "name": toolset.name,
        "version": toolset.version,
        "description": toolset.description,
        "enabled": toolset.enabled,
        "user_mcp": toolset.user_mcp,
        **_provenance_fields(toolset.origin),
    }


def _switch(what: Switchable, switch: Switch) -> JsonObject:
    kind = "tool" if isinstance(what, ToolId) else "server" if isinstance(what, ServerKey) else "toolset"
    note: JsonObject = {"note": switch.note} if switch.note else {}
    blocks: JsonObject = {"blocks": True} if switch.blocks else {}
    return {kind: str(what), "on": switch.is_on, "by": switch.by, "at": switch.at.isoformat(), **note, **blocks}


def _approval(tool: ToolId, approval: Approval) -> JsonObject:
    return {
        "tool": str(tool),
        "fingerprint": approval.fingerprint,
        "by": approval.by,
        "at": approval.at.isoformat(),
        "first_sight": approval.first_sight,
        "spec": approval.spec.members,
    }


def _override(row: Override, held: Placeholders) -> JsonObject:
    said: JsonObject = {name: _plain_value(getattr(row, name)) for name in row.fields_set if name != "arguments"}
    if row.arguments:
        said["arguments"] = {
            name: held.replace_argument(str(row.target), name, each).members for name, each in row.arguments.items()
        }
    by = next((origin for origin in row.origins.values() if isinstance(origin, InstalledBy)), None)
    return {
        "toolset": row.toolset,
        **(
            {"tool": str(row.target)}
            if isinstance(row.target, ToolId)
            else {"pattern": _policy_writing_pattern(row.target)}
        ),
        "says": said,
        **({} if by is None else _provenance_fields(by)),
    }


def _plain_value(value: object) -> Json:
    if isinstance(value, ConfirmationMode):
        return value.value
    return dict(value) if isinstance(value, Mapping) else value  # type: ignore[return-value]  # a field of an override


def _policy_writing_pattern(pattern: Pattern) -> str:
    # By itself this word begins something else.
    return f"mcp:{pattern}" if pattern.scope == "mcp" else str(pattern)


def _confirmation(said: PrincipalConfirmation) -> JsonObject:
    entry: JsonObject = {} if said.mode is None else {"mode": said.mode.value}
    entry |= {} if said.interactive is None else {"interactive": said.interactive}
    at = said.mode_at or said.interactive_at
    return entry if at is None else {**entry, **_provenance_fields(at)}


def _consent(consent: Consent) -> JsonObject:
    return {
        "id": consent.id,
        "tool": str(consent.tool),
        "fingerprint": consent.fingerprint,
        "principal": consent.principal,
        "client": consent.client,
        "by": consent.by,
        "at": consent.at.isoformat(),
        "until": "never" if consent.until is None else consent.until.isoformat(),
    }


def _texts(carried: PolicyExport) -> list[str]:
    """Whatever may hold references: the names of these are taken."""
    texts: list[str] = []
    for server in carried.servers.values():
        match require_stdio_or_http(server.connection):
            case Stdio(command, args, env):
                texts += (command, *args, *env.values())
            case Http(url, _, headers):
                texts += (url, *headers.values())
    return texts


MAX_POLICY_BYTES: Final = 50_000_000
MAX_PROBLEMS: Final = 100
_PROVENANCE_KEYS: Final = frozenset({"quarantine", "by", "at"})
_FILE: Final = "policy.json"
_TOKENS_REQUIRED: Final = "tokens_required"
_SECTIONS: Final = {
    **dict.fromkeys(("servers", "toolsets", "trust", "first_sights", "grants", "confirmations"), dict),
    **dict.fromkeys(("switches", "approvals", "overrides", "remembered"), list),
}
_SPEC_TYPES: Final = {
    "name": str,
    "title": str | None,
    "description": str,
    "input_schema": dict,
    "output_schema": dict | None,
    "annotations": dict | None,
}

T = TypeVar("T")


@dataclass(frozen=True)
class UnreadablePolicy:
    """Each a sentence with its place in the text."""

    problems: tuple[str, ...]


class _EntryError(Exception):
    """What is wrong with one entry, and what to do."""


@dataclass
class _PolicyReader:
    by: PrincipalId
    at: datetime
    problems: list[str] = field(default_factory=list[str])

    def read_each(self, section: str, entries: Mapping[str, object], read: Callable[[str, object], T]) -> Iterator[T]:
        for place, entry in entries.items():
            try:
                yield read(place, entry)
            except _EntryError as wrong:
                self.problems.append(
                    f"{section}[{place}]: {wrong}" if place.isdecimal() else f"{section}.{place}: {wrong}"
                )

    # Entries

    def server(self, place: str, entry: object) -> Server:
        key, said = _server(place), _as_object(entry)
        keys = {name: value for name, value in said.items() if name not in _PROVENANCE_KEYS}
        written = {"servers": {key.server: {**keys, "toolset": key.toolset}}}
        read = load_settings_text(json.dumps(written), "server.json", Path("/"), resolves_references=False)
        if isinstance(read, InvalidFile):
            raise _EntryError("; ".join(f"{problem.key}: {problem.message}" for problem in read.problems))
        server = read.declared.servers[key]
        connection = server.connection
        if isinstance(connection, Stdio) and "cwd" not in keys:
            connection = replace(connection, cwd=None)
        return replace(
            server,
            connection=connection,
            origin=self.origin(said),
            limit=_without_position(server.limit),
            quarantined=_typed_value(said, "quarantine", bool, False),
        )

    def toolset(self, place: str, entry: object) -> Toolset:
        said = _as_object(entry)
        if not is_id(place):
            raise _EntryError("this is no id of a toolset.")
        return Toolset(
            ToolsetId(place),
            self.origin(said),
            name=_typed_value(said, "name", str, ""),
            version=_typed_value(said, "version", str, ""),
            description=_typed_value(said, "description", str, ""),
            enabled=_typed_value(said, "enabled", bool, True),
            user_mcp=_typed_value(said, "user_mcp", bool, True),
        )

    def switch(self, place: str, entry: object) -> tuple[Switchable, Switch]:
        said = _as_object(entry)
        named = [(kind, said[kind]) for kind in ("tool", "server", "toolset") if kind in said]
        if len(named) != 1:
            raise _EntryError("this names one tool, server or toolset. Write one of these keys.")
        kind = named[0][0]
        text = _typed_value(said, kind, str)
        what: Switchable = _tool(text) if kind == "tool" else _server(text) if kind == "server" else ToolsetId(text)
        blocks = _typed_value(said, "blocks", bool, False)
        if blocks and not isinstance(what, ToolId):
            raise _EntryError("only a tool is blocked.")
        on = _typed_value(said, "on", bool) and not blocks
        return what, Switch(
            on, self.decided_by(said), self.decided_at(said), _typed_value(said, "note", str, ""), blocks
        )

    def approval(self, place: str, entry: object) -> tuple[ToolId, Approval]:
        said = _as_object(entry)
        tool, spec = _tool(_typed_value(said, "tool", str)), _spec(said.get("spec"))
        if spec.fingerprint != said.get("fingerprint"):
            raise _EntryError("the fingerprint is not that of the spec beside it, so it is not known what was read.")
        if spec.name != tool.name:
            raise _EntryError(f"the spec is of {spec.name!r} and not of {tool}.")
        return tool, Approval(
            spec, self.decided_by(said), self.decided_at(said), _typed_value(said, "first_sight", bool, False)
        )

    def override(self, place: str, entry: object) -> Override:
        said = _as_object(entry)
        toolset = ToolsetId(_typed_value(said, "toolset", str))
        if ("tool" in said) == ("pattern" in said):
            raise _EntryError("this is about one tool, or about a pattern. Write one of these keys.")
        about = (
            _tool(_typed_value(said, "tool", str)) if "tool" in said else _pattern(_typed_value(said, "pattern", str))
        )
        written = {"overrides": {toolset: {"*:*": _as_object(said.get("says"))}}}
        read = load_settings_text(json.dumps(written), "override.json", Path("/"), resolves_references=False)
        if isinstance(read, InvalidFile):
            raise _EntryError("; ".join(problem.message for problem in read.problems))
        (row,) = read.declared.overrides
        origin = self.origin(said)
        return replace(row, target=about, is_declared=False, origins=dict.fromkeys(row.origins, origin))

    def confirmation(self, place: str, entry: object) -> tuple[PrincipalId, PrincipalConfirmation]:
        """A file restricts, and marks nobody interactive."""
        said = _as_object(entry)
        if said.get("interactive", False) is not False:
            raise _EntryError(
                f"interactive: only false is imported. Mark it here: pegboard grants confirmation {place} --interactive"
            )
        if said.get("mode", ConfirmationMode.TICKET) != ConfirmationMode.TICKET:
            raise _EntryError("mode: only 'ticket' is imported. Remove it.")
        unmarked, by_ticket, origin = "interactive" in said, "mode" in said, self.origin(said)
        if not unmarked and not by_ticket:
            raise _EntryError("this says nothing. Write mode: ticket, or interactive: false.")
        return _principal(place), PrincipalConfirmation(
            False if unmarked else None,
            ConfirmationMode.TICKET if by_ticket else None,
            origin if unmarked else None,
            origin if by_ticket else None,
        )

    def consent(self, place: str, entry: object) -> tuple[str, Consent]:
        said = _as_object(entry)
        id, client = _typed_value(said, "id", str), said.get("client")
        if client is not None and not isinstance(client, str):
            raise _EntryError("client: this must be a text or nothing.")
        tool, fingerprint = _tool(_typed_value(said, "tool", str)), Fingerprint(_typed_value(said, "fingerprint", str))
        principal = _principal(_typed_value(said, "principal", str))
        at = self.decided_at(said)
        # A file of an older Pegboard names no end: what it does not say is never unlimited.
        end = said.get("until", (min(at, self.at) + timedelta(days=DEFAULT_CONSENT_DAYS)).isoformat())
        until = None if end == "never" else _parse_time(end)
        if until is not None and until - self.at > timedelta(days=MAX_CONSENT_DAYS):
            raise _EntryError(
                f"until: a standing permission lasts {MAX_CONSENT_DAYS} days at most. Choose an earlier end."
            )
        return id, Consent(id, tool, fingerprint, principal, client, self.decided_by(said), at, until)

    # Members of many of them

    def origin(self, said: Mapping[str, object]) -> InstalledBy:
        return InstalledBy(self.decided_by(said), self.decided_at(said))

    def decided_by(self, said: Mapping[str, object]) -> PrincipalId:
        return _principal(_typed_value(said, "by", str, str(self.by)))

    def decided_at(self, said: Mapping[str, object]) -> datetime:
        return _parse_time(said["at"]) if "at" in said else self.at


def read_policy(text: str, by: PrincipalId, at: datetime) -> PolicyExport | UnreadablePolicy:
    """`by` and `at` are whoever brings it and when, for entries that do not say who decided them."""
    if len(text) > MAX_POLICY_BYTES:
        return UnreadablePolicy((f"This is larger than {MAX_POLICY_BYTES // 1_000_000} MB. Is it the right file?",))
    try:
        whole = json.loads(text)
    except RecursionError:
        return UnreadablePolicy(("This is nested too deeply to be read.",))
    except ValueError as error:
        where = f"line {error.lineno}, column {error.colno}: " if isinstance(error, json.JSONDecodeError) else ""
        return UnreadablePolicy((f"{where}this is no JSON. Give a file that pegboard policy export wrote.",))
    if not isinstance(whole, dict) or whole.get(KIND_KEY) != FORMAT_VERSION:
        return UnreadablePolicy(
            (
                f'This is no policy: a file that pegboard policy export wrote begins with "{KIND_KEY}": '
                f"{FORMAT_VERSION}.",
            )
        )
    known = {KIND_KEY, _TOKENS_REQUIRED, *_SECTIONS}
    problems = [f"{name}: this is unknown here. Remove it." for name in whole if name not in known]
    if not isinstance(whole.get(_TOKENS_REQUIRED, False), bool):
        problems.append(f"{_TOKENS_REQUIRED}: this must be true or false.")
    for name, kind in _SECTIONS.items():
        if not isinstance(whole.setdefault(name, kind()), kind):
            problems.append(f"{name}: this must be a {'map' if kind is dict else 'list'}.")
    return UnreadablePolicy(tuple(problems)) if problems else _build_export(whole, _PolicyReader(by, at))


def _build_export(whole: Mapping[str, object], reader: _PolicyReader) -> PolicyExport | UnreadablePolicy:
    def of(section: str) -> tuple[str, Mapping[str, object]]:
        found = whole[section]
        if isinstance(found, list):
            return section, {str(place): entry for place, entry in enumerate(found)}
        assert isinstance(found, dict)
        return section, found

    said = PolicyExport(
        servers={server.key: server for server in reader.read_each(*of("servers"), reader.server)},
        toolsets={toolset.id: toolset for toolset in reader.read_each(*of("toolsets"), reader.toolset)},
        switches=dict(reader.read_each(*of("switches"), reader.switch)),
        approvals=dict(reader.read_each(*of("approvals"), reader.approval)),
        first_seen=dict(reader.read_each(*of("first_sights"), lambda place, at: (_provider(place), _parse_time(at)))),
        overrides=tuple(reader.read_each(*of("overrides"), reader.override)),
        trust=dict(reader.read_each(*of("trust"), lambda place, word: (_provider(place), _trust(word)))),
        grants=dict(reader.read_each(*of("grants"), lambda place, ids: (_principal(place), frozenset(_ids(ids))))),
        consents=dict(reader.read_each(*of("remembered"), reader.consent)),
        confirmations=dict(reader.read_each(*of("confirmations"), reader.confirmation)),
        tokens_required=whole.get(_TOKENS_REQUIRED) is True,
    )
    return UnreadablePolicy(tuple(reader.problems[:MAX_PROBLEMS])) if reader.problems else said


def _without_position(limit: ToolFilter) -> ToolFilter:
    """What a person said of a server stands in no file."""
    return limit if isinstance(limit, EveryTool) else replace(limit, at=None, lines=())


def _as_object(entry: object) -> dict[str, object]:
    if not isinstance(entry, dict):
        raise _EntryError("this must be a map.")
    return entry


def _typed_value(said: Mapping[str, object], name: str, kind: type[T], default: T | None = None) -> T:
    value = said.get(name, default)
    if not isinstance(value, kind):
        words = {str: "a text", bool: "true or false"}
        raise _EntryError(f"{name}: this must be {words[kind]}." if name in said else f"{name}: this is missing.")
    return value


def _parse_time(value: object) -> datetime:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None:
        raise _EntryError("this is no moment. Write it as 2026-01-02T03:04:05+00:00.")
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _principal(text: str) -> PrincipalId:
    if is_deceptive_name(text):
        raise _EntryError(f"{text[:60]!a} is no name of a principal: use characters that show as they are.")
    return PrincipalId(text)


def _tool(text: str) -> ToolId:
    match parse_tool_id(text):
        case ToolId() as id:
            return id
        case LegacyToolId():
            raise _EntryError(f"{text!r} does not say its toolset. Write mcp:toolset~server:tool.")
        case BadId(_, why):
            raise _EntryError(f"{why}.")


def _pattern(text: str) -> Pattern:
    found = parse_pattern(text)
    if isinstance(found, BadId):
        raise _EntryError(f"{found.why}.")
    return found


def _server(text: str) -> ServerKey:
    key = parse_server_key(text)
    if isinstance(key, BadId):
        raise _EntryError(f"{key.why}.")
    return key


def _provider(text: str) -> ProviderKey:
    if "~" in text:
        return _server(text)
    if not is_id(text):
        raise _EntryError("this names no server, as toolset~server, and no toolset.")
    return ToolsetKey(ToolsetId(text))


def _trust(word: object) -> Trust:
    if word not in [trust.value for trust in Trust]:
        raise _EntryError("this must be 'open', 'baseline' or 'strict'.")
    return Trust(word)


def _ids(value: object) -> Iterator[ToolsetId]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _EntryError("this must be a list of toolsets.")
    yield from map(ToolsetId, value)


def _spec(entry: object) -> ToolSpec:
    said = _as_object(entry)
    if said.keys() != _SPEC_TYPES.keys() or not all(isinstance(said[name], kind) for name, kind in _SPEC_TYPES.items()):
        raise _EntryError("spec: this must hold name, title, description, input_schema, output_schema and annotations.")
    return ToolSpec(**said)  # type: ignore[arg-type]  # each was looked at
