"""A whole gateway in this process with a DocSpace on its board, and the ways to it."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import yaml
from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.docspace.stand_in import ADA_KEY, StandIn
from tests.surfaces.mcp.doubles import MemoryAudit
from tests.surfaces.mcp.places import served
from tests.surfaces.mcp.workshop import Workshop

from pegboard.bootstrap.application import Application, open_application
from pegboard.config.settings import Settings, load_settings_file
from pegboard.surfaces.mcp.endpoint import McpPaths

PATIENCE = 60.0
FIELDS = {"filters": {"fields": ["title"]}}


def said_of(docspace: StandIn, **more: object) -> dict[str, object]:
    """Ada's, by her key."""
    return {"base_url": docspace.url, "api_key": "${file:key}", **more}


@asynccontextmanager
async def housed(folder: Path, docspace: Mapping[str, object] | None, **more: object) -> AsyncIterator[Application]:
    """With this under `docspace`, if anything, and this beside it; everything has answered."""
    (folder / "key").write_text(f"{ADA_KEY}\n")
    config = folder / "pegboard.yaml"
    config.write_text(yaml.safe_dump({**({} if docspace is None else {"docspace": dict(docspace)}), **more}))
    settings = load_settings_file(config)
    assert isinstance(settings, Settings), str(settings)
    with anyio.fail_after(PATIENCE):
        async with open_application(folder / "data", settings, lambda key, id: True, follow=False) as house:
            assert await house.gateway.board.wait_until_started(PATIENCE)
            yield house


@asynccontextmanager
async def listening(house: Application) -> AsyncIterator[str]:
    """The address of its endpoint."""
    app = McpPaths(house.gateway, key=lambda: b"0" * 32)
    async with served(Workshop(house.gateway, MemoryAudit()), app=app) as url:
        yield url


def text_of(result: object) -> str:
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def titles(result: object) -> list[str]:
    """Of the folders that an answer of DocSpace has."""
    return [folder["title"] for folder in json.loads(text_of(result))["response"]["folders"]]


async def rooms(client: Client) -> list[str]:
    return titles(await client.call_tool("get_rooms_folder", {"filters": {"fields": ["folders.title"]}}))


def body(result: object) -> Any:
    return json.loads(text_of(result))
