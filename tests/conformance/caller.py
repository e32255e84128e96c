"""The client that the suite starts when it plays the server: it calls through a gateway whose only server is the suite.

python -m tests.conformance.caller [--alone] ADDRESS    the suite adds the address, and says the rest by its environment

What the suite then sees and judges is the gateway in its other part, as a client of servers. `--alone` leaves the
gateway out, for comparison.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    TextContent,
    Tool,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from tests.conformance.ways import is_up
from tests.e2e.served import Served, served

DEADLINE: Final = 60
MADE_UP: Final[Mapping[str, Any]] = {
    "string": "peg",
    "integer": 3,
    "number": 5,
    "boolean": True,
    "object": {},
    "array": [],
    "null": None,
}
ECHO_OF_A_SCHEMA: Final = "schema"


async def fill_in_defaults(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert isinstance(params, ElicitRequestFormParams)
    fields: Mapping[str, Mapping[str, Any]] = params.requested_schema["properties"]
    return ElicitResult(
        action="accept", content={name: each.get("default", MADE_UP[each["type"]]) for name, each in fields.items()}
    )


async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="A peg."), model="none")


async def list_roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[])


def told() -> dict[str, Any]:
    """What the suite says beside the name of its scenario."""
    found: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    return found


@asynccontextmanager
async def reached(address: str, *, alone: bool) -> AsyncIterator[str]:
    if alone:
        yield address
        return
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        server: dict[str, Any] = {"url": address, "trust": "open"}
        if "client_id" in told():
            server["oauth"] = {key: told()[key] for key in ("client_id", "client_secret")}
        board = {"servers": {"suite": server}}
        async with served(Path(folder), board) as gateway:
            with anyio.fail_after(DEADLINE):
                await signed_in(gateway)
            yield gateway.endpoint


async def signed_in(gateway: Served) -> None:
    """A server that wants a sign-in is a state with a link: followed as by a browser whose user agrees to anything."""
    followed: set[str] = set()

    def settled(body: Any) -> bool:
        return is_up(body) or _link(body) not in {None, *followed}

    while (link := _link(await gateway.until("/servers", holds=settled))) is not None:
        followed.add(link)
        async with httpx2.AsyncClient(follow_redirects=True, timeout=DEADLINE) as browser:
            await browser.get(link)


def _link(body: Any) -> str | None:
    states = [server["health"] for server in body["servers"]]
    return next((state["url"] for state in states if state["state"] == "needs_sign_in"), None)


def arguments_for(tool: Tool, others: Mapping[str, Tool]) -> dict[str, Any]:
    """What the schema asks for; a tool that wants a schema gets that of another tool, as it was listed."""
    fields: Mapping[str, Mapping[str, Any]] = tool.input_schema.get("properties", {})
    made = {name: MADE_UP[fields[name].get("type", "string")] for name in tool.input_schema.get("required", ())}
    if ECHO_OF_A_SCHEMA in made:
        made[ECHO_OF_A_SCHEMA] = next(each.input_schema for each in others.values() if each.name != tool.name)
    return made


async def call_one(client: Client, name: str, arguments: dict[str, Any]) -> None:
    """What comes back is the suite's business: some of its answers are not meant to be taken."""
    try:
        print(name, await client.call_tool(name, arguments), file=sys.stderr)
    except (MCPError, ValidationError) as refused:
        print(name, repr(refused), file=sys.stderr)


async def call_everything(client: Client) -> None:
    """Every tool once, or what the suite names; and whatever else the server offers."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    calls = told().get("toolCalls") or [
        {"name": name, "arguments": arguments_for(tool, tools)} for name, tool in tools.items()
    ]
    async with anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(call_one, client, call["name"], call["arguments"])
    if client.server_capabilities.resources is not None:
        for resource in (await client.list_resources()).resources:
            await client.read_resource(resource.uri)
    if client.server_capabilities.prompts is not None:
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("address")
    chosen = parser.parse_args()
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "auto")
    mode = "legacy" if version in HANDSHAKE_PROTOCOL_VERSIONS else "auto"
    with anyio.fail_after(2 * DEADLINE):
        async with (
            reached(chosen.address, alone=chosen.alone) as address,
            Client(
                address,
                mode=mode,
                elicitation_callback=fill_in_defaults,
                sampling_callback=sample,
                list_roots_callback=list_roots,
            ) as client,
        ):
            await call_everything(client)


if __name__ == "__main__":
    anyio.run(main)
