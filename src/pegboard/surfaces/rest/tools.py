"""Routes for tools: every verdict, one tool in full, a call, the trail, and what another configuration would change."""

import json
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, assert_never
from uuid import uuid4

from fastapi import APIRouter, Query

from pegboard.config.settings import Broken, load_text
from pegboard.core.call import (
    BadArguments,
    Call,
    Cancelled,
    ProviderFailed,
    Returned,
    ToolFailed,
    ToolIsLocked,
    UnknownTool,
    refusal_text,
)
from pegboard.core.explain import explain
from pegboard.core.ids import CallId, PrincipalId, ToolId, WireName
from pegboard.core.policy import clashes
from pegboard.core.reference import Kind, Unknown, find, reference
from pegboard.core.resolve import Resolution, directory
from pegboard.core.status import status
from pegboard.core.view import View
from pegboard.core.whatif import what_if
from pegboard.gateway.caller import Ended
from pegboard.gateway.gateway import Gateway

from .bodies import CallBody, OtherConfig, ToolQuery, ViewQuery
from .problems import Problem
from .shapes import Shape, notices_shape, tool_in_full, tool_shape, trail_shape, what_if_shape


def tool_routes(gateway: Gateway) -> APIRouter:
    routes = APIRouter(tags=["tools"])
    board = gateway.board

    @routes.get("/tools")
    async def list_tools(asked: Annotated[ViewQuery, Query()]) -> Shape:
        """Every tool of the catalogue with its verdict for this view."""
        resolution = _resolution(gateway, asked.view())
        return {
            "tools": [tool_shape(id, resolution) for id in resolution.verdicts],
            "notices": notices_shape(board.notices),
        }

    @routes.get("/tools/show")
    async def show(asked: Annotated[ToolQuery, Query()]) -> Shape:
        resolution = _resolution(gateway, asked.view())
        id = tool_named(gateway, asked.tool, resolution)
        return tool_in_full(board.catalogue.tools[id], resolution, board.policy)

    @routes.get("/why")
    async def why(asked: Annotated[ToolQuery, Query()]) -> Shape:
        """Every step of the decision for one tool and what it said."""
        view = asked.view()
        id = tool_named(gateway, asked.tool, _resolution(gateway, view))
        trail = explain(board.catalogue, board.policy, view, id)
        if trail is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"{id} left the board just now.")
        return trail_shape(trail)

    @routes.post("/call")
    async def call(body: CallBody) -> Shape:
        """One call by the operator, through the same admission as any client's."""
        view = body.view()
        resolution = _resolution(gateway, view)
        id = tool_named(gateway, body.tool, resolution)
        asked = Call(
            id=CallId(uuid4().hex),
            name=resolution.names.get(id, WireName(str(id))),
            arguments=body.arguments,
            principal=view.principal,
            at=gateway.clock(),
            client="operator",
        )
        return _ended(await gateway.caller.call(asked, view))

    @routes.post("/diff")
    async def diff(body: OtherConfig) -> Shape:
        """Which tools would open or lock if this configuration were loaded instead."""
        other = load_text(body.text, body.file, Path(body.file).parent)
        if isinstance(other, Broken):
            told = [str(problem) for problem in other.problems]
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(told), {"errors": told})
        found = what_if(
            board.catalogue,
            board.policy,
            replace(board.policy, declared=other.declared),
            View(PrincipalId(body.principal)),
        )
        clashing = [str(clash) for clash in clashes(other.declared, board.policy.decided)]
        return {**what_if_shape(found), "clashes": clashing}

    return routes


def tool_named(gateway: Gateway, text: str, resolution: Resolution) -> ToolId:
    """One tool, by id, by the name a client sees, or by its own name while only one tool has it."""
    if (id := resolution.by_name.get(WireName(text))) is not None:
        return id
    found = find(reference(text), directory(gateway.board.catalogue, gateway.board.policy), Kind.TOOL)
    if isinstance(found, Unknown):
        raise Problem(HTTPStatus.NOT_FOUND, f"{found} See: pegboard tools list")
    if len(found) == 1:
        return found[0]
    if not found:
        raise Problem(HTTPStatus.NOT_FOUND, f"No tool fits {text!r}. See: pegboard tools list")
    ids = ", ".join(str(id) for id in found[:10])
    raise Problem(HTTPStatus.CONFLICT, f"{len(found)} tools fit {text!r}: {ids}. Name one by its id.")


def _resolution(gateway: Gateway, view: View) -> Resolution:
    resolution = gateway.board.resolution(view)
    if resolution.refused:
        told = [str(unknown) for unknown in resolution.refused]
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            " ".join(told),
            {"errors": told, "offered": sorted(str(id) for id in resolution.offered)[:200]},
        )
    return resolution


def _ended(ended: Ended) -> Shape:
    match ended:
        case Returned(body):
            return {"ended": "returned", "result": json.loads(body)}
        case ToolFailed(body):
            return {"ended": "tool_failed", "result": json.loads(body)}
        case ProviderFailed(why, may_have_run):
            return {"ended": "provider_failed", "sentence": why, "mayHaveRun": may_have_run}
        case Cancelled():
            return {"ended": "cancelled"}
        case UnknownTool():
            return {"ended": "unknown_tool", "sentence": refusal_text(ended)}
        case BadArguments():
            return {"ended": "bad_arguments", "sentence": refusal_text(ended)}
        case ToolIsLocked(_, reason):
            return {"ended": status(reason).value, "sentence": refusal_text(ended)}
        case _:
            assert_never(ended)
