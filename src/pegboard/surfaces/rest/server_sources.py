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

from pegboard.config.clients import (
    ClientServerList,
    MergedServers,
    extract_secrets,
    find_client_lists,
    merge_lists,
    read_pasted,
    yaml_entry,
)
from pegboard.config.masking import mask_server
from pegboard.config.problem import FileProblem as FileProblem
from pegboard.core.reference import closest_names
from pegboard.core.scope import TokenScope
from pegboard.core.server import AllButTools, EveryTool, OnlyTools, Server
from pegboard.gateway.gateway import Gateway

from .access import requires_scopes
from .answers import make_router
from .bodies import PasteBody, ServerBody, ServerSourceBody
from .problems import ProblemError
from .shapes import FreeObject

_MERGED_KEYS = ("env", "headers")


class SourceProblemInfo(TypedDict):
    """What is wrong or was left out, and what to do. `line` is 0 where all of it is meant."""

    line: int
    key: str
    what: str
    sentence: str


class SourceServerInfo(TypedDict):
    """A server that could be added. `name` is what `from` calls it."""

    name: str
    connection: FreeObject
    enabled: bool
    foundAt: str
    secrets: list[str]
    """Keys whose values may be secrets. They are not told; in `from` they are still there."""
    thereAlready: str | None
    """Where a server of this name on the board comes from: then another id is needed."""
    problems: list[SourceProblemInfo]
    enabledTools: NotRequired[list[str]]
    disabledTools: NotRequired[list[str]]


class ReadServersResponse(TypedDict):
    servers: list[SourceServerInfo]
    problems: list[SourceProblemInfo]


class ClientServersInfo(ReadServersResponse):
    """A file in which another client keeps its servers."""

    client: str
    path: str


class ClientsResponse(TypedDict):
    clients: list[ClientServersInfo]
    policyVersion: int


def server_source_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("servers")

    @routes.post("/servers/read")
    async def read_servers(body: PasteBody) -> ReadServersResponse:
        """The servers in a text: an address, a command line, or a piece of a client's list. Nothing is started."""
        return _read_servers_response(await anyio.to_thread.run_sync(_parse_pasted, body.text), gateway)

    @routes.get("/clients")
    @requires_scopes(TokenScope.OPERATE)
    async def list_clients() -> ClientsResponse:
        """The lists of servers that other clients keep on the gateway's machine."""
        found = await anyio.to_thread.run_sync(_find_client_lists)
        return {
            "clients": [
                {
                    "client": one.client.value,
                    "path": str(one.path),
                    **_read_servers_response(merge_lists((one,)), gateway),
                }
                for one in found
            ],
            "policyVersion": gateway.board.policy.version,
        }

    return routes


async def resolve_source(body: ServerBody) -> ServerBody:
    """The body with all that stands where it is read from. What the body says itself goes before."""
    if body.read_from is None:
        if not body.id:
            told = "id: this is missing. Give it."
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, told, {"errors": [told]})
        return body
    server = await anyio.to_thread.run_sync(_find_server, body.read_from)
    stands: dict[str, object] = {**yaml_entry(server)}
    said = body.as_entry()
    if {"url", "command"} & said.keys():
        stands = {
            key: value for key, value in stands.items() if key not in ("url", "command", "args", "env", "headers")
        }
    for key in _MERGED_KEYS:
        if isinstance(was := stands.get(key), Mapping) and key in said:
            said[key] = {**was, **said[key]}
    rest = {"folder": body.folder, "quarantine": body.quarantine, "seen": body.seen}
    return ServerBody.model_validate({**stands, **said, **rest, "id": body.id or server.id})


def _parse_pasted(text: str) -> MergedServers:
    return merge_lists((read_pasted(text, Path.home(), sys.platform),))


def _find_client_lists() -> tuple[ClientServerList, ...]:
    return find_client_lists(Path.home(), Path.cwd(), sys.platform, os.environ)


def _find_server(place: ServerSourceBody) -> Server:
    if place.text is not None:
        whole = _parse_pasted(place.text)
    else:
        lists = {str(one.path): one for one in _find_client_lists()}
        if place.client not in lists:
            told = f"from.client: no client's list is at {place.client!r} on the gateway's machine. See: GET /clients"
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, told)
        whole = merge_lists((lists[place.client],))
    servers = {server.id: server for server in whole.servers}
    if not servers:
        told_all = [str(problem) for problem in whole.problems] or ["from: no server is in it."]
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told_all), {"errors": told_all})
    if place.server is None and len(servers) == 1:
        return next(iter(servers.values()))
    if place.server is None:
        told = f"from.server: several servers are in it: {', '.join(servers)}. Name one."
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, told)
    if place.server not in servers:
        near = closest_names(place.server, servers)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(servers)}."
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"from.server: no server {place.server!r} is in it. {hint}")
    return servers[place.server]


def _read_servers_response(whole: MergedServers, gateway: Gateway) -> ReadServersResponse:
    own = {problem for notes in whole.notes.values() for problem in notes}
    return {
        "servers": [_source_server_info(server, whole, gateway) for server in whole.servers],
        "problems": [_source_problem_info(problem) for problem in whole.problems if problem not in own],
    }


def _source_server_info(server: Server, whole: MergedServers, gateway: Gateway) -> SourceServerInfo:
    there = gateway.board.policy.servers.get(server.key)
    shape: SourceServerInfo = {
        "name": server.id,
        "connection": {**mask_server(server)},
        "enabled": server.enabled,
        "foundAt": str(server.origin),
        "secrets": sorted({secret.key for secret in extract_secrets((server,))[1]}),
        "thereAlready": None if there is None else str(there.origin),
        "problems": [_source_problem_info(problem) for problem in whole.notes.get(server.id, ())],
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


def _source_problem_info(problem: FileProblem) -> SourceProblemInfo:
    return {"line": problem.line, "key": problem.key, "what": problem.message, "sentence": str(problem)}
