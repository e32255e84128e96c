"""Routes: code mode programs and stubs."""

import json
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final, Self
from uuid import uuid4

import anyio
from anyio import to_thread
from anyio.streams.memory import MemoryObjectSendStream
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, model_validator
from typing_extensions import TypedDict

from pegboard.core.calls.call import CallCancellation, ToolCall
from pegboard.core.calls.tickets import TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.model.ids import CallId, ServerKey, WireName
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON
from pegboard.core.model.text import Audience
from pegboard.gateway.board import BoardState
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.ports.providers import Clock, Progress
from pegboard.surfaces.rest.auth import acting_caller, requires_scopes
from pegboard.surfaces.rest.requests import ActingBody, Name, ViewQuery
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.tools import CallResponse, call_response, cancel_on_disconnect, checked_resolution

if TYPE_CHECKING:
    from starlette.types import Receive, Send
    from starlette.types import Scope as Asked

    from pegboard.prompts.stubs.names import ProgramFunction, ProgramNames


NDJSON_TYPE: Final = "application/x-ndjson"
STARTUP_WAIT_S: Final = 3.0
"""Seconds that a program waits for servers that are starting: what is not listed yet is no function."""
MAX_QUEUED_LINES: Final = 100


_RUN_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "How it ended; to whoever accepts lines, each call as it is made before that.",
        "content": {NDJSON_TYPE: {"schema": {"type": "string"}}},
    }
}


class ProgramProgressLine(TypedDict):
    """One line of a program that goes on."""

    progress: float
    total: float | None
    message: str | None


class StubModuleInfo(TypedDict):
    name: str
    stubs: str


class StubFunctionInfo(TypedDict):
    function: str
    tool: str


class StubsResponse(TypedDict):
    header: str
    modules: list[StubModuleInfo]
    functions: list[StubFunctionInfo]


class ProgramBody(ActingBody):
    code: str | None = None
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    ticket: Name | None = None
    """Of a program that waited for a person: it goes on. With `code` beside it, only if that is its text."""

    @model_validator(mode="after")
    def _has_code_or_ticket(self) -> Self:
        if self.code is None and self.ticket is None:
            raise ValueError("give code, or the ticket of a program that waits")
        return self

    def to_call(self) -> tuple[str, dict[str, Any]]:
        """The tool, and its arguments."""
        if self.ticket is not None:
            return TICKET_TOOL, {"ticket": self.ticket, "wait": 0}
        timeout = {} if self.timeout_s is None else {"timeout_s": self.timeout_s}
        return PYTHON, {"code": self.code, **timeout}


class StubsQuery(ViewQuery):
    name: Annotated[list[Name], Field(max_length=200)] = Field(default_factory=list)
    """Servers, toolsets, modules or tools. None: all."""


def program_routes(board: BoardState, clock: Clock, tool_calls: ToolCalls) -> APIRouter:
    routes = make_router("code")

    @routes.post("/run", response_model=CallResponse, responses=_RUN_RESPONSES)
    @requires_scopes(TokenScope.CALL, TokenScope.OPERATE)
    async def run_program(body: ProgramBody, request: Request) -> CallResponse | Response:
        """A program by the operator, through the same gates as any client's, as the principal of the token. Leaving
        ends it.

        Whoever accepts application/x-ndjson is told of each call as it is made, a line each, and of the end in the
        last line.
        """
        acting = acting_caller(body.principal)
        view = body.view_of(acting.principal)
        await board.wait_until_started(STARTUP_WAIT_S)
        checked_resolution(board, view)
        name, arguments = body.to_call()
        call = ToolCall(
            id=CallId(uuid4().hex),
            name=WireName(name),
            arguments=arguments,
            principal=view.principal,
            at=clock(),
            client=acting.client,
            made_by=acting.made_by,
            audience=Audience.OPERATOR,
        )
        if body.ticket is not None and body.code is not None:
            await _check_same_program(tool_calls, body.ticket, body.code, call)
        if NDJSON_TYPE in request.headers.get("accept", ""):
            return ProgramStreamResponse(tool_calls, call, view)
        ended: CallOutcome = CallCancellation()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_on_disconnect, request, tasks.cancel_scope)
            ended = await _run_call(tool_calls, call, view)
            tasks.cancel_scope.cancel()
        return call_response(ended)

    @routes.get("/stubs")
    async def show_stubs(asked: Annotated[StubsQuery, Query()]) -> StubsResponse:
        """The tools of a view as typed functions of Python, a module for each server."""
        await board.wait_until_started(STARTUP_WAIT_S)
        resolution = checked_resolution(board, asked.view())
        return await to_thread.run_sync(_stubs_response, board, resolution, asked.name)

    return routes


async def _check_same_program(tool_calls: ToolCalls, ticket: str, code: str, call: ToolCall) -> None:
    if await tool_calls.is_other_program(ticket, code, call):
        raise ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"The program that waits for ticket {ticket} is not this one: its text is another, or its arguments are. "
            "Nothing has run, and the decision stays. To go on with what waits, name the ticket alone; to run this "
            "one, leave the ticket out.",
        )


async def _run_call(tool_calls: ToolCalls, call: ToolCall, view: View, told: Progress | None = None) -> CallOutcome:
    if call.name == TICKET_TOOL:
        return await tool_calls.call(call, view, told)
    return await tool_calls.run_program(call, view, told)


class ProgramStreamResponse(Response):
    """A line for each call as it is made, and the end in the last one. It ends the program when its reader leaves."""

    media_type = NDJSON_TYPE

    def __init__(self, tool_calls: ToolCalls, call: ToolCall, view: View) -> None:
        super().__init__()
        self._tool_calls, self._call, self._view = tool_calls, call, view

    async def __call__(self, scope: "Asked", receive: "Receive", send: "Send") -> None:
        headers = [(b"content-type", NDJSON_TYPE.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_disconnect, receive, tasks.cancel_scope)
            lines, heard = anyio.create_memory_object_stream[CallResponse | ProgramProgressLine](MAX_QUEUED_LINES)
            tasks.start_soon(self._run_and_queue, lines, name="program")
            with heard:
                async for line in heard:
                    body = json.dumps(line).encode() + b"\n"
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            tasks.cancel_scope.cancel()

    async def _run_and_queue(self, lines: MemoryObjectSendStream[CallResponse | ProgramProgressLine]) -> None:
        def queue_progress(done: float, total: float | None, message: str | None) -> None:
            # Who reads slowly misses a line about a call; the answer has all of them.
            with suppress(anyio.WouldBlock):
                lines.send_nowait({"progress": done, "total": total, "message": message})

        with lines:
            await lines.send(call_response(await _run_call(self._tool_calls, self._call, self._view, queue_progress)))


async def _cancel_on_disconnect(receive: "Receive", scope: anyio.CancelScope) -> None:
    """The body was read already, so all that can still come is that the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _stubs_response(board: BoardState, resolution: Resolution, wanted: list[str]) -> StubsResponse:
    from pegboard.prompts.stubs.programs import program_names, stubs_for
    from pegboard.prompts.stubs.render import HEADER

    names = program_names(resolution)
    chosen = _choose_functions(names, resolution, wanted)
    modules: dict[str, list[str]] = {}
    for stub in stubs_for(sorted(chosen, key=str), resolution, board.policy, most=None):
        modules.setdefault(stub.function.module, []).append(stub.text)
    return {
        "header": HEADER,
        "modules": [{"name": name, "stubs": "\n\n".join(texts)} for name, texts in sorted(modules.items())],
        "functions": [{"function": str(named), "tool": str(named.id)} for named in sorted(chosen, key=str)],
    }


def _choose_functions(names: "ProgramNames", resolution: Resolution, wanted: list[str]) -> "list[ProgramFunction]":
    """Open tools alone: of any other there is nothing to tell."""
    every = [named for named in names.all_functions() if isinstance(resolution.verdicts[named.id], OpenTool)]
    if not wanted:
        return every
    chosen: dict[ProgramFunction, None] = {}
    for text in wanted:
        found = [named for named in every if text in _name_variants(named)]
        if not found and (id := resolution.find_tool(text)) is not None:
            found = [named for named in every if named.id == id]
        if not found:
            near = closest_names(text, {word for named in every for word in _name_variants(named)})
            meant = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
            told = f"No function fits {text!r}, and no server or tool of that name is open.{meant}"
            raise ProblemError(HTTPStatus.NOT_FOUND, f"{told} See: pegboard tools list")
        chosen |= dict.fromkeys(found)
    return [*chosen]


def _name_variants(named: "ProgramFunction") -> tuple[str, ...]:
    """By which people mean a function, or all of its server's."""
    source = named.id.source
    server = (source.server,) if isinstance(source, ServerKey) else ()
    return str(named), named.module, str(source), source.toolset, *server, str(named.id), named.id.name
