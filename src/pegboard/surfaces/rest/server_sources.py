"""Routes that read servers before any is added: from a text that somebody pasted, and from other clients' lists.

What is secret in them is in no answer: who adds one of them names where it stands.
"""

import os
import sys
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import NotRequired, assert_never

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.config.clients import Found, Merged, entry_of, find, merged, read_pasted, without_secrets
from pegboard.config.masking import masked
from pegboard.config.problem import Problem as FileProblem
from pegboard.core.reference import closest
from pegboard.core.scope import Scope
from pegboard.core.server import AllButTools, EveryTool, OnlyTools, Server
from pegboard.gateway.gateway import Gateway

from .access import needs
from .answers import routes_about
from .bodies import PastedBody, ReadFrom, ServerBody
from .problems import Problem
from .shapes import Told

_JOINED = ("env", "headers")


class ReadProblem(TypedDict):
    """What is wrong or was left out, and what to do. `line` is 0 where all of it is meant."""

    line: int
    key: str
    what: str
    sentence: str


class ReadServer(TypedDict):
    """A server that could be added. `name` is what `from` calls it."""

    name: str
    connection: Told
    enabled: bool
    foundAt: str
    secrets: list[str]
    """Keys whose values may be secrets. They are not told; in `from` they are still there."""
    thereAlready: str | None
    """Where a server of this name on the board comes from: then another id is needed."""
    problems: list[ReadProblem]
    enabledTools: NotRequired[list[str]]
    disabledTools: NotRequired[list[str]]


class ReadServers(TypedDict):
    servers: list[ReadServer]
    problems: list[ReadProblem]


class ClientList(ReadServers):
    """A file in which another client keeps its servers."""

    client: str
    path: str


class ClientLists(TypedDict):
    clients: list[ClientList]
    policyVersion: int


def source_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("servers")

    @routes.post("/servers/read")
    async def read_servers(body: PastedBody) -> ReadServers:
        """The servers in a text: an address, a command line, or a piece of a client's list. Nothing is started."""
        return _read_shape(await anyio.to_thread.run_sync(_pasted, body.text), gateway)

    @routes.get("/clients")
    @needs(Scope.OPERATE)
    async def list_clients() -> ClientLists:
        """The lists of servers that other clients keep on the gateway's machine."""
        found = await anyio.to_thread.run_sync(_found)
        return {
            "clients": [
                {"client": one.client.value, "path": str(one.path), **_read_shape(merged((one,)), gateway)}
                for one in found
            ],
            "policyVersion": gateway.board.policy.version,
        }

    return routes


async def sourced(body: ServerBody) -> ServerBody:
    """The body with all that stands where it is read from. What the body says itself goes before."""
    if body.read_from is None:
        if not body.id:
            told = "id: this is missing. Give it."
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, told, {"errors": [told]})
        return body
    server = await anyio.to_thread.run_sync(_named, body.read_from)
    stands: dict[str, object] = {**entry_of(server)}
    said = body.written()
    if {"url", "command"} & said.keys():
        stands = {
            key: value for key, value in stands.items() if key not in ("url", "command", "args", "env", "headers")
        }
    for key in _JOINED:
        if isinstance(was := stands.get(key), Mapping) and key in said:
            said[key] = {**was, **said[key]}
    rest = {"folder": body.folder, "quarantine": body.quarantine, "seen": body.seen}
    return ServerBody.model_validate({**stands, **said, **rest, "id": body.id or server.id})


def _pasted(text: str) -> Merged:
    return merged((read_pasted(text, Path.home(), sys.platform),))


def _found() -> tuple[Found, ...]:
    return find(Path.home(), Path.cwd(), sys.platform, os.environ)


def _named(place: ReadFrom) -> Server:
    if place.text is not None:
        whole = _pasted(place.text)
    else:
        lists = {str(one.path): one for one in _found()}
        if place.client not in lists:
            told = f"from.client: no client's list is at {place.client!r} on the gateway's machine. See: GET /clients"
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, told)
        whole = merged((lists[place.client],))
    servers = {server.id: server for server in whole.servers}
    if not servers:
        told_all = [str(problem) for problem in whole.problems] or ["from: no server is in it."]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told_all), {"errors": told_all})
    if place.server is None and len(servers) == 1:
        return next(iter(servers.values()))
    if place.server is None:
        told = f"from.server: several servers are in it: {', '.join(servers)}. Name one."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, told)
    if place.server not in servers:
        near = closest(place.server, servers)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(servers)}."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"from.server: no server {place.server!r} is in it. {hint}")
    return servers[place.server]


def _read_shape(whole: Merged, gateway: Gateway) -> ReadServers:
    own = {problem for notes in whole.notes.values() for problem in notes}
    return {
        "servers": [_server_shape(server, whole, gateway) for server in whole.servers],
        "problems": [_problem_shape(problem) for problem in whole.problems if problem not in own],
    }


def _server_shape(server: Server, whole: Merged, gateway: Gateway) -> ReadServer:
    there = gateway.board.policy.servers.get(server.key)
    shape: ReadServer = {
        "name": server.id,
        "connection": {**masked(server)},
        "enabled": server.enabled,
        "foundAt": str(server.origin),
        "secrets": sorted({secret.key for secret in without_secrets((server,))[1]}),
        "thereAlready": None if there is None else str(there.origin),
        "problems": [_problem_shape(problem) for problem in whole.notes.get(server.id, ())],
    }
    match server.limit:
        case EveryTool():
            pass
        case OnlyTools(names):
            shape["enabledTools"] = [*names]
        case AllButTools(names):
            shape["disabledTools"] = [*names]
        case _:
            assert_never(server.limit)
    return shape


def _problem_shape(problem: FileProblem) -> ReadProblem:
    return {"line": problem.line, "key": problem.key, "what": problem.what, "sentence": str(problem)}
