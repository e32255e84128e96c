"""Servers and toolsets that people installed, to row and back."""

from typing import Any, Final, assert_never

from pegboard.core.docspace.connection import DocSpace
from pegboard.core.ids import PrincipalId, ProviderKey, ServerKey, ToolsetId
from pegboard.core.own import Own
from pegboard.core.server import (
    AllButTools,
    Always,
    Connection,
    Container,
    DeclaredAt,
    EveryTool,
    Http,
    InstalledBy,
    NoOAuth,
    OAuth,
    OnDemand,
    OnlyTools,
    Origin,
    Protocol,
    Server,
    Starts,
    Stdio,
    Timeouts,
    ToolLimit,
    Transport,
    Trust,
)
from pegboard.core.toolset import Brought, SourceKind, Toolset

from .images import image_document, image_of
from .targets import valid_server, valid_toolset
from .text import Row, checked, checked_members, checked_pairs, checked_texts, document, instant, read_json

_IDLE: Final = "idle"
_PROTOCOL: Final = "protocol"


def server_row(key: ServerKey, server: Server) -> Row:
    return {
        "toolset_id": key.toolset,
        "server_id": key.server,
        "connection": _connection_row(server.connection),
        **terms_row(server),
    }


def server_of(row: Row) -> tuple[ServerKey, Server]:
    key = valid_server(row["toolset_id"], row["server_id"])
    return key, server_from(row, key, _connection(row["connection"]))


def terms_row(server: Server) -> Row:
    """What is allowed of it and how long it is waited for, however it is reached."""
    timeouts = server.timeouts
    return {
        "enabled": server.enabled,
        "trust": server.trust.value,
        "tool_limit": _limit_row(server.limit),
        "timeouts": document(
            {
                **{"start": timeouts.start, "call": timeouts.call, "stop": timeouts.stop},
                **_starts_row(server.starts),
                **({} if server.protocol is Protocol.LATEST else {_PROTOCOL: server.protocol.value}),
            }
        ),
        "quarantined": server.quarantined,
        "origin": _origin_row(server.origin),
    }


def server_from(row: Row, key: ProviderKey, connection: Connection) -> Server:
    times: dict[str, Any] = checked(read_json(row["timeouts"]), dict)
    idle, protocol = times.pop(_IDLE, None), Protocol(times.pop(_PROTOCOL, Protocol.LATEST))
    checked(idle, int, float, None)
    times = checked_members(times, start=(int, float), call=(int, float), stop=(int, float))
    return Server(
        key,
        connection,
        _origin(row["origin"]),
        row["enabled"],
        Trust(row["trust"]),
        _limit(row["tool_limit"]),
        Timeouts(**times),
        row["quarantined"],
        Always() if idle is None else OnDemand(idle),
        protocol,
    )


def _starts_row(starts: Starts) -> dict[str, float]:
    """Beside the other times: a server that is always up has no time after which it is stopped."""
    match starts:
        case Always():
            return {}
        case OnDemand(idle):
            return {_IDLE: idle}
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
        "brought": None if toolset.brought is None else _brought_row(toolset.brought),
    }


def toolset_of(row: Row) -> tuple[ToolsetId, Toolset]:
    id = valid_toolset(row["id"])
    described = {name: row[name] for name in ("name", "version", "description", "enabled", "user_mcp")}
    brought = None if row["brought"] is None else _brought(read_json(row["brought"]))
    return id, Toolset(id, _origin(row["origin"]), brought=brought, **described)


def _brought_row(brought: Brought) -> str:
    said = {"kind": brought.kind.value, "at": brought.at.isoformat(), "path": brought.path}
    return document({**said, "commit": brought.commit, "dirty": brought.dirty})


def _brought(said: dict[str, Any]) -> Brought:
    said = checked_members(said, kind=(str,), at=(str,), path=(str,), commit=(str,), dirty=(bool,))
    return Brought(SourceKind(said["kind"]), instant(said["at"]), said["path"], said["commit"], said["dirty"])


def _origin_row(origin: Origin) -> str:
    match origin:
        case DeclaredAt(file, line):
            return document({"file": file, "line": line})
        case InstalledBy(by, at):
            return document({"by": by, "at": at.isoformat()})
        case _:
            assert_never(origin)


def _origin(text: str) -> Origin:
    match read_json(text):
        case {"file": str() as file, "line": int() as line}:
            return DeclaredAt(file, line)
        case {"by": str() as by, "at": at}:
            return InstalledBy(PrincipalId(by), instant(at))
        case _:
            raise ValueError(f"A row has the origin {text!r}, which this Pegboard does not know.")


def _connection_row(connection: Connection) -> str:
    match connection:
        case Stdio(command, args, env, cwd):
            return document({"command": command, "args": list(args), "env": dict(env), "cwd": cwd})
        case Http(url, transport, headers, oauth):
            return document(
                {"url": url, "transport": transport.value, "headers": dict(headers), "oauth": _oauth_row(oauth)}
            )
        case Container(image):
            return document({"image": image_document(image)})
        case Own():
            # Its parts have tables of their own, and never come here.
            raise ValueError("The tools of a toolset's own are no server.")
        case DocSpace():
            raise ValueError("A DocSpace is declared, and never installed.")
        case _:
            assert_never(connection)


def _connection(text: str) -> Connection:
    match read_json(text):
        case {"command": str() as command, "args": args, "env": env, "cwd": cwd}:
            return Stdio(command, checked_texts(args), checked_pairs(env), checked(cwd, str, None))
        case {"url": str() as url, "transport": transport, "headers": headers, **rest}:
            return Http(url, Transport(transport), checked_pairs(headers), _oauth(rest.get("oauth", {})))
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


def _oauth(said: object) -> OAuth | NoOAuth:
    match said:
        case False:
            return NoOAuth()
        case dict():
            keys: dict[str, Any] = said
            return OAuth(
                checked(keys.get("client_id"), str, None),
                checked(keys.get("client_secret"), str, None),
                checked(keys.get("client_metadata_url"), str, None),
                checked_texts(keys.get("scopes", [])),
            )
        case _:
            raise ValueError("A row says of a sign-in what this Pegboard does not know.")


def _limit_row(limit: ToolLimit) -> str:
    match limit:
        case EveryTool():
            return document({"every": True})
        case OnlyTools(names, _, optional):
            return document({"only": list(names), **_optional(optional)})
        case AllButTools(names, _, optional):
            return document({"all_but": list(names), **_optional(optional)})
        case _:
            assert_never(limit)


def _optional(names: tuple[str, ...]) -> dict[str, list[str]]:
    return {"optional": list(names)} if names else {}


def _limit(text: str) -> ToolLimit:
    match read_json(text):
        case {"every": True}:
            return EveryTool()
        case {"only": names, "optional": optional}:
            return OnlyTools(checked_texts(names), optional=checked_texts(optional))
        case {"only": names}:
            return OnlyTools(checked_texts(names))
        case {"all_but": names, "optional": optional}:
            return AllButTools(checked_texts(names), optional=checked_texts(optional))
        case {"all_but": names}:
            return AllButTools(checked_texts(names))
        case _:
            raise ValueError(f"A row has the tool limit {text!r}, which this Pegboard does not know.")
