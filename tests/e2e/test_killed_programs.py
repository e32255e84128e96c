"""A gateway that is killed while it runs a program: what is known of the program afterwards, and what is left of it."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ListToolsResult
from tests.e2e.served import DEADLINE, Served, served
from tests.surfaces.cli.terminal import peer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BOARD = {"servers": {"three": peer("many", "3", trust="open")}, "presentation": "code"}
LONG = "await three.tool_00000(text='a')\nwhile True:\n    pass"
CALLS = "/activity?kind=call"
WORKERS = "pegboard-workers-*"


@pytest.mark.behaviour("code.killed_gateway", "code.killed_leaves_nothing")
async def test_a_program_that_a_killed_gateway_ran_is_accounted_for_after_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with anyio.fail_after(3 * DEADLINE):
        async with served(tmp_path, BOARD) as gateway, anyio.create_task_group() as clients:
            await gateway.until("/tools", holds=lambda body: len(body["tools"]) == 3)
            clients.start_soon(_run, gateway)
            before = await gateway.until(CALLS, holds=lambda body: body["activity"])
            assert [row["name"] for row in before["activity"]] == ["tool_00000"]
            assert len([*temporary.glob(WORKERS)]) == 1
            await gateway.kill()
            clients.cancel_scope.cancel()
        assert len([*temporary.glob(WORKERS)]) == 1
        async with served(tmp_path, BOARD) as gateway:
            rows = await _calls(gateway)
            assert [*temporary.glob(WORKERS)] == []
        async with served(tmp_path, BOARD) as gateway:
            again = await _calls(gateway)
    [program, nested] = rows
    assert (program["name"], program["outcome"]) == ("python_execution", "provider_failed")
    assert "the gateway ended while the program ran" in program["message"]
    assert nested["parentId"] == program["callId"]
    assert again == rows
    assert [*(tmp_path / "data" / "programs").iterdir()] == []


async def _run(gateway: Served) -> None:
    try:
        async with Client(streamable_http_client(gateway.endpoint)) as client:
            listed = await client.list_tools()
            assert isinstance(listed, ListToolsResult)
            await client.call_tool("python_execution", {"code": LONG})
    except Exception:  # noqa: BLE001 - the gateway is killed under it, in whatever words that ends
        return


async def _calls(gateway: Served) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = (await gateway.ask(CALLS))["activity"]
    return records
