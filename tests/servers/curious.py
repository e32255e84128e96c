"""An MCP server on the official SDK whose tools ask their client, in the way of the era they are called in.

python tests/servers/curious.py [--handshake-only]            over stdio
python tests/servers/curious.py --http 0 [--handshake-only]   streamable HTTP at /mcp; the port is told on stderr
python tests/servers/curious.py --sse 0 [--handshake-only]    the older SSE transport at /sse; likewise
"""

import argparse
import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    JSONRPCRequest,
    ListToolsResult,
    PaginatedRequestParams,
    Request,
    SetLevelRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import RootModel
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

if TYPE_CHECKING:
    from tests.servers import listening
else:
    import listening

Context = ServerRequestContext[Any, Any]
FORM = {
    "message": "Which colour?",
    "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]},
}
QUESTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "ask": [("elicitation/create", FORM)],
    "ask_twice": [("elicitation/create", FORM), ("elicitation/create", {**FORM, "message": "And which size?"})],
    "ask_at_once": [],
    "open_page": [
        (
            "elicitation/create",
            {"mode": "url", "message": "Sign in there.", "url": "https://there.example/", "elicitationId": "e1"},
        )
    ],
    "sample": [
        (
            "sampling/createMessage",
            {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Größe?"}}],
                "maxTokens": 10,
                "metadata": {"unknown": [None, 1]},
            },
        )
    ],
    "sample_with_tools": [
        (
            "sampling/createMessage",
            {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Weather?"}}],
                "maxTokens": 10,
                "tools": [{"name": "weather", "inputSchema": {"type": "object"}}],
                "toolChoice": {"mode": "auto"},
            },
        )
    ],
    "roots": [("roots/list", {})],
}
OTHERS = (
    "log",
    "demand",
    "told",
    "hold",
    "held",
    "release",
    "given_up",
    "ask_in_vain",
    "ask_and_leave",
    "ask_and_go",
    "go",
)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}}


class Gate:
    """What `hold` waits for, and how often a call was given up."""

    def __init__(self) -> None:
        self.open = anyio.Event()
        self.goes = anyio.Event()
        self.held = 0
        self.given_up = 0
        self.changed = anyio.Event()
        self.level = ""
        self.questions: set[asyncio.Task[Any]] = set()

    def give_up(self) -> None:
        self.given_up += 1
        self.change()

    def change(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


gate = Gate()


async def handshake_only(ctx: Context, call_next: CallNext) -> HandlerResult:
    if ctx.method == "server/discover":
        raise MCPError(METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


@asynccontextmanager
async def older(read: Any, write: Any) -> AsyncIterator[Any]:
    """The same stream without the questions of the new era, which are answered as older servers answer them."""
    send, receive = anyio.create_memory_object_stream[Any](0)

    async def pass_on() -> None:
        async with send:
            async for item in read:
                message = getattr(item, "message", None)
                if isinstance(message, JSONRPCRequest) and message.method == "server/discover":
                    error = ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
                    await write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=error)))
                else:
                    await send.send(item)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_on)
        yield receive
        tasks.cancel_scope.cancel()


async def run(read: Any, write: Any) -> None:
    if handshake_only not in server.middleware:
        return await server.run(read, write, server.create_initialization_options())
    async with older(read, write) as filtered:
        await server.run(filtered, write, server.create_initialization_options())


async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name=name, input_schema=SCHEMA) for name in (*QUESTIONS, *OTHERS)])


def text(value: object) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(value, ensure_ascii=False))])


async def put(ctx: Context, method: str, params: dict[str, Any]) -> Any:
    """Ask in the way of the handshake era, on the stream of the call."""
    question: Any = Request[dict[str, Any], str](method=method, params=params)
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    try:
        return (await ctx.session.send_request(question, RootModel[dict[str, Any]], metadata=related)).root
    except MCPError as error:
        return {"error": {"code": error.code, "message": error.message}}


async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    try:
        return await answer(ctx, params)
    except anyio.get_cancelled_exc_class():
        gate.give_up()
        raise


async def answer(ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    arguments = params.arguments or {}
    match params.name:
        case "log":
            for number in range(arguments.get("count", 1)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", MCPDeprecationWarning)
                    for level in ("debug", "info", "error"):
                        await ctx.session.send_log_message(level, f"{level} {number}", "curious", ctx.request_id)
            return text("logged")
        case "demand":
            data = {"elicitations": [{"mode": "url", "message": "Sign in.", "url": "https://there.example/"}]}
            raise MCPError(URL_ELICITATION_REQUIRED, "Sign in first.", data)
        case "told":
            meta = (ctx.params or {}).get("_meta", {})
            return text({"meta": meta, "can": meta.get(CLIENT_CAPABILITIES_META_KEY), "level": gate.level})
        case "hold":
            gate.held += 1
            gate.change()
            await gate.open.wait()
            return text("let go")
        case "held":
            while gate.held < arguments.get("count", 0):
                await gate.changed.wait()
            return text(gate.held)
        case "release":
            gate.open.set()
            return text("released")
        case "given_up":
            while gate.given_up < arguments.get("count", 0):
                await gate.changed.wait()
            return text(gate.given_up)
        case "ask_in_vain":
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(put, ctx, "elicitation/create", FORM)
                await gate.open.wait()
                tasks.cancel_scope.cancel()
            return text("taken back")
        case "ask_and_leave":
            # Answered by an error at the latest when the client hears that this call is over.
            gate.questions.add(asyncio.create_task(put(ctx, "elicitation/create", FORM)))
            await gate.open.wait()
            return text("left open")
        case "ask_and_go":
            gate.questions.add(asyncio.create_task(put(ctx, "elicitation/create", FORM)))
            await gate.goes.wait()
            return text("gone")
        case "go":
            gate.goes.set()
            return text("it may go")
        case "ask_at_once" if ctx.session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return text(await together(ctx))
    if ctx.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return modern(params)
    return text([await put(ctx, method, asked) for method, asked in QUESTIONS[params.name]])


async def together(ctx: Context) -> list[Any]:
    answers: dict[str, Any] = {}

    async def one(message: str) -> None:
        answers[message] = await put(ctx, "elicitation/create", {**FORM, "message": message})

    async with anyio.create_task_group() as tasks:
        for message in ("first", "second"):
            tasks.start_soon(one, message)
    return [answers["first"], answers["second"]]


def modern(params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    """One question a round; the state says which have been answered and how. Two at once for `ask_at_once`."""
    done: list[Any] = json.loads(params.request_state) if params.request_state else []
    given = params.input_responses or {}
    said = {key: value.model_dump(by_alias=True, mode="json", exclude_none=True) for key, value in given.items()}
    if params.name == "ask_at_once":
        if said:
            return text([said["first"], said["second"]])
        asked = {
            message: {"method": "elicitation/create", "params": {**FORM, "message": message}}
            for message in ("first", "second")
        }
        return InputRequiredResult.model_validate({"inputRequests": asked})
    done += list(said.values())
    questions = QUESTIONS[params.name]
    if len(done) == len(questions):
        return text(done)
    method, asked_for = questions[len(done)]
    return InputRequiredResult.model_validate(
        {"inputRequests": {"q": {"method": method, "params": asked_for}}, "requestState": json.dumps(done)}
    )


async def set_level(ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
    gate.level = params.level
    return EmptyResult()


server: Server[Any] = Server("curious", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)
server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)


def sse_app() -> Starlette:
    transport = SseServerTransport("/messages/")

    class Stream:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            async with transport.connect_sse(scope, receive, send) as (read, write):
                await run(read, write)
            await Response()(scope, receive, send)

    return Starlette(routes=[Route("/sse", Stream()), Mount("/messages/", app=transport.handle_post_message)])


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await run(read, write)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--http", type=int, metavar="PORT")
    transport.add_argument("--sse", type=int, metavar="PORT")
    parser.add_argument("--handshake-only", action="store_true")
    chosen = parser.parse_args()
    if chosen.handshake_only:
        server.middleware.append(handshake_only)
    if chosen.http is not None:
        listening.serve_http(server.streamable_http_app(), chosen.http)
    elif chosen.sse is not None:
        listening.serve_http(sse_app(), chosen.sse)
    else:
        anyio.run(over_stdio)


if __name__ == "__main__":
    main()
