"""The servers of all clients in one list: what is the same once, and what only has the same id told apart."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count

from pegboard.config.problem import Problem
from pegboard.core.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.server import DeclaredAt, Server

from .found import Client, Found


@dataclass(frozen=True)
class Merged:
    servers: tuple[Server, ...]
    problems: tuple[Problem, ...] = ()


def merged(found: Iterable[Found]) -> Merged:
    """In the order in which they were found. A server that is on in one list is on."""
    servers: dict[str, Server] = {}
    wishes: dict[str, str] = {}
    problems: list[Problem] = []
    for one in found:
        problems += one.problems
        for server in one.servers:
            wish = server.key.server
            same = next((id for id, other in servers.items() if wishes[id] == wish and _is_same(server, other)), None)
            if same is not None:
                servers[same] = replace(servers[same], enabled=max(servers[same].enabled, server.enabled))
                continue
            id = _free(wish, one.client, servers)
            wishes[id] = wish
            servers[id] = replace(server, key=ServerKey(ToolsetId(id), ServerId(id)))
            if id != wish:
                problems.append(_told(server, servers[wish], id))
    return Merged(tuple(servers.values()), tuple(problems))


def _is_same(server: Server, other: Server) -> bool:
    return (server.connection, server.limit) == (other.connection, other.limit)


def _free(wanted: str, client: Client, taken: Iterable[str]) -> str:
    ids = {*taken}
    if wanted not in ids:
        return wanted
    own = f"{wanted[: 60 - len(client.suffix)]}-{client.suffix}"
    numbered = (own if number == 1 else f"{own}-{number}" for number in count(1))
    return next(id for id in numbered if id not in ids)


def _told(server: Server, first: Server, id: str) -> Problem:
    at = server.origin if isinstance(server.origin, DeclaredAt) else DeclaredAt("", 0)
    what = f"another server has this id already ({first.origin}) and is not the same; this one becomes {id!r}."
    return Problem(at.file, at.line, str(server.key.server), what)
