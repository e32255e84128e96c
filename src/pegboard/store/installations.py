"""Installed servers and toolsets as rows."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, Final, TypeAlias, assert_never

from pegboard.core.model.ids import PrincipalId, ProviderKey, ServerKey, ToolsetId, ToolsetKey
from pegboard.core.model.server import (
    AllButTools,
    Connection,
    Container,
    DeclaredAt,
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
    StartPolicy,
    StartWithGateway,
    Stdio,
    Timeouts,
    ToolFilter,
    Transport,
    Trust,
)
from pegboard.core.model.tool import ContainerImage, ContainerTool, OwnTools, PythonTool, ToolsetLimits, ToolSpec
from pegboard.core.model.toolset import FileKind, Toolset, ToolsetFile, ToolsetImport, ToolsetOrigin
from pegboard.core.model.web_api import WebApi
from pegboard.core.policy.policy import PolicyDecisions
from pegboard.store.decisions import SpecCache, key_text, spec_of, spec_row, valid_server, valid_toolset
from pegboard.store.text import (
    Row,
    check_members,
    check_pairs,
    check_texts,
    check_type,
    index_key,
    overflow_text,
    parse_instant,
    read_json,
    to_json_text,
)

# Containers as a manifest asks for them, to JSON and back.

_MEMBER_TYPES: Final[dict[str, tuple[type[Any] | None, ...]]] = {
    "image": (str,),
    "network": (bool,),
    "workspace": (bool,),
    "memory": (int,),
    "pids": (int,),
    "cpus": (int, float, None),
}
_MEMBER_NAMES: Final = tuple(field.name for field in fields(ContainerImage))


def image_document(image: ContainerImage) -> dict[str, object]:
    return {**{name: getattr(image, name) for name in _MEMBER_NAMES}, "args": list(image.args), "env": dict(image.env)}


def image_of(said: dict[str, Any]) -> ContainerImage:
    plain = {name: check_type(said[name], *_MEMBER_TYPES[name]) for name in said if name not in ("args", "env")}
    return ContainerImage(**plain, args=check_texts(said["args"]), env=check_pairs(said["env"]))


_IDLE_KEY: Final = "idle"
_PROTOCOL_KEY: Final = "protocol"


def server_row(key: ServerKey, server: Server) -> Row:
    return {
        "toolset_id": key.toolset,
        "server_id": key.server,
        "connection": _connection_row(server.connection),
        **limits_row(server),
    }


def server_of(row: Row) -> tuple[ServerKey, Server]:
    key = valid_server(row["toolset_id"], row["server_id"])
    return key, server_from(row, key, _parse_connection(row["connection"]))


def limits_row(server: Server) -> Row:
    """What is allowed of it and how long it is waited for, however it is reached."""
    timeouts = server.timeouts
    return {
        "enabled": server.enabled,
        "trust": server.trust.value,
        "tool_limit": _limit_row(server.limit),
        "timeouts": to_json_text(
            {
                **{"start": timeouts.start, "call": timeouts.call, "stop": timeouts.stop},
                **_starts_row(server.starts),
                **({} if server.protocol is ProtocolMode.LATEST else {_PROTOCOL_KEY: server.protocol.value}),
            }
        ),
        "quarantined": server.quarantined,
        "origin": _origin_row(server.origin),
    }


def server_from(row: Row, key: ProviderKey, connection: Connection) -> Server:
    times: dict[str, Any] = check_type(read_json(row["timeouts"]), dict)
    idle, protocol = times.pop(_IDLE_KEY, None), ProtocolMode(times.pop(_PROTOCOL_KEY, ProtocolMode.LATEST))
    check_type(idle, int, float, None)
    times = check_members(times, start=(int, float), call=(int, float), stop=(int, float))
    return Server(
        key,
        connection,
        _parse_origin(row["origin"]),
        row["enabled"],
        Trust(row["trust"]),
        _parse_limit(row["tool_limit"]),
        Timeouts(**times),
        row["quarantined"],
        StartWithGateway() if idle is None else StartOnDemand(idle),
        protocol,
    )


def _starts_row(starts: StartPolicy) -> dict[str, float]:
    """Beside the other times: a server that is always up has no time after which it is stopped."""
    match starts:
        case StartWithGateway():
            return {}
        case StartOnDemand(idle):
            return {_IDLE_KEY: idle}
        case _:
            assert_never(starts)


def toolset_row(id: ToolsetId, toolset: Toolset) -> Row:
    return {
        "id": id,
        "name": toolset.name,
        "version": toolset.version,
        "description": toolset.description,
        "enabled": toolset.enabled,
        "user_mcp": toolset.user_mcp,
        "origin": _origin_row(toolset.origin),
        "brought": None if toolset.imported_from is None else _import_row(toolset.imported_from),
    }


def toolset_of(row: Row) -> tuple[ToolsetId, Toolset]:
    id = valid_toolset(row["id"])
    described = {name: row[name] for name in ("name", "version", "description", "enabled", "user_mcp")}
    brought = None if row["brought"] is None else _parse_import(read_json(row["brought"]))
    return id, Toolset(id, _parse_origin(row["origin"]), imported_from=brought, **described)


def _import_row(brought: ToolsetImport) -> str:
    said = {"kind": brought.kind.value, "at": brought.at.isoformat(), "path": brought.path}
    return to_json_text({**said, "commit": brought.commit, "dirty": brought.is_dirty})


def _parse_import(said: dict[str, Any]) -> ToolsetImport:
    said = check_members(said, kind=(str,), at=(str,), path=(str,), commit=(str,), dirty=(bool,))
    return ToolsetImport(
        ToolsetOrigin(said["kind"]), parse_instant(said["at"]), said["path"], said["commit"], said["dirty"]
    )


def _origin_row(origin: Origin) -> str:
    match origin:
        case DeclaredAt(file, line):
            return to_json_text({"file": file, "line": line})
        case InstalledBy(by, at):
            return to_json_text({"by": by, "at": at.isoformat()})
        case _:
            assert_never(origin)


def _parse_origin(text: str) -> Origin:
    match read_json(text):
        case {"file": str() as file, "line": int() as line}:
            return DeclaredAt(file, line)
        case {"by": str() as by, "at": at}:
            return InstalledBy(PrincipalId(by), parse_instant(at))
        case _:
            raise ValueError(f"A row has the origin {text!r}, which this Pegboard does not know.")


def _connection_row(connection: Connection) -> str:
    match connection:
        case Stdio(command, args, env, cwd):
            return to_json_text({"command": command, "args": list(args), "env": dict(env), "cwd": cwd})
        case Http(url, transport, headers, oauth):
            return to_json_text(
                {"url": url, "transport": transport.value, "headers": dict(headers), "oauth": _oauth_row(oauth)}
            )
        case Container(image):
            return to_json_text({"image": image_document(image)})
        case OwnTools():
            # Its parts have tables of their own, and never come here.
            raise ValueError("The tools of a toolset's own are no server.")
        case WebApi(_, title):
            raise ValueError(f"{title} is declared, and never installed.")
        case _:
            assert_never(connection)


def _parse_connection(text: str) -> Connection:
    match read_json(text):
        case {"command": str() as command, "args": args, "env": env, "cwd": cwd}:
            return Stdio(command, check_texts(args), check_pairs(env), check_type(cwd, str, None))
        case {"url": str() as url, "transport": transport, "headers": headers, **rest}:
            return Http(url, Transport(transport), check_pairs(headers), _parse_oauth(rest.get("oauth", {})))
        case {"image": dict(image)}:
            return Container(image_of(image))
        case _:
            # The text is not quoted: an environment or a header may hold a secret.
            raise ValueError("A row has a connection of a kind that this Pegboard does not know.")


def _oauth_row(oauth: OAuth | NoOAuth) -> object:
    match oauth:
        case NoOAuth():
            return False
        case OAuth(client_id, client_secret, client_metadata_url, scopes):
            said = {
                "client_id": client_id,
                "client_secret": client_secret,
                "client_metadata_url": client_metadata_url,
                "scopes": list(scopes) or None,
            }
            return {name: value for name, value in said.items() if value is not None}
        case _:
            assert_never(oauth)


def _parse_oauth(said: object) -> OAuth | NoOAuth:
    match said:
        case False:
            return NoOAuth()
        case dict():
            keys: dict[str, Any] = said
            return OAuth(
                check_type(keys.get("client_id"), str, None),
                check_type(keys.get("client_secret"), str, None),
                check_type(keys.get("client_metadata_url"), str, None),
                check_texts(keys.get("scopes", [])),
            )
        case _:
            raise ValueError("A row says of a sign-in what this Pegboard does not know.")


def _limit_row(limit: ToolFilter) -> str:
    match limit:
        case EveryTool():
            return to_json_text({"every": True})
        case OnlyTools(names, _, optional):
            return to_json_text({"only": list(names), **_optional_member(optional)})
        case AllButTools(names, _, optional):
            return to_json_text({"all_but": list(names), **_optional_member(optional)})
        case _:
            assert_never(limit)


def _optional_member(names: tuple[str, ...]) -> dict[str, list[str]]:
    return {"optional": list(names)} if names else {}


def _parse_limit(text: str) -> ToolFilter:
    match read_json(text):
        case {"every": True}:
            return EveryTool()
        case {"only": names, "optional": optional}:
            return OnlyTools(check_texts(names), optional=check_texts(optional))
        case {"only": names}:
            return OnlyTools(check_texts(names))
        case {"all_but": names, "optional": optional}:
            return AllButTools(check_texts(names), optional=check_texts(optional))
        case {"all_but": names}:
            return AllButTools(check_texts(names))
        case _:
            raise ValueError(f"A row has the tool limit {text!r}, which this Pegboard does not know.")


# What toolsets bring themselves, to rows and back: how it is run, each tool, the containers and the files.

OwnTool: TypeAlias = PythonTool | ContainerTool
OwnToolKey: TypeAlias = tuple[ToolsetId, int, str]
"""The toolset, the tool's place among those of its kind, and its name."""
OwnFileKey: TypeAlias = tuple[ToolsetId, str]
OwnImageKey: TypeAlias = tuple[ToolsetId, str]


def own_servers(decided: PolicyDecisions) -> Mapping[ToolsetKey, Server]:
    return {key: server for key, server in decided.servers.items() if isinstance(key, ToolsetKey)}


def own_tools(decided: PolicyDecisions) -> Mapping[OwnToolKey, OwnTool]:
    found: dict[OwnToolKey, OwnTool] = {}
    for toolset, own in _own_connections(decided).items():
        found |= {(toolset, place, tool.spec.name): tool for place, tool in enumerate(own.python)}
        found |= {(toolset, place, tool.spec.name): tool for place, tool in enumerate(own.commands)}
    return found


def own_images(decided: PolicyDecisions) -> Mapping[OwnImageKey, ContainerImage]:
    return {
        (toolset, id): image
        for toolset, own in _own_connections(decided).items()
        for id, image in own.containers.items()
    }


def own_files(decided: PolicyDecisions) -> Mapping[OwnFileKey, ToolsetFile]:
    return {(toolset, file.path): file for toolset, files in decided.files.items() for file in files}


def _own_connections(decided: PolicyDecisions) -> Mapping[ToolsetId, OwnTools]:
    found = ((key.toolset, server.connection) for key, server in decided.servers.items())
    return {toolset: own for toolset, own in found if isinstance(own, OwnTools)}


def own_row(source: ToolsetKey, server: Server) -> Row:
    """Without its tools and containers, which have rows of their own."""
    own = server.connection
    assert isinstance(own, OwnTools)
    said = {
        "digest": own.digest,
        "requirements": list(own.requirements),
        "secrets": list(own.secrets),
        "workspace": own.workspace,
        "bounds": asdict(own.bounds),
        "linked": own.linked,
    }
    return {"toolset_id": source.toolset, "own": to_json_text(said), **limits_row(server)}


def own_of(row: Row) -> tuple[ToolsetKey, Server]:
    source = ToolsetKey(valid_toolset(row["toolset_id"]))
    said: dict[str, Any] = check_type(read_json(row["own"]), dict)
    own = OwnTools(
        check_type(said["digest"], str),
        requirements=check_texts(said["requirements"]),
        secrets=check_texts(said["secrets"]),
        workspace=check_type(said["workspace"], bool),
        bounds=ToolsetLimits(**{name: check_type(bound, int, float) for name, bound in said["bounds"].items()}),
        linked=check_type(said["linked"], str, None),
    )
    return source, server_from(row, source, own)


def tool_row(place: OwnToolKey, tool: OwnTool) -> Row:
    toolset, order, name = place
    row = {"toolset_id": toolset, "tool_id": index_key(name), "whole": overflow_text(name), "place": order}
    match tool:
        case PythonTool(entrypoint, spec):
            how = {"entrypoint": entrypoint, "container": None, "command": None, "seconds": None}
        case ContainerTool(container, command, spec, seconds):
            bound = None if seconds is None else to_json_text(seconds)
            how = {"entrypoint": None, "container": container, "command": to_json_text(list(command)), "seconds": bound}
    return {**row, **how, "spec": spec_row(spec)}


def tool_of(row: Row, specs: SpecCache | None = None) -> tuple[OwnToolKey, OwnTool]:
    name = key_text(row, "tool_id")
    spec = spec_of(row["spec"]) if specs is None else specs.parse(row["spec"])
    if spec.name != name:
        raise ValueError("the row's key and its spec name different tools")
    return (valid_toolset(row["toolset_id"]), row["place"], name), _tool_from(row, spec)


def locked_tool_of(row: Row) -> tuple[OwnToolKey, OwnTool]:
    """The tool of a row whose spec alone cannot be read, so that it can be shown as locked. Nothing may call it."""
    name = key_text(row, "tool_id")
    return (valid_toolset(row["toolset_id"]), check_type(row["place"], int), name), _tool_from(row, ToolSpec(name))


def _tool_from(row: Row, spec: ToolSpec) -> OwnTool:
    if row["entrypoint"] is not None:
        return PythonTool(check_type(row["entrypoint"], str), spec)
    seconds = None if row["seconds"] is None else check_type(read_json(row["seconds"]), int, float)
    return ContainerTool(check_type(row["container"], str), check_texts(read_json(row["command"])), spec, seconds)


def image_row(place: OwnImageKey, image: ContainerImage) -> Row:
    return {"toolset_id": place[0], "container_id": place[1], "image": to_json_text(image_document(image))}


def image_entry_of(row: Row) -> tuple[OwnImageKey, ContainerImage]:
    return (valid_toolset(row["toolset_id"]), row["container_id"]), image_of(check_type(read_json(row["image"]), dict))


def file_row(place: OwnFileKey, file: ToolsetFile) -> Row:
    toolset, path = place
    named = {"toolset_id": toolset, "path": index_key(path), "whole": overflow_text(path)}
    facts = {"kind": file.kind.value, "sha256": file.sha256, "size": file.size}
    return {**named, **facts, "executable": file.executable or None}


def file_of(row: Row) -> tuple[OwnFileKey, ToolsetFile]:
    path = key_text(row, "path")
    facts = FileKind(row["kind"]), row["sha256"], row["size"], bool(row["executable"])
    return (valid_toolset(row["toolset_id"]), path), ToolsetFile(path, *facts)


def add_parts(
    servers: Mapping[ToolsetKey, Server],
    tools: Mapping[OwnToolKey, OwnTool],
    images: Mapping[OwnImageKey, ContainerImage],
) -> dict[ToolsetKey, Server]:
    """The servers of `own_of` with their tools and containers, in one order whatever the engine gave."""
    ordered = [(place[0], tool) for place, tool in sorted(tools.items(), key=lambda item: item[0])]
    pictured = sorted(images.items())

    def whole_of(toolset: ToolsetId, own: OwnTools) -> OwnTools:
        mine = [tool for owner, tool in ordered if owner == toolset]
        return replace(
            own,
            python=tuple(tool for tool in mine if isinstance(tool, PythonTool)),
            commands=tuple(tool for tool in mine if isinstance(tool, ContainerTool)),
            containers={id: image for (owner, id), image in pictured if owner == toolset},
        )

    return {
        source: replace(server, connection=whole_of(source.toolset, server.connection))
        for source, server in servers.items()
        if isinstance(server.connection, OwnTools)
    }


def files_by_toolset(files: Mapping[OwnFileKey, ToolsetFile]) -> dict[ToolsetId, tuple[ToolsetFile, ...]]:
    found: dict[ToolsetId, list[ToolsetFile]] = {}
    for (toolset, _), file in sorted(files.items()):
        found.setdefault(toolset, []).append(file)
    return {toolset: tuple(found[toolset]) for toolset in sorted(found)}
