"""The servers of all clients in one list: what is the same once, and what only has the same id told apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from pegboard.config.problem import FileProblem
from pegboard.core.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.server import DeclaredAt, Server, Stdio

from .found import ClientApp, ClientServerList


@dataclass(frozen=True)
class MergedServers:
    servers: tuple[Server, ...]
    problems: tuple[FileProblem, ...] = ()
    notes: Mapping[str, tuple[FileProblem, ...]] = field(default_factory=dict[str, tuple[FileProblem, ...]])
    """The problems that are about one server, by its id."""


def merge_lists(found: Iterable[ClientServerList]) -> MergedServers:
    """In the order in which they were found. A server that is on in one list is on."""
    servers: dict[str, Server] = {}
    wishes: dict[str, str] = {}
    problems: list[FileProblem] = []
    notes: dict[str, tuple[FileProblem, ...]] = {}
    for one in found:
        problems += one.problems
        for server, key in zip(one.servers, one.keys, strict=True):
            wish = server.id
            about = tuple(problem for problem in one.problems if _is_about(problem, key))
            same = next((id for id, other in servers.items() if wishes[id] == wish and _is_same(server, other)), None)
            if same is not None:
                servers[same] = _merge_server(servers[same], server)
                notes[same] += about
                continue
            id = _free_id(wish, one.client, servers)
            wishes[id] = wish
            servers[id] = replace(server, key=ServerKey(ToolsetId(id), ServerId(id)))
            notes[id] = about
            if id != wish:
                renamed = _rename_problem(server, servers[wish], id)
                problems.append(renamed)
                notes[id] += (renamed,)
    return MergedServers(tuple(servers.values()), tuple(problems), notes)


def _is_about(problem: FileProblem, key: str) -> bool:
    return problem.key == key or problem.key.startswith((f"{key}.", f"{key}["))


def _is_same(server: Server, other: Server) -> bool:
    """A list of the user names no folder, so that it does not contradict the one of a project's list."""
    here, there = server.connection, other.connection
    if isinstance(here, Stdio) and isinstance(there, Stdio) and None in (here.cwd, there.cwd):
        here, there = replace(here, cwd=None), replace(there, cwd=None)
    return (here, server.limit) == (there, other.limit)


def _merge_server(server: Server, same: Server) -> Server:
    here, there = server.connection, same.connection
    if isinstance(here, Stdio) and isinstance(there, Stdio):
        here = replace(here, cwd=there.cwd if here.cwd is None else here.cwd)
    return replace(server, connection=here, enabled=max(server.enabled, same.enabled))


def _free_id(wanted: str, client: ClientApp, taken: Iterable[str]) -> str:
    ids = {*taken}
    if wanted not in ids:
        return wanted
    own = f"{wanted[: 60 - len(client.suffix)]}-{client.suffix}"
    numbered = (own if number == 1 else f"{own}-{number}" for number in count(1))
    return next(id for id in numbered if id not in ids)


def _rename_problem(server: Server, first: Server, id: str) -> FileProblem:
    at = server.origin if isinstance(server.origin, DeclaredAt) else DeclaredAt("", 0)
    what = f"another server has this id already ({first.origin}) and is not the same; this one becomes {id!r}."
    return FileProblem(at.file, at.line, server.id, what)
