"""The servers of all clients in one list: what is the same once, and what only has the same id told apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from pegboard.config.problem import Problem
from pegboard.core.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.server import DeclaredAt, Server, Stdio

from .found import Client, Found


@dataclass(frozen=True)
class Merged:
    servers: tuple[Server, ...]
    problems: tuple[Problem, ...] = ()
    notes: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict[str, tuple[Problem, ...]])
    """The problems that are about one server, by its id."""


def merged(found: Iterable[Found]) -> Merged:
    """In the order in which they were found. A server that is on in one list is on."""
    servers: dict[str, Server] = {}
    wishes: dict[str, str] = {}
    problems: list[Problem] = []
    notes: dict[str, tuple[Problem, ...]] = {}
    for one in found:
        problems += one.problems
        for server, key in zip(one.servers, one.keys, strict=True):
            wish = server.id
            about = tuple(problem for problem in one.problems if _is_about(problem, key))
            same = next((id for id, other in servers.items() if wishes[id] == wish and _is_same(server, other)), None)
            if same is not None:
                servers[same] = _joined(servers[same], server)
                notes[same] += about
                continue
            id = _free(wish, one.client, servers)
            wishes[id] = wish
            servers[id] = replace(server, key=ServerKey(ToolsetId(id), ServerId(id)))
            notes[id] = about
            if id != wish:
                renamed = _told(server, servers[wish], id)
                problems.append(renamed)
                notes[id] += (renamed,)
    return Merged(tuple(servers.values()), tuple(problems), notes)


def _is_about(problem: Problem, key: str) -> bool:
    return problem.key == key or problem.key.startswith((f"{key}.", f"{key}["))


def _is_same(server: Server, other: Server) -> bool:
    """A list of the user names no folder, so that it does not contradict the one of a project's list."""
    here, there = server.connection, other.connection
    if isinstance(here, Stdio) and isinstance(there, Stdio) and None in (here.cwd, there.cwd):
        here, there = replace(here, cwd=None), replace(there, cwd=None)
    return (here, server.limit) == (there, other.limit)


def _joined(server: Server, same: Server) -> Server:
    here, there = server.connection, same.connection
    if isinstance(here, Stdio) and isinstance(there, Stdio):
        here = replace(here, cwd=there.cwd if here.cwd is None else here.cwd)
    return replace(server, connection=here, enabled=max(server.enabled, same.enabled))


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
    return Problem(at.file, at.line, server.id, what)
