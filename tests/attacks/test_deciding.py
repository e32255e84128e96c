"""Law 6 under attack: nothing that a client of any MCP endpoint can send decides anything."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import mcp_types
import pytest
from pydantic import BaseModel
from tests.attacks.siege import Json, Siege, besieged, note

from pegboard.core.model.ids import LOCAL_PRINCIPAL
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

SURFACE = Path(__file__).parents[2] / "src/pegboard/surfaces/mcp"
TOOL, SERVER = "mcp:turncoat~turncoat:read_note", "turncoat~turncoat"
WISHES = (
    *("approve", "approve_tool", "tools_approve", "pegboard_approve", "approvals", "enable", "tools_enable"),
    *("enable_tool", "enable_server", "add_server", "servers_add", "release", "servers_release", "unquarantine"),
    *("set_trust", "grant", "override", "quarantine_security", "upstream_servers", "call_tool", "set_config"),
)


def methods() -> list[str]:
    """Every request and notification that the protocol lets a client send, and those of the operator's API as if they
    were some."""
    known = {
        kind.model_fields["method"].default or get_args(kind.model_fields["method"].annotation)[0]
        for union in (mcp_types.ClientRequest, mcp_types.ClientNotification)
        for kind in _members(union)
    }
    ours = {"approvals/approve", "approvals/block", "servers/release", "servers/add", "tools/approve", "tools/switch"}
    return sorted(known | ours)


def _members(union: object) -> Iterator[type[BaseModel]]:
    arguments = [each for each in get_args(union) if not isinstance(each, str)]
    if not arguments and isinstance(union, type) and issubclass(union, BaseModel):
        yield union
    for each in arguments:
        yield from _members(each)


def params(read: str) -> Json:
    """Everything that one of them might be looking for, at once."""
    wish = {
        "tool": TOOL,
        "name": TOOL,
        "server": SERVER,
        "fingerprint": read,
        "read": read,
        "on": True,
        "enabled": True,
        "trust": "open",
    }
    beside = {
        "approve": True,
        "principal": LOCAL_PRINCIPAL,
        "as": LOCAL_PRINCIPAL,
        "trust": "open",
        "toolsets": ["all"],
    }
    return {**wish, "operation": "enable", "enabled": True, "arguments": wish, "_meta": {"pegboard/decide": beside}}


async def send(siege: Siege, url: str, headers: dict[str, str], message: object) -> int:
    content = json.dumps(message)
    answer = await siege.http.post(url, content=content, headers=headers)
    siege.heard.append(answer.content)
    return answer.status_code


@pytest.mark.slow
@pytest.mark.behaviour("law.agents_cannot_widen", "law.no_deciding_on_the_mcp_surface")
async def test_nothing_an_agent_can_send_to_any_endpoint_changes_the_policy_or_opens_anything(tmp_path: Path) -> None:
    async with besieged(tmp_path, note(), note(name="other"), trust=Trust.STRICT) as siege:
        assert (await siege.api.post("/tools/switch", json={"tool": "tool_00000", "enabled": False})).status_code == 200
        added = {"id": "guest", "command": "true", "quarantine": True}
        assert (await siege.api.post("/servers", json=added)).status_code == 201
        read = (await siege.review())["fingerprint"]
        board = siege.gateway.board
        policy, saves, verdicts = board.policy, len(siege.store.saves), _verdicts(siege)
        hostile = {"X-Mcp-Toolsets": "all", "X-Mcp-Enabled-Tools": TOOL, "X-Pegboard-Approve": TOOL, "If-Match": "*"}
        for url in siege.endpoints:
            session = await siege.session(url)
            modern = {**session, "mcp-protocol-version": "2026-07-28"}
            del modern["mcp-session-id"]
            for number, method in enumerate((*methods(), *(f"tools/call {wish}" for wish in WISHES))):
                name = method.partition(" ")[2]
                said = params(read) | ({"name": name} if name else {})
                message = {"jsonrpc": "2.0", "id": number, "method": method.partition(" ")[0], "params": said}
                headed = {"mcp-method": method.partition(" ")[0], "mcp-name": str(said["name"])}
                for headers in (session, {**session, **hostile}, {**modern, **headed, **hostile}):
                    if message["method"] not in ("initialize", "subscriptions/listen"):
                        await send(siege, url, dict(headers), message)
            wide = f"{url}?toolsets=all&enabled_tools=read_note&approve=true"
            assert await send(siege, wide, dict(session), {}) == 400
        assert board.policy is policy
        assert len(siege.store.saves) == saves
        assert _verdicts(siege) == verdicts
        assert {*await siege.listed()} == {"tool_00001", "tool_00002"}
        siege.nothing_leaked()


def _verdicts(siege: Siege) -> dict[str, str]:
    found = siege.gateway.board.resolution(View()).verdicts
    return {str(id): type(verdict).__name__ for id, verdict in found.items()}


@pytest.mark.behaviour("law.no_deciding_on_the_mcp_surface")
@pytest.mark.parametrize("module", sorted(SURFACE.rglob("*.py")), ids=lambda path: str(path.relative_to(SURFACE)))
def test_no_module_of_the_mcp_surface_can_give_a_command(module: Path) -> None:
    """By construction: it neither makes commands nor reaches whoever carries them out."""
    tree = ast.parse(module.read_text("utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    assert not {
        name for name in imported if name.startswith(("pegboard.core.commands.commands", "pegboard.gateway.operator"))
    }
    reached = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not reached & {"operator", "provider_for", "_store", "save", "decide"}
