"""Law 8 on the wire: of a locked tool nothing but its name and status is in any byte that is sent."""

import json
from collections.abc import Iterable
from typing import Any

import anyio
import httpx2
import pytest
from mcp_types import JSONRPCNotification
from tests.surfaces.mcp.places import DEADLINE, ROOT, served, stdio_parameters
from tests.surfaces.mcp.raw import INITIALIZE, ask, handshake, modern
from tests.surfaces.mcp.workshop import SECRET, open_workshop

pytestmark = pytest.mark.anyio
INITIALIZED = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized").model_dump(exclude_none=True)


def probes() -> Iterable[tuple[str, dict[str, Any]]]:
    """Every request by which a client could try to learn more of the vault."""
    yield "tools/list", {}
    yield "tools/list", {"cursor": "YWZ0ZXI6b3Blbl92YXVsdA=="}
    for arguments in ({}, {SECRET[:4]: "x"}, {"word": 7}):
        yield "tools/call", {"name": "open_vault", "arguments": arguments}
    yield "tools/call", {"name": "open_vaul", "arguments": {}}
    yield "tools/call", {"name": "vault__open_vault", "arguments": {}}
    yield "tools/call", {"name": "mcp:vault~vault:open_vault", "arguments": {}}
    yield "server/discover", {}
    yield "prompts/list", {}
    yield "resources/read", {"uri": "mcp:vault~vault:open_vault"}
    yield "nonsense/method", {"name": "open_vault"}


OPTIONS = [
    {},
    {"X-Mcp-Toolsets": "vault"},
    {"X-Mcp-Enabled-Tools": "open_vault"},
    {"X-Mcp-Toolsets": "", "X-Mcp-Enabled-Tools": "mcp:vault~vault:open_vault"},
    {"X-Mcp-Enabled-Tools": "open_vaultt"},
    {"X-Mcp-Disabled-Tools": "vault:open_vault"},
]


@pytest.mark.behaviour("law.withheld_stays_withheld", "law.agents_cannot_widen")
async def test_nothing_of_a_locked_tool_is_in_any_byte_over_http() -> None:
    said: list[bytes] = []
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            session = await handshake(http, url)
            for method, params in probes():
                for options in OPTIONS:
                    answers = [
                        await ask(http, url, method, options, **params),
                        await http.post(
                            url,
                            json={"jsonrpc": "2.0", "id": 5, "method": method, "params": params},
                            headers={**session, **options},
                        ),
                    ]
                    said += [json.dumps([*answer.headers.items()]).encode() + answer.content for answer in answers]
    everything = b"".join(said)
    assert len(said) == 2 * 6 * 12
    assert b"open_vault" in everything
    assert b"pending_approval" in everything
    assert SECRET.encode() not in everything


@pytest.mark.behaviour("law.withheld_stays_withheld")
@pytest.mark.parametrize("mode", ["handshake", "modern"])
async def test_nothing_of_a_locked_tool_is_in_any_byte_over_stdio(mode: str) -> None:
    messages: list[object] = [INITIALIZE, INITIALIZED]
    for number, (method, params) in enumerate(probes(), start=2):
        if mode == "modern":
            messages.append(modern(method, id=number, **params))
        else:
            messages.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    spoken = b"".join(json.dumps(message).encode() + b"\n" for message in messages[2 if mode == "modern" else 0 :])
    parameters = stdio_parameters()
    with anyio.fail_after(DEADLINE):
        finished = await anyio.run_process([parameters.command, *parameters.args], input=spoken, cwd=ROOT)
    answered = {json.loads(line)["id"] for line in finished.stdout.splitlines()}
    assert answered == {*range(1 if mode == "handshake" else 2, 14)}
    assert b"pending_approval" in finished.stdout
    assert SECRET.encode() not in finished.stdout
