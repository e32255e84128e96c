"""A well-behaved MCP server on the official SDK, with one tool for each thing a gateway has to carry.

python tests/servers/everyday.py               over stdio
python tests/servers/everyday.py --http 0      streamable HTTP at /mcp; the free port is told on stderr as `PORT n`
python tests/servers/everyday.py --sse 0       the older SSE transport at /sse; likewise
… --handshake-only                             over HTTP and SSE: no server/discover, as with servers before 2026
"""

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from tests.servers import listening
else:
    import listening

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ECHO_DESCRIPTION = "Give the text back as it came."
LARGEST_BODY = 64 * 2**20
FILES = {"notes/hello.txt": "Hello, peg.\n", "notes/größe.txt": "Grüße aus dem Regal.\n"}
# The smallest valid PNG: one transparent pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000a49444154789c6300010000050001"
    "0d0a2db40000000049454e44ae426082"
)


class Sum(BaseModel):
    total: int = Field(description="a + b")


class Process(BaseModel):
    pid: int
    cwd: str
    arguments: list[str]


class Stop(BaseModel):
    city: str = Field(min_length=1)
    nights: int = Field(default=1, ge=0)
    detours: list["Stop"] = []


class Trip(BaseModel):
    traveller: str
    stops: list[Stop] = Field(min_length=1)


class Cancellations:
    """How many sleepy calls were cancelled so far, and a way to wait for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self._happened = anyio.Event()

    def add(self) -> None:
        self.count += 1
        self._happened.set()
        self._happened = anyio.Event()

    async def reach(self, count: int) -> None:
        while self.count < count:
            await self._happened.wait()


async def advertise_list_changed(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """The SDK leaves `tools.listChanged` false in the handshake, though this server does send it."""
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        result["capabilities"]["tools"]["listChanged"] = True
    return result


server = MCPServer("everyday", version="1.0.0", log_level="WARNING", middleware=[advertise_list_changed])
cancelled = Cancellations()
grown: list[str] = []


async def tell_list_changed(ctx: Context) -> None:
    await ctx.notify_tools_changed()
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        await ctx.session.send_tool_list_changed()


def echo(text: str) -> str:
    return text


server.add_tool(echo, title="Echo", description=ECHO_DESCRIPTION, annotations=READS, structured_output=False)


@server.tool(title="Add", description="Add two whole numbers.", annotations=READS)
def add(a: int, b: int) -> Sum:
    return Sum(total=a + b)


@server.tool(description="Wait, telling progress from 0 to 1 on the way.", annotations=READS, structured_output=False)
async def sleepy(ctx: Context, seconds: Annotated[float, Field(ge=0)], steps: Annotated[int, Field(ge=1)] = 4) -> str:
    try:
        await ctx.report_progress(0, 1, "asleep")
        for step in range(1, steps + 1):
            await anyio.sleep(seconds / steps)
            await ctx.report_progress(step / steps, 1)
    except anyio.get_cancelled_exc_class():
        cancelled.add()
        raise
    return f"slept {seconds:g} s"


@server.tool(description="Wait until this many sleepy calls were cancelled, then say how many were.", annotations=READS)
async def cancellations(at_least: int = 0) -> int:
    await cancelled.reach(at_least)
    return cancelled.count


@server.tool(description="Fail with this message.", structured_output=False)
def fail(message: str) -> str:
    raise ToolError(message)


@server.tool(name="big", description="A text of this many bytes.", annotations=READS, structured_output=False)
def big_text(bytes: Annotated[int, Field(ge=0, le=100_000_000)]) -> str:
    return "x" * bytes


@server.tool(description="The names of this process's environment variables, or the value of one.", annotations=READS)
def env(name: str = "") -> list[str]:
    if not name:
        return sorted(os.environ)
    return [os.environ[name]] if name in os.environ else []


@server.tool(description="The HTTP headers this call came with; none over stdio.", annotations=READS)
def headers(ctx: Context) -> dict[str, str]:
    return dict(ctx.headers or {})


@server.tool(description="Which process answers, and where it runs.", annotations=READS)
def whoami() -> Process:
    return Process(pid=os.getpid(), cwd=os.getcwd(), arguments=sys.argv[1:])


@server.tool(description="Count the nights of a trip, detours and all.", annotations=READS)
def count_nights(trip: Trip) -> int:
    def nights(stops: list[Stop]) -> int:
        return sum(stop.nights + nights(stop.detours) for stop in stops)

    return nights(trip.stops)


@server.tool(name="files.read", title="Read a file", description="Read one of two files.", structured_output=False)
def read(path: str) -> str:
    if path not in FILES:
        raise ToolError(f"no file {path!r}; there are {', '.join(FILES)}")
    return FILES[path]


@server.tool(description="One transparent pixel as an image.", annotations=READS)
def picture() -> Image:
    return Image(data=PIXEL, format="png")


@server.tool(description="Add a tool and say that the list changed.", structured_output=False)
async def grow(ctx: Context) -> str:
    name = f"grown_{len(grown) + 1}"
    grown.append(name)
    server.add_tool(lambda: name, name=name, description=f"Say {name}.", structured_output=False)
    await tell_list_changed(ctx)
    return name


@server.tool(description="Remove the tool that grew last and say that the list changed.", structured_output=False)
async def shrink(ctx: Context) -> str:
    if not grown:
        raise ToolError("nothing has grown yet; call grow first")
    name = grown.pop()
    server.remove_tool(name)
    await tell_list_changed(ctx)
    return name


@server.tool(description="Change the description of echo and say that the list changed.", structured_output=False)
async def rename_description(ctx: Context, description: str = "Give the text back, with feeling.") -> str:
    server.remove_tool("echo")
    server.add_tool(echo, title="Echo", description=description, annotations=READS, structured_output=False)
    await tell_list_changed(ctx)
    return description


class HandshakeOnly:
    """Turns the first question of the new era away, as a server does that has never heard of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        first = await receive()
        if b'"server/discover"' in first.get("body", b""):
            await Response("Bad Request: no such method", 400)(scope, receive, send)
            return
        waiting = [first]

        async def receive_again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, receive_again, send)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--http", type=int, metavar="PORT")
    transport.add_argument("--sse", type=int, metavar="PORT")
    parser.add_argument("--handshake-only", action="store_true")
    chosen = parser.parse_args()
    era: Callable[[ASGIApp], ASGIApp] = HandshakeOnly if chosen.handshake_only else lambda app: app
    if chosen.http is not None:
        listening.serve_http(era(server.streamable_http_app(max_request_body_size=LARGEST_BODY)), chosen.http)
    elif chosen.sse is not None:
        listening.serve_http(era(server.sse_app(max_request_body_size=LARGEST_BODY)), chosen.sse)
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()
