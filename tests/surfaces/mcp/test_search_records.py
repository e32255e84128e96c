"""What the search presentation leaves in the audit: each call once, as what it was, and by whom."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp_types import Implementation
from tests.store.engines import now
from tests.surfaces.mcp.places import DEADLINE, MODES
from tests.surfaces.mcp.workshop import Workshop, open_workshop

from pegboard.core.calls.call import CallCancellation, CallRecord, ToolSuccess
from pegboard.core.model.ids import LOCAL_PRINCIPAL, BuiltinKey, ToolId
from pegboard.ports.audit import AuditQuery
from pegboard.store.call_records import ContentRetention
from pegboard.store.open import open_store
from pegboard.surfaces.mcp.presentations.search import SearchPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def searching(
    workshop: Workshop, mode: str = MODES[0], ready: anyio.Event | None = None
) -> AsyncIterator[Client]:
    server = GatewayMcpServer(workshop.gateway, presentation=SearchPresentation(workshop.gateway, ready)).server
    who = Implementation(name="finder", version="1.0")
    async with Client(InMemoryTransport(server), mode=mode, client_info=who) as client:
        yield client


def told(record: CallRecord) -> tuple[str, str, str, str, str]:
    call = record.call
    return call.name, str(record.tool), type(record.outcome).__name__, call.presentation, call.client


@pytest.mark.behaviour("search.recorded", "audit.every_call")
@pytest.mark.parametrize("mode", MODES)
async def test_each_call_leaves_one_record_as_what_it_was(mode: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, searching(workshop, mode) as client:
            await client.call_tool("retrieve_tools", {"query": "say it again"})
            await client.call_tool("call_tool", {"name": "echo", "arguments": {"text": "hi"}})
            await client.call_tool("call_tool", {"name": "mcp:bench~bench:add", "arguments": {"a": 1, "b": 2}})
            await client.call_tool("call_tool", {"name": "open_vault"})
            await client.call_tool("call_tool", {"name": "nobody"})
            await client.call_tool("call_tool", {"arguments": {}})
            await client.call_tool("upstream_servers", {})
            await client.call_tool("upstream_servers", {"operation": "add"})
            await client.call_tool("echo", {"text": "x"})
            records = workshop.audit.records
            version = workshop.gateway.board.policy.version
    shown = ("search", "finder 1.0")
    assert [told(record) for record in records] == [
        ("retrieve_tools", "retrieve_tools", "ToolSuccess", *shown),
        ("echo", "mcp:bench~bench:echo", "ToolSuccess", *shown),
        ("mcp:bench~bench:add", "mcp:bench~bench:add", "ToolSuccess", *shown),
        ("open_vault", "mcp:vault~vault:open_vault", "LockedToolRefusal", *shown),
        ("nobody", "None", "UnknownTool", *shown),
        ("call_tool", "call_tool", "BadArguments", *shown),
        ("upstream_servers", "upstream_servers", "ToolSuccess", *shown),
        ("upstream_servers", "upstream_servers", "BadArguments", *shown),
        ("echo", "None", "UnknownTool", *shown),
    ]
    assert {(record.call.principal, record.policy_version) for record in records} == {(LOCAL_PRINCIPAL, version)}
    assert len({record.call.id for record in records}) == len(records)
    assert [record.duration > timedelta() for record in records] == [
        isinstance(record.outcome, ToolSuccess) for record in records
    ]


@pytest.mark.behaviour("search.recorded")
async def test_a_search_that_its_client_gives_up_is_recorded_as_given_up() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, searching(workshop, ready=anyio.Event()) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "retrieve_tools", {"query": "glue"})
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            while not workshop.audit.records:
                await anyio.lowlevel.checkpoint()
            (record,) = workshop.audit.records
    retrieve = ToolId(BuiltinKey(), "retrieve_tools")
    assert (record.call.name, record.tool, record.outcome) == ("retrieve_tools", retrieve, CallCancellation())


@pytest.mark.behaviour("search.recorded", "audit.content_redacted", "audit.content_bounded")
async def test_a_kept_query_is_redacted_by_the_rule_and_cut(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, searching(workshop) as client:
            await client.call_tool("retrieve_tools", {"query": f"push with {secret}"})
            await client.call_tool("retrieve_tools", {"query": "long " * 390})
            await client.call_tool("upstream_servers", {})
            records = tuple(workshop.audit.records)
    url = f"sqlite:///{tmp_path / 'pegboard.db'}"
    async with open_store(url, clock=now, keeping=ContentRetention(arguments=True)) as store:
        for record in records:
            store.audit.record(record)
        servers, long, hidden = await store.audit.rows(AuditQuery())
    assert hidden.arguments == '{"query": "push with [hidden: 40 characters]"}'
    assert long.arguments is not None
    assert 900 < len(long.arguments) < 1_200
    assert (long.argument_bytes > 1_950, (long.argument_tokens or 0) > 100) == (True, True)
    for row in (servers, long, hidden):
        assert (row.kind, row.outcome, row.presentation) == ("call", "returned", "search")
        assert (row.duration_us > 0, row.result_bytes > 0, bool(row.result_tokens)) == (True, True, True)
    async with open_store(f"{url}.bare", clock=now) as bare:
        bare.audit.record(records[0])
        (row,) = await bare.audit.rows(AuditQuery())
    assert row.arguments is None
