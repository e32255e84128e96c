"""Writes a manifest as toolset.yaml: equal text for equal manifests, without secrets."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

import yaml

from pegboard.config.manifest.keys import format_size
from pegboard.config.manifest.model import (
    CommandEntry,
    ContainerEntry,
    DeclaredCommands,
    Manifest,
    McpOnStdio,
    ToolEntry,
    ToolsFromLabel,
    with_relative_paths,
)
from pegboard.config.manifest.secrets import Placeholders, referenced_names
from pegboard.config.overrides import texts_in
from pegboard.config.schema.document import ScalarKind, scalar_kind
from pegboard.config.schema.section import format_tool_filter
from pegboard.config.watch import connection_texts
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import (
    Container,
    Http,
    NoOAuth,
    OAuth,
    ProtocolMode,
    Server,
    StartOnDemand,
    StartWithGateway,
    Stdio,
    Timeouts,
    Transport,
)
from pegboard.core.model.tool import ContainerImage, ToolsetLimits
from pegboard.core.overrides.model import Override

_LINE_WIDTH: Final = 110
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/?#\s@]+@")


@dataclass(frozen=True)
class ManifestText:
    text: str
    placeholders: Placeholders
    """What stands in the text in the place of what may be a secret."""


def format_manifest(manifest: Manifest) -> str:
    """Read again, it is the same manifest. What may be a secret in it is a reference to a secret of its own."""
    return format_without_secrets(manifest).text


def format_without_secrets(manifest: Manifest) -> ManifestText:
    instead = Placeholders(referenced_names(_texts(manifest)) | {secret.name for secret in manifest.secrets})
    told = _manifest_data(manifest, instead)
    text = yaml.dump(
        told, Dumper=_ManifestDumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=_LINE_WIDTH
    )
    return ManifestText(text, instead)


def _manifest_data(manifest: Manifest, instead: Placeholders) -> JsonObject:
    servers: list[Json] = [_server(with_relative_paths(each, manifest.folder), instead) for each in manifest.servers]
    containers: list[Json] = [_container(each, instead) for each in manifest.containers]
    tools: list[Json] = [_tool(each) for each in manifest.tools]
    entries: tuple[ToolEntry | CommandEntry, ...] = (*manifest.tools, *manifest.commands)
    own = dict(zip(manifest.own_tools, (entry.requires_confirmation for entry in entries), strict=True))
    overrides: list[Json] = [told for row in manifest.overrides if (told := _override(row, own, instead))]
    secrets: list[Json] = [_non_empty(name=each.name, description=each.description) for each in manifest.secrets]
    named = {each.name for each in manifest.secrets}
    secrets += [{"name": name} for name in sorted(instead.names) if name not in named]
    return {
        "manifest_version": 1,
        "id": manifest.id,
        **_non_empty(name=manifest.name, version=manifest.version, description=manifest.description),
        **_non_empty(tools=tools, mcp_servers=servers, containers=containers, tool_overrides=overrides),
        **_non_empty(
            requirements=[*map(_without_userinfo, manifest.requirements)],
            secrets=[_secret_entry(each) for each in secrets],
        ),
        **_non_empty(workspace=manifest.workspace, limits=_bounds(manifest.bounds)),
        **instead.filter_metadata(manifest.id, manifest.metadata),
    }


def _texts(manifest: Manifest) -> Iterator[str]:
    for server in manifest.servers:
        yield from connection_texts(server.connection)
    for container in manifest.containers:
        yield from (*container.image.args, *container.image.env.values())
    for row in manifest.overrides:
        for argument in (row.arguments or {}).values():
            yield from () if argument.pin is None else texts_in(argument.pin.value)


def _non_empty(**values: Json) -> dict[str, Json]:
    """Without what is as good as unsaid."""
    return {name: value for name, value in values.items() if value not in ("", None, False) and value not in ([], {})}


def _without_userinfo(requirement: str) -> str:
    """Without the user and password of its address: a requirement cannot refer to a secret."""
    return _CREDENTIALS.sub("", requirement)


def _secret_entry(secret: Json) -> Json:
    return secret["name"] if isinstance(secret, dict) and len(secret) == 1 else secret


def _tool(entry: ToolEntry) -> Json:
    return {
        "id": entry.id,
        "entrypoint": entry.entrypoint,
        **_unless_none(name=entry.name, description=entry.description),
        **_unless_none(requires_confirmation=entry.requires_confirmation),
    }


def _unless_none(**values: Json) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


def _non_default(usual: Mapping[str, Json], said: Mapping[str, Json]) -> dict[str, Json]:
    """What is not as it would be unsaid."""
    return {name: value for name, value in said.items() if value != usual[name]}


def _server(server: Server, instead: Placeholders) -> Json:
    timeouts, usual = server.timeouts, Timeouts()
    waits: dict[str, Json] = {name: _number(getattr(timeouts, name)) for name in ("start", "call", "stop")}
    return {
        "id": server.id,
        **_connection_data(server, instead),
        **_non_default({"enabled": True}, {"enabled": server.enabled}),
        **format_tool_filter(server.limit),
        **_non_empty(timeouts=_non_default({"start": usual.start, "call": usual.call, "stop": usual.stop}, waits)),
        **_start_data(server),
        **({} if server.protocol is ProtocolMode.LATEST else {"protocol": server.protocol.value}),
    }


def _connection_data(server: Server, instead: Placeholders) -> dict[str, Json]:
    match server.connection:
        case Stdio(command, args, env, cwd):
            # First, so that secrets keep the names of their variables.
            values = instead.replace_values(server.id, "env", env)
            return {
                "command": instead.replace_text(server.id, "command", command),
                **_non_empty(args=[*instead.replace_args(server.id, command, args)], env={**values}, cwd=cwd),
            }
        case Http(url, transport, headers, oauth):
            return {
                "url": instead.replace_text(server.id, "url", url),
                **({} if transport is Transport.STREAMABLE_HTTP else {"transport": transport.value}),
                **_non_empty(headers={**instead.replace_values(server.id, "headers", headers)}),
                **_oauth(server.id, oauth, instead),
            }
        case Container() | _:
            raise AssertionError(f"{server.key} is no server of mcp_servers")


def _oauth(owner: str, oauth: OAuth | NoOAuth, instead: Placeholders) -> dict[str, Json]:
    match oauth:
        case NoOAuth():
            return {"oauth": False}
        case OAuth(client_id, client_secret, client_metadata_url, scopes):
            secret = None if client_secret is None else instead.replace_secret(owner, "client_secret", client_secret)
            said = _unless_none(client_id=client_id, client_secret=secret, client_metadata_url=client_metadata_url)
            return _non_empty(oauth={**said, **_non_empty(scopes=[*scopes])})
        case _:
            assert_never(oauth)


def _start_data(server: Server) -> dict[str, Json]:
    match server.starts:
        case StartWithGateway():
            return {}
        case StartOnDemand(idle):
            return {"start": "on_demand", "idle_stop": _number(idle)}
        case _:
            assert_never(server.starts)


def _container(container: ContainerEntry, instead: Placeholders) -> Json:
    image, usual = container.image, ContainerImage("")
    values = instead.replace_values(container.id, "env", image.env)
    return {
        "id": container.id,
        "image": image.image,
        **_offer_data(container),
        **_non_empty(args=[*instead.replace_args(container.id, "", image.args)], env={**values}),
        **_non_empty(network=image.network, workspace=image.workspace),
        **_non_default(
            {"memory": format_size(usual.memory), "pids": usual.pids},
            {"memory": format_size(image.memory), "pids": image.pids},
        ),
        **_unless_none(
            cpus=None if image.cpus is None else _number(image.cpus),
            idle_stop=None if container.idle is None else _number(container.idle),
        ),
    }


def _offer_data(container: ContainerEntry) -> dict[str, Json]:
    match container.offers:
        case McpOnStdio():
            return {"mcp": True}
        case DeclaredCommands(tools):
            return {"tools": [_command(entry) for entry in tools]}
        case ToolsFromLabel():
            return {}
        case _:
            assert_never(container.offers)


def _command(entry: CommandEntry) -> Json:
    return {
        "id": entry.id,
        "command": [*entry.command],
        **_unless_none(name=entry.name),
        **_non_empty(description=entry.description),
        **({} if entry.input_schema == {"type": "object"} else {"input_schema": entry.input_schema}),
        **_unless_none(
            output_schema=entry.output_schema,
            timeout=None if entry.seconds is None else _number(entry.seconds),
            requires_confirmation=entry.requires_confirmation,
        ),
    }


def _override(row: Override, own: Mapping[ToolId, bool | None], instead: Placeholders) -> Json:
    """`None` if the tool's own entry says all of it: whether it asks for confirmation."""
    confirm = row.requires_confirmation
    is_said = isinstance(row.target, ToolId) and own.get(row.target) == confirm
    told = {
        **_unless_none(
            renderer=row.renderer,
            renderer_config=None if row.renderer_config is None else {**row.renderer_config},
            name_override=row.name_override,
            description_override=row.description_override,
            requires_confirmation=None if is_said else confirm,
            confirmation=None if row.confirmation is None else row.confirmation.value,
            enabled=row.enabled,
        ),
        **_non_empty(
            arguments={
                name: instead.replace_argument(row.target.name, name, each).members
                for name, each in (row.arguments or {}).items()
            }
        ),
    }
    return {"tool_id": _target(row.target), **told} if told else None


def _target(target: ToolId | Pattern) -> str:
    if isinstance(target, Pattern) and target.scope in ("mcp", "toolset"):
        # By themselves these words begin something else.
        return f"mcp:{target}"
    return str(target)


def _bounds(bounds: ToolsetLimits) -> Json:
    usual = ToolsetLimits()
    return _non_default(
        {"memory": format_size(usual.memory), "time": _number(usual.seconds), "processes": usual.processes},
        {"memory": format_size(bounds.memory), "time": _number(bounds.seconds), "processes": bounds.processes},
    )


def _number(value: float) -> Json:
    return int(value) if value == int(value) else value


class _ManifestDumper(yaml.SafeDumper):
    """Lists are indented, nothing is written as an alias, and a text is in quotes where it would be read as more."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.rstrip("\n") else None if scalar_kind(text) is ScalarKind.TEXT else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_ManifestDumper.add_representer(str, _represent_text)
