"""What people decided as one text that another board can read. No secret is in it: what may be one becomes a reference
to an environment variable, by the rule that exports of toolsets go by."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from pegboard.core.argument import ArgumentOverride
from pegboard.core.carrying import PolicyExport
from pegboard.core.confirmation import ConfirmationMode, PrincipalConfirmation
from pegboard.core.consent import Consent
from pegboard.core.ids import ServerKey, ToolId
from pegboard.core.override import Override
from pegboard.core.pattern import Pattern
from pegboard.core.policy import Approval, Switch, Switchable
from pegboard.core.server import (
    AllButTools,
    EveryTool,
    Http,
    InstalledBy,
    NoOAuth,
    OAuth,
    OnlyTools,
    Origin,
    ProtocolMode,
    Server,
    StartOnDemand,
    StartWithGateway,
    Stdio,
    Timeouts,
    require_stdio_or_http,
)
from pegboard.core.tool import Json, JsonObject, ToolSpec
from pegboard.core.toolset import Toolset

from .manifest.placeholders import Placeholders, referenced_names
from .section import format_names

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
    match server.limit:
        case EveryTool():
            pass
        case OnlyTools(names, _, optional):
            entry["enabled_tools"] = [*format_names(names, optional)]
        case AllButTools(names, _, optional):
            entry["disabled_tools"] = [*format_names(names, optional)]
        case _:
            assert_never(server.limit)
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
        "spec": _spec(approval.spec),
    }


def _spec(spec: ToolSpec) -> JsonObject:
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "input_schema": dict(spec.input_schema),
        "output_schema": None if spec.output_schema is None else dict(spec.output_schema),
        "annotations": None if spec.annotations is None else dict(spec.annotations),
    }


def _override(row: Override, held: Placeholders) -> JsonObject:
    said: JsonObject = {name: _plain_value(getattr(row, name)) for name in row.fields_set if name != "arguments"}
    if row.arguments:
        said["arguments"] = {
            name: _argument(held.replace_argument(str(row.target), name, each)) for name, each in row.arguments.items()
        }
    by = next((origin for origin in row.origins.values() if isinstance(origin, InstalledBy)), None)
    return {
        "toolset": row.toolset,
        **({"tool": str(row.target)} if isinstance(row.target, ToolId) else {"pattern": _pattern(row.target)}),
        "says": said,
        **({} if by is None else _provenance_fields(by)),
    }


def _plain_value(value: object) -> Json:
    if isinstance(value, ConfirmationMode):
        return value.value
    return dict(value) if isinstance(value, Mapping) else value  # type: ignore[return-value]  # a field of an override


def _argument(argument: ArgumentOverride) -> JsonObject:
    said: JsonObject = {} if argument.pin is None else {"pin": argument.pin.value}
    said |= {} if argument.hide is None else {"hide": argument.hide}
    said |= {} if argument.default is None else {"default": argument.default.value}
    return said if argument.description is None else {**said, "description": argument.description}


def _pattern(pattern: Pattern) -> str:
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
