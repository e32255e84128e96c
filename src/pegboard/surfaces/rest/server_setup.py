"""Routes that read servers before they are added: from pasted text or from other clients. Secrets are in no answer.

What is secret in them is in no answer: who adds one of them names where it stands.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Literal, NotRequired, assert_never, cast

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.config.clients.discover import find_client_lists
from pegboard.config.clients.merge import MergedServers, extract_secrets, merge_lists, yaml_entry
from pegboard.config.clients.paste import read_pasted
from pegboard.config.clients.placeholders import ClientServerList
from pegboard.config.masked_servers import mask_server
from pegboard.config.schema.document import FileProblem as FileProblem
from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.model.catalogue import Listing, ProviderDown, ProviderNeedsSignIn, has_listed
from pegboard.core.model.ids import PrincipalId, ServerKey, ToolId, provider_title
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.server import (
    AllButTools,
    EveryTool,
    Http,
    InstalledBy,
    OnlyTools,
    Server,
    Stdio,
    ToolFilter,
    require_stdio_or_http,
)
from pegboard.core.model.tool import ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.presentations.entries import tool_cost
from pegboard.core.review.review import PendingApproval, preview_approvals
from pegboard.gateway.board import BoardState
from pegboard.gateway.trials import ServerTrial, ServerTrials, TooManyTrialsError
from pegboard.ports.providers import Clock
from pegboard.surfaces.rest.auth import decision_author, refuse_references, require_scope, requires_scopes
from pegboard.surfaces.rest.requests import PasteBody, ServerBody, ServerSourceBody
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.review_schemas import (
    ParameterInfo,
    RiskInfo,
    ScanFindingInfo,
    pending_tool_info,
    tool_text_info,
)
from pegboard.surfaces.rest.schemas import (
    FreeObject,
    HealthInfo,
    ListingProblemInfo,
    ToolHintsInfo,
    health_info,
    hints_info,
    listing_problem_infos,
)

_MERGED_KEYS = ("env", "headers")


class SourceProblemInfo(TypedDict):
    """What is wrong or was left out, and what to do. `line` is 0 where all of it is meant."""

    line: int
    key: str
    message: str
    text: str


class SourceServerInfo(TypedDict):
    """A server that could be added. `name` is what `from` calls it."""

    name: str
    connection: FreeObject
    enabled: bool
    foundAt: str
    secrets: list[str]
    """Keys whose values may be secrets. They are not told; in `from` they are still there."""
    existingOrigin: str | None
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


def server_source_routes(board: BoardState) -> APIRouter:
    routes = make_router("servers")

    @routes.post("/servers/read")
    async def read_servers(body: PasteBody) -> ReadServersResponse:
        """The servers in a text: an address, a command line, or a piece of a client's list. Nothing is started."""
        return _read_servers_response(await anyio.to_thread.run_sync(_parse_pasted, body.text), board)

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
                    **_read_servers_response(merge_lists((one,)), board),
                }
                for one in found
            ],
            "policyVersion": board.policy.version,
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
    rest = {"folder": body.folder, "quarantine": body.quarantine, "baseline": body.baseline}
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


def _read_servers_response(whole: MergedServers, board: BoardState) -> ReadServersResponse:
    own = {problem for notes in whole.notes.values() for problem in notes}
    return {
        "servers": [_source_server_info(server, whole, board) for server in whole.servers],
        "problems": [_source_problem_info(problem) for problem in whole.problems if problem not in own],
    }


def _source_server_info(server: Server, whole: MergedServers, board: BoardState) -> SourceServerInfo:
    there = board.policy.servers.get(server.key)
    shape: SourceServerInfo = {
        "name": server.id,
        "connection": {**mask_server(server)},
        "enabled": server.enabled,
        "foundAt": str(server.origin),
        "secrets": sorted({secret.key for secret in extract_secrets((server,))[1]}),
        "existingOrigin": None if there is None else str(there.origin),
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
    return {"line": problem.line, "key": problem.key, "message": problem.message, "text": str(problem)}


# A server that a person installs, read by the rules of the file: what pegboard.yaml takes is taken here too.

_FILE_NAME = "server.json"


@dataclass(frozen=True)
class ServerInstallation:
    server: Server
    toolset: Toolset
    warnings: tuple[str, ...]
    """What will not work, though nothing is wrong: a variable that is not set here and now."""


@dataclass(frozen=True)
class InvalidServerBody:
    problems: tuple[str, ...]


def read_installation(body: ServerBody, by: PrincipalId, at: datetime) -> ServerInstallation | InvalidServerBody:
    written = json.dumps({"servers": {body.id: body.as_entry()}})
    read = load_settings_text(written, _FILE_NAME, Path(body.folder).absolute() if body.folder else Path.cwd())
    if isinstance(read, InvalidFile):
        return InvalidServerBody(tuple(_describe_problem(problem, body.id) for problem in read.problems))
    (declared,) = read.declared.servers.values()
    toolset = read.declared.toolsets[declared.key.toolset]
    origin = InstalledBy(by, at)
    match require_stdio_or_http(declared.connection):
        case Stdio() as program:
            # A file's servers start in its folder; an installed one has no such place unless it names one.
            connection: Stdio | Http = program if body.cwd else replace(program, cwd=None)
        case Http() as address:
            connection = address
        case never:
            assert_never(never)
    return ServerInstallation(
        replace(
            declared,
            connection=connection,
            origin=origin,
            limit=_without_place(declared.limit),
            quarantined=body.quarantine,
        ),
        replace(toolset, origin=origin, name=toolset.name or toolset.id),
        tuple(_describe_problem(problem, body.id) for problem in read.warnings),
    )


def _without_place(limit: ToolFilter) -> ToolFilter:
    """What a person says of a server stands in no file."""
    return limit if isinstance(limit, EveryTool) else replace(limit, at=None)


def _describe_problem(problem: FileProblem, id: str) -> str:
    key = problem.key.removeprefix(f"servers.{id}").lstrip(".")
    key = "" if key.startswith("servers.") else key
    return f"{key}: {problem.message}" if key else problem.message


# The route that tries a server before it is added: what it would bring, or why it brings nothing. Nothing is saved.

SIGN_IN_FIRST = "It wants a person to sign in first. Add it, sign in, and what it lists waits for you or is seen then."


class TrialToolInfo(TypedDict):
    """One tool as it would come. Its words are the server's own; `notes` is what the scanner says of them."""

    name: str
    title: str | None
    description: str
    parameters: list[ParameterInfo]
    annotations: str | None
    hints: ToolHintsInfo
    tokens: int
    risk: RiskInfo
    findings: list[ScanFindingInfo]
    cautions: list[str]
    fingerprint: str


class ServerTrialResponse(TypedDict):
    """How a server answered. `baseline` names what was listed: send it when the server is added."""

    id: str
    state: Literal["answered", "needs_sign_in", "failed"]
    message: str
    health: HealthInfo
    tools: list[TrialToolInfo]
    tokens: int
    problems: list[ListingProblemInfo]
    logTail: list[str]
    baseline: str | None
    existingOrigin: str | None
    warnings: list[str]


def server_trial_routes(board: BoardState, clock: Clock, trials: ServerTrials) -> APIRouter:
    routes = make_router("servers")

    @routes.post("/servers/try")
    async def try_server(body: ServerBody) -> ServerTrialResponse:
        """Start a server once, apart from the board, to see what it lists; it is ended again and nothing is saved."""
        made = await to_installation(body, clock)
        try:
            trial, seen = await trials.try_server(made.server)
        except TooManyTrialsError as error:
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, str(error)) from None
        others = tuple(board.catalogue.tools.values())
        there = board.policy.servers.get(made.server.key)

        def build_response() -> ServerTrialResponse:
            """Not for the event loop: the scanner reads all of it."""
            shape = _trial_response(made, trial, preview_approvals(trial.listing.tools, others))
            shape["baseline"] = None if seen is None else seen.id
            shape["existingOrigin"] = None if there is None else str(there.origin)
            return shape

        return await anyio.to_thread.run_sync(build_response)

    return routes


async def to_installation(body: ServerBody, clock: Clock) -> ServerInstallation:
    """Raises `ProblemError`, with everything that is wrong."""
    whole = await resolve_source(body)
    refuse_references(whole.as_entry())
    made = read_installation(whole, decision_author(), clock())
    if isinstance(made, InvalidServerBody):
        told = list(made.problems)
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
    require_admin_for_program(made.server)
    return made


def require_admin_for_program(server: Server) -> None:
    """Whoever chooses a program that runs on the gateway's machine can do everything there."""
    if not isinstance(server.connection, Http):
        require_scope(TokenScope.ADMIN, f"{provider_title(server.key)} starts a program on the gateway's machine")


async def baseline_from_trial(
    body: ServerBody, made: ServerInstallation, board: BoardState, trials: ServerTrials
) -> Mapping[ToolId, ToolSpec] | None:
    """What of a try that the body names counts as seen. Raises `ProblemError` where that was of another server."""
    if body.baseline is None:
        return None
    seen, key = trials.find_result(body.baseline, made.server), made.server.key
    if seen is None or not isinstance(key, ServerKey):
        told = "What was tried was another server, or too long ago. Nothing was added. Try it again: POST /servers/try"
        raise ProblemError(HTTPStatus.CONFLICT, told)
    return await seen.baseline(key, tuple(board.catalogue.tools.values()))


def _trial_response(
    made: ServerInstallation, trial: ServerTrial, waiting: tuple[PendingApproval, ...]
) -> ServerTrialResponse:
    tools = [_trial_tool_info(each) for each in waiting]
    health = trial.listing.health
    return {
        "id": str(made.server.key),
        "state": "answered"
        if has_listed(trial.listing)
        else "needs_sign_in"
        if isinstance(health, ProviderNeedsSignIn)
        else "failed",
        "message": _trial_summary(trial.listing, sum(tool["tokens"] for tool in tools)),
        "health": _without_retry(health_info(health)),
        "tools": tools,
        "tokens": sum(tool["tokens"] for tool in tools),
        "problems": listing_problem_infos(trial.listing.problems),
        "logTail": list(trial.lines),
        "baseline": None,
        "existingOrigin": None,
        "warnings": list(made.warnings),
    }


def _trial_summary(listing: Listing, cost: int) -> str:
    match listing.health:
        case ProviderNeedsSignIn():
            return SIGN_IN_FIRST
        case ProviderDown(_, why):
            return f"It did not come up: {why.rstrip('.')}."
        case _:
            count = len(listing.tools)
            tools = "1 tool" if count == 1 else f"{count} tools"
            return f"It answered with {tools}; {cost:,} tokens if all are shown to a model."


def _without_retry(health: HealthInfo) -> HealthInfo:
    """Nothing tries a server again that has ended already."""
    health.pop("retryAt", None)
    return health


def _trial_tool_info(each: PendingApproval) -> TrialToolInfo:
    told = {**pending_tool_info(each), **tool_text_info(each)}
    return cast(
        TrialToolInfo,
        {key: value for key, value in told.items() if key in TrialToolInfo.__annotations__}
        | {
            "hints": hints_info(each.tool.spec),
            "tokens": tool_cost(each.tool.spec),
        },
    )
