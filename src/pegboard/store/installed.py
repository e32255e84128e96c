"""Servers and toolsets that people installed, to row and back."""

from typing import Any, Final, assert_never

from pegboard.core.docspace.connection import DocSpace
from pegboard.core.ids import PrincipalId, ProviderKey, ServerKey, ToolsetId
from pegboard.core.own import OwnTools
from pegboard.core.server import (
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
from pegboard.core.toolset import Toolset, ToolsetImport, ToolsetOrigin

from .images import image_document, image_of
from .targets import valid_server, valid_toolset
from .text import Row, check_members, check_pairs, check_texts, check_type, parse_instant, read_json, to_json_text

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
        case DocSpace():
            raise ValueError("A DocSpace is declared, and never installed.")
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
