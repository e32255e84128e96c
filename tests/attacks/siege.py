"""A gateway with a malicious server behind it: a real process, a real client at the door, an operator at the API."""

import json
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
from tests.servers.peers import warm_command
from tests.support.doubles import MemoryAudit, MemoryStore
from tests.support.house import told
from tests.support.sign_ins import ScriptedSignIns
from tests.surfaces.mcp.doubles import MemoryAudit as WorkshopAudit
from tests.surfaces.mcp.places import served
from tests.surfaces.mcp.raw import ask, handshake
from tests.surfaces.mcp.workshop import Workshop
from tests.surfaces.rest.desk import ABOUT, TOKEN

from pegboard.bootstrap.environment import now
from pegboard.config.references import expander_for_callers
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt, Server, Stdio, Trust
from pegboard.core.model.tool import Tool, canonical_json
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.access.tokens import hash_token
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.providers.mcp import mcp_provider
from pegboard.providers.mcp.discovery import parse_tools
from pegboard.surfaces.mcp.endpoint import DEFAULT_PATH, McpPaths
from pegboard.surfaces.rest.app import rest_app

DEADLINE = 90.0
MARKER = "xyzzy-the-planted-marker"
"""Stands in whatever the server says that nobody has approved. No agent may ever receive it."""

Json = dict[str, Any]


def key(name: str) -> ServerKey:
    return ServerKey(ToolsetId(name), ServerId(name))


TURNCOAT, HONEST = key("turncoat"), key("honest")


def note(**changes: object) -> Json:
    """The tool that people approve, or what becomes of it."""
    return {
        "name": "read_note",
        "title": "Read",
        "description": "Reads a note.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where it is."},
                "filter": {"$ref": "#/$defs/Filter"},
                "limit": {"type": "number", "default": 1},
                "sort": {"enum": ["newest", "oldest"]},
            },
            "$defs": {"Filter": {"type": "object", "properties": {"by": {"type": "string", "description": "A word."}}}},
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
        **changes,
    }


def schema_with(place: Sequence[str], value: object) -> Json:
    """The note's input schema with another value at one place."""
    schema: Json = json.loads(json.dumps(note()["inputSchema"]))
    inner = schema
    for step in place[:-1]:
        inner = inner.setdefault(step, {})
    inner[place[-1]] = value
    return schema


@dataclass(frozen=True)
class Face:
    """One more malicious server beside the first: what it shows, and how far it is trusted."""

    tools: tuple[Json, ...]
    trust: Trust = Trust.BASELINE
    quarantined: bool = False
    marker: str = ""


@dataclass
class Siege:
    gateway: Gateway
    store: MemoryStore
    file: Path
    mcp: str
    endpoints: tuple[str, ...]
    """Every address at which a client can reach the gateway, this one among them."""
    http: httpx2.AsyncClient
    api: httpx2.AsyncClient
    marker: str
    """What its prompts, resources, instructions and log lines carry."""
    heard: list[bytes] = field(default_factory=list[bytes])
    """Every byte that an agent was sent."""

    def id(self, name: str = "read_note", server: ServerKey = TURNCOAT) -> ToolId:
        return ToolId(server, name)

    def status(self, name: str = "read_note", server: ServerKey = TURNCOAT) -> str | None:
        verdict = self.gateway.board.resolution(View()).verdicts.get(self.id(name, server))
        return None if verdict is None else told(verdict)

    def write(self, **state: object) -> None:
        other = self.file.with_suffix(".next")
        other.write_text(json.dumps({"marker": self.marker, **state}), "utf-8")
        other.replace(self.file)

    def announce(self) -> None:
        os.kill(int(self.file.with_suffix(".pid").read_text()), signal.SIGUSR1)

    async def until(self, holds: Any) -> None:
        with anyio.fail_after(DEADLINE), self.gateway.board.changes.subscribe() as bell:
            while not holds():
                await bell.wait()

    async def become(self, *tools: Json) -> None:
        """The server turns into this, and the gateway has heard of it."""
        self.write(tools=tools)
        self.announce()
        expected = [_shown(tool) for tool in parse_tools(tools, TURNCOAT).tools]
        await self.until(lambda: self.shown() == expected)

    def shown(self) -> list[tuple[str, bytes]]:
        return [_shown(tool) for tool in self.gateway.board.catalogue.listings[TURNCOAT].tools]

    async def ask(self, method: str, headers: Mapping[str, str] | None = None, **params: Any) -> Any:
        answer = await ask(self.http, self.mcp, method, headers, **params)
        self.heard.append(json.dumps([*answer.headers.items()]).encode() + answer.content)
        return answer.json()

    async def call(self, name: str, **arguments: object) -> str:
        """What an agent reads when it calls a tool."""
        answer = await self.ask("tools/call", name=name, arguments=arguments)
        return str(answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"])

    async def listed(self) -> dict[str, Json]:
        return {tool["name"]: tool for tool in (await self.ask("tools/list"))["result"]["tools"]}

    async def session(self, endpoint: str | None = None) -> dict[str, str]:
        return await handshake(self.http, endpoint or self.mcp)

    async def review(self, tool: str = "read_note") -> Json:
        answer = await self.api.get("/approvals/show", params={"tool": str(self.id(tool))})
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def approve(self, read: Json) -> httpx2.Response:
        tools = [{"tool": read["id"], "fingerprint": read["fingerprint"]}]
        return await self.api.post("/approvals/approve", json={"tools": tools})

    def nothing_leaked(self) -> None:
        assert self.heard
        assert MARKER.encode() not in b"".join(self.heard)


def _beside(mcp: str, paths: McpPaths) -> tuple[str, ...]:
    return tuple(mcp.removesuffix(DEFAULT_PATH) + path for path in paths.paths)


def _shown(tool: Tool) -> tuple[str, bytes]:
    return tool.spec.fingerprint, canonical_json(tool.extra)


def server(at: ServerKey, trust: Trust, *words: str, quarantined: bool = False) -> Server:
    executable, *rest = words
    origin = DeclaredAt("pegboard.yaml", 1)
    return Server(at, Stdio(executable, tuple(rest)), origin, trust=trust, quarantined=quarantined)


def _turncoat(folder: Path, name: str, face: Face) -> Server:
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"tools": face.tools, "marker": face.marker}), "utf-8")
    return server(key(name), face.trust, *warm_command("turncoat", str(file)), quarantined=face.quarantined)


@asynccontextmanager
async def besieged(
    folder: Path,
    *tools: Json,
    trust: Trust = Trust.BASELINE,
    quarantined: bool = False,
    store: MemoryStore | None = None,
    marker: str = MARKER,
    others: Mapping[str, Face] | None = None,
) -> AsyncIterator[Siege]:
    file, store = folder / "turncoat.json", store or MemoryStore()
    honest = warm_command("many", "3")
    faces = {"turncoat": Face(tools or (note(),), trust, quarantined, marker), **(others or {})}
    servers = (*(_turncoat(folder, name, face) for name, face in faces.items()), server(HONEST, Trust.OPEN, *honest))
    declared = DeclaredSettings(
        servers={each.key: each for each in servers},
        toolsets={each.key.toolset: Toolset(each.key.toolset, each.origin) for each in servers},
    )
    expand = expander_for_callers({}, folder)

    with anyio.fail_after(2 * DEADLINE):
        async with open_gateway(
            declared, store, MemoryAudit(), lambda each: mcp_provider(each, expand, now), now
        ) as gateway:
            assert await gateway.board.wait_until_started(DEADLINE)
            paths = McpPaths(gateway)
            app = rest_app(gateway, ABOUT, hash_token(TOKEN), ScriptedSignIns)
            async with (
                served(Workshop(gateway, WorkshopAudit()), app=paths) as mcp,
                httpx2.AsyncClient(timeout=DEADLINE) as http,
                httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app),
                    base_url="http://127.0.0.1/api/v1",
                    headers={"authorization": f"Bearer {TOKEN}"},
                    timeout=DEADLINE,
                ) as api,
            ):
                yield Siege(gateway, store, file, mcp, _beside(mcp, paths), http, api, marker)
