"""The tools of a DocSpace as a client has them: a whole gateway in this process, over HTTP, before the stand-in."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.docspace.boards import housed, said_of
from tests.docspace.stand_in import ADA, StandIn, World, stand_in
from tests.surfaces.mcp.doubles import MemoryAudit
from tests.surfaces.mcp.places import http_client, served
from tests.surfaces.mcp.workshop import Workshop

from pegboard.bootstrap.application import Application
from pegboard.bootstrap.serve import make_request_checks
from pegboard.surfaces.mcp.endpoint import McpPaths

PATIENCE = 60.0


@dataclass(frozen=True)
class Said:
    """What a call came to."""

    text: str
    is_error: bool
    structured: Any

    @property
    def response(self) -> Any:
        assert not self.is_error, self.text
        return json.loads(self.text)["response"]


@dataclass(frozen=True)
class Desk:
    """Ada at her gateway."""

    docspace: StandIn
    client: Client

    @property
    def world(self) -> World:
        return self.docspace.worlds[ADA]

    async def call(self, tool: str, /, **arguments: Any) -> Said:
        return said(await self.client.call_tool(tool, arguments))

    def asked(self) -> list[str]:
        """What the API was asked since this was asked last, without the address that it all has in common."""
        lines = [line.replace("/api/2.0/", "", 1) for line in self.docspace.lines()]
        self.docspace.seen.clear()
        return lines


def said(result: object) -> Said:
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return Said(content.text, bool(result.is_error), result.structured_content)


@asynccontextmanager
async def reached(house: Application) -> AsyncIterator[str]:
    """Its endpoint, behind the very door that `pegboard serve` has."""
    app = McpPaths(house.gateway, make_request_checks(house, "http://127.0.0.1"), key=lambda: b"0" * 32)
    async with served(Workshop(house.gateway, MemoryAudit()), app=app) as url:
        yield url


@asynccontextmanager
async def at_the_desk(folder: Path, **settings: object) -> AsyncIterator[Desk]:
    """`settings` go under `docspace`."""
    with anyio.fail_after(PATIENCE):
        async with (
            stand_in() as docspace,
            housed(folder, said_of(docspace, **settings)) as house,
            reached(house) as url,
            http_client(url) as client,
        ):
            docspace.worlds[ADA].polls = 1
            yield Desk(docspace, client)
