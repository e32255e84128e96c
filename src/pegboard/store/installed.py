"""Servers and toolsets that people installed, to row and back."""

import json
from datetime import datetime
from typing import assert_never

from pegboard.core.ids import PrincipalId, ServerId, ServerKey, ToolsetId
from pegboard.core.server import (
    AllButTools,
    Connection,
    DeclaredAt,
    EveryTool,
    Http,
    InstalledBy,
    OnlyTools,
    Origin,
    Server,
    Stdio,
    Timeouts,
    ToolLimit,
    Transport,
    Trust,
)
from pegboard.core.toolset import Toolset

from .text import Row, document


def server_row(key: ServerKey, server: Server) -> Row:
    timeouts = server.timeouts
    return {
        "toolset_id": key.toolset,
        "server_id": key.server,
        "connection": _connection_row(server.connection),
        "enabled": server.enabled,
        "trust": server.trust.value,
        "tool_limit": _limit_row(server.limit),
        "timeouts": document({"start": timeouts.start, "call": timeouts.call, "stop": timeouts.stop}),
        "quarantined": server.quarantined,
        "origin": _origin_row(server.origin),
    }


def server_of(row: Row) -> tuple[ServerKey, Server]:
    key = ServerKey(ToolsetId(row["toolset_id"]), ServerId(row["server_id"]))
    return key, Server(
        key,
        _connection(row["connection"]),
        _origin(row["origin"]),
        row["enabled"],
        Trust(row["trust"]),
        _limit(row["tool_limit"]),
        Timeouts(**json.loads(row["timeouts"])),
        row["quarantined"],
    )


def toolset_row(id: ToolsetId, toolset: Toolset) -> Row:
    return {
        "id": id,
        "name": toolset.name,
        "version": toolset.version,
        "description": toolset.description,
        "enabled": toolset.enabled,
        "user_mcp": toolset.user_mcp,
        "origin": _origin_row(toolset.origin),
    }


def toolset_of(row: Row) -> tuple[ToolsetId, Toolset]:
    id = ToolsetId(row["id"])
    described = {name: row[name] for name in ("name", "version", "description", "enabled", "user_mcp")}
    return id, Toolset(id, _origin(row["origin"]), **described)


def _origin_row(origin: Origin) -> str:
    match origin:
        case DeclaredAt(file, line):
            return document({"file": file, "line": line})
        case InstalledBy(by, at):
            return document({"by": by, "at": at.isoformat()})
        case _:
            assert_never(origin)


def _origin(text: str) -> Origin:
    match json.loads(text):
        case {"file": file, "line": line}:
            return DeclaredAt(file, line)
        case {"by": by, "at": at}:
            return InstalledBy(PrincipalId(by), datetime.fromisoformat(at))
        case _:
            raise ValueError(f"A row has the origin {text!r}, which this Pegboard does not know.")


def _connection_row(connection: Connection) -> str:
    match connection:
        case Stdio(command, args, env, cwd):
            return document({"command": command, "args": list(args), "env": dict(env), "cwd": cwd})
        case Http(url, transport, headers):
            return document({"url": url, "transport": transport.value, "headers": dict(headers)})
        case _:
            assert_never(connection)


def _connection(text: str) -> Connection:
    match json.loads(text):
        case {"command": command, "args": args, "env": env, "cwd": cwd}:
            return Stdio(command, tuple(args), env, cwd)
        case {"url": url, "transport": transport, "headers": headers}:
            return Http(url, Transport(transport), headers)
        case _:
            # The text is not quoted: an environment or a header may hold a secret.
            raise ValueError("A row has a connection of a kind that this Pegboard does not know.")


def _limit_row(limit: ToolLimit) -> str:
    match limit:
        case EveryTool():
            return document({"every": True})
        case OnlyTools(names):
            return document({"only": list(names)})
        case AllButTools(names):
            return document({"all_but": list(names)})
        case _:
            assert_never(limit)


def _limit(text: str) -> ToolLimit:
    match json.loads(text):
        case {"every": True}:
            return EveryTool()
        case {"only": names}:
            return OnlyTools(tuple(names))
        case {"all_but": names}:
            return AllButTools(tuple(names))
        case _:
            raise ValueError(f"A row has the tool limit {text!r}, which this Pegboard does not know.")
