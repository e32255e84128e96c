"""A manifest as the text of a toolset.yaml: always the same for the same manifest, and without secrets."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

import yaml

from pegboard.config.overriding import texts_in
from pegboard.config.referenced import texts_of
from pegboard.config.section import written_names
from pegboard.config.tree import Kind, kind_of
from pegboard.core.argument import Argument
from pegboard.core.ids import ToolId
from pegboard.core.override import Override
from pegboard.core.own import Bounds, Image
from pegboard.core.pattern import Pattern
from pegboard.core.server import (
    AllButTools,
    Always,
    Container,
    EveryTool,
    Http,
    NoOAuth,
    OAuth,
    OnDemand,
    OnlyTools,
    Protocol,
    Server,
    Stdio,
    Timeouts,
    ToolLimit,
    Transport,
)
from pegboard.core.tool import Json, JsonObject

from .model import CommandEntry, Commands, ContainerEntry, Labelled, Manifest, SpeaksMcp, ToolEntry
from .paths import unplaced
from .placeholders import Placeholders, referred
from .shapes import written_size

_WIDTH: Final = 110
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/?#\s@]+@")


@dataclass(frozen=True)
class Written:
    text: str
    placeholders: Placeholders
    """What stands in the text in the place of what may be a secret."""


def written(manifest: Manifest) -> str:
    """Read again, it is the same manifest. What may be a secret in it is a reference to a secret of its own."""
    return written_without_secrets(manifest).text


def written_without_secrets(manifest: Manifest) -> Written:
    instead = Placeholders(referred(_texts(manifest)) | {secret.name for secret in manifest.secrets})
    told = _told(manifest, instead)
    text = yaml.dump(told, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=_WIDTH)
    return Written(text, instead)


def _told(manifest: Manifest, instead: Placeholders) -> JsonObject:
    servers: list[Json] = [_server(unplaced(each, manifest.folder), instead) for each in manifest.servers]
    containers: list[Json] = [_container(each, instead) for each in manifest.containers]
    tools: list[Json] = [_tool(each) for each in manifest.tools]
    entries: tuple[ToolEntry | CommandEntry, ...] = (*manifest.tools, *manifest.commands)
    own = dict(zip(manifest.own_tools, (entry.requires_confirmation for entry in entries), strict=True))
    overrides: list[Json] = [told for row in manifest.overrides if (told := _override(row, own, instead))]
    secrets: list[Json] = [_said(name=each.name, description=each.description) for each in manifest.secrets]
    named = {each.name for each in manifest.secrets}
    secrets += [{"name": name} for name in sorted(instead.names) if name not in named]
    return {
        "manifest_version": 1,
        "id": manifest.id,
        **_said(name=manifest.name, version=manifest.version, description=manifest.description),
        **_said(tools=tools, mcp_servers=servers, containers=containers, tool_overrides=overrides),
        **_said(requirements=[*map(_public, manifest.requirements)], secrets=[_short(each) for each in secrets]),
        **_said(workspace=manifest.workspace, limits=_bounds(manifest.bounds)),
        **instead.about(manifest.id, manifest.about),
    }


def _texts(manifest: Manifest) -> Iterator[str]:
    for server in manifest.servers:
        yield from texts_of(server.connection)
    for container in manifest.containers:
        yield from (*container.image.args, *container.image.env.values())
    for row in manifest.overrides:
        for argument in (row.arguments or {}).values():
            yield from () if argument.pin is None else texts_in(argument.pin.value)


def _said(**values: Json) -> dict[str, Json]:
    """Without what is as good as unsaid."""
    return {name: value for name, value in values.items() if value not in ("", None, False) and value not in ([], {})}


def _public(requirement: str) -> str:
    """Without the user and password of its address: a requirement cannot refer to a secret."""
    return _CREDENTIALS.sub("", requirement)


def _short(secret: Json) -> Json:
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


def _unlike(usual: Mapping[str, Json], said: Mapping[str, Json]) -> dict[str, Json]:
    """What is not as it would be unsaid."""
    return {name: value for name, value in said.items() if value != usual[name]}


def _server(server: Server, instead: Placeholders) -> Json:
    timeouts, usual = server.timeouts, Timeouts()
    waits: dict[str, Json] = {name: _number(getattr(timeouts, name)) for name in ("start", "call", "stop")}
    return {
        "id": server.id,
        **_reached(server, instead),
        **_unlike({"enabled": True}, {"enabled": server.enabled}),
        **_limit(server.limit),
        **_said(timeouts=_unlike({"start": usual.start, "call": usual.call, "stop": usual.stop}, waits)),
        **_started(server),
        **({} if server.protocol is Protocol.LATEST else {"protocol": server.protocol.value}),
    }


def _reached(server: Server, instead: Placeholders) -> dict[str, Json]:
    match server.connection:
        case Stdio(command, args, env, cwd):
            # First, so that secrets keep the names of their variables.
            values = instead.values(server.id, "env", env)
            return {
                "command": instead.text(server.id, "command", command),
                **_said(args=[*instead.args(server.id, command, args)], env={**values}, cwd=cwd),
            }
        case Http(url, transport, headers, oauth):
            return {
                "url": instead.text(server.id, "url", url),
                **({} if transport is Transport.STREAMABLE_HTTP else {"transport": transport.value}),
                **_said(headers={**instead.values(server.id, "headers", headers)}),
                **_oauth(server.id, oauth, instead),
            }
        case Container() | _:
            raise AssertionError(f"{server.key} is no server of mcp_servers")


def _oauth(owner: str, oauth: OAuth | NoOAuth, instead: Placeholders) -> dict[str, Json]:
    match oauth:
        case NoOAuth():
            return {"oauth": False}
        case OAuth(client_id, client_secret, client_metadata_url, scopes):
            secret = None if client_secret is None else instead.secret(owner, "client_secret", client_secret)
            said = _unless_none(client_id=client_id, client_secret=secret, client_metadata_url=client_metadata_url)
            return _said(oauth={**said, **_said(scopes=[*scopes])})
        case _:
            assert_never(oauth)


def _limit(limit: ToolLimit) -> dict[str, Json]:
    match limit:
        case EveryTool():
            return {}
        case OnlyTools(names, _, optional):
            return {"enabled_tools": [*written_names(names, optional)]}
        case AllButTools(names, _, optional):
            return {"disabled_tools": [*written_names(names, optional)]}
        case _:
            assert_never(limit)


def _started(server: Server) -> dict[str, Json]:
    match server.starts:
        case Always():
            return {}
        case OnDemand(idle):
            return {"start": "on_demand", "idle_stop": _number(idle)}
        case _:
            assert_never(server.starts)


def _container(container: ContainerEntry, instead: Placeholders) -> Json:
    image, usual = container.image, Image("")
    values = instead.values(container.id, "env", image.env)
    return {
        "id": container.id,
        "image": image.image,
        **_offered(container),
        **_said(args=[*instead.args(container.id, "", image.args)], env={**values}),
        **_said(network=image.network, workspace=image.workspace),
        **_unlike(
            {"memory": written_size(usual.memory), "pids": usual.pids},
            {"memory": written_size(image.memory), "pids": image.pids},
        ),
        **_unless_none(
            cpus=None if image.cpus is None else _number(image.cpus),
            idle_stop=None if container.idle is None else _number(container.idle),
        ),
    }


def _offered(container: ContainerEntry) -> dict[str, Json]:
    match container.offers:
        case SpeaksMcp():
            return {"mcp": True}
        case Commands(tools):
            return {"tools": [_command(entry) for entry in tools]}
        case Labelled():
            return {}
        case _:
            assert_never(container.offers)


def _command(entry: CommandEntry) -> Json:
    return {
        "id": entry.id,
        "command": [*entry.command],
        **_unless_none(name=entry.name),
        **_said(description=entry.description),
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
        **_said(
            arguments={
                name: _argument(row.target.name, name, each, instead) for name, each in (row.arguments or {}).items()
            }
        ),
    }
    return {"tool_id": _target(row.target), **told} if told else None


def _target(target: ToolId | Pattern) -> str:
    if isinstance(target, Pattern) and target.scope in ("mcp", "toolset"):
        # By themselves these words begin something else.
        return f"mcp:{target}"
    return str(target)


def _argument(tool: str, name: str, argument: Argument, instead: Placeholders) -> Json:
    said = instead.argument(tool, name, argument)
    return {
        **({} if said.pin is None else {"pin": said.pin.value}),
        **_unless_none(hide=said.hide),
        **({} if said.default is None else {"default": said.default.value}),
        **_unless_none(description=said.description),
    }


def _bounds(bounds: Bounds) -> Json:
    usual = Bounds()
    return _unlike(
        {"memory": written_size(usual.memory), "time": _number(usual.seconds), "processes": usual.processes},
        {"memory": written_size(bounds.memory), "time": _number(bounds.seconds), "processes": bounds.processes},
    )


def _number(value: float) -> Json:
    return int(value) if value == int(value) else value


class _Dumper(yaml.SafeDumper):
    """Lists are indented, nothing is written as an alias, and a text is in quotes where it would be read as more."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.rstrip("\n") else None if kind_of(text) is Kind.TEXT else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
