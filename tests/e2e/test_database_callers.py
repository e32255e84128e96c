"""Callers with tokens and databases of their own: a gateway in a process of its own, asked in every presentation."""

import hashlib
import re
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from tests.e2e.served import DEADLINE, served
from tests.support.shop import shop

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOKENS = {who: f"{who}-0123456789abcdef" for who in ("sales", "boss", "guest")}
PAY: dict[str, Any] = {"source": "payroll", "sql": "SELECT name FROM customers"}
CALLS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "": (("search_schemas", {"query": "customers"}), ("execute_sql", PAY), ("execute_sql", {**PAY, "source": "shop"})),
    "/meta": (
        ("list_tools", {"toolset": "builtin"}),
        ("get_tool_input_schema", {"toolset": "builtin", "tool": "execute_sql"}),
        ("call_tool", {"toolset": "builtin", "tool": "execute_sql", "input": PAY}),
    ),
    "/search": (
        ("retrieve_tools", {"query": "what people earn"}),
        ("retrieve_tools", {"query": "run sql", "include_disabled": True}),
        ("describe_tool", {"name": "execute_sql"}),
        ("call_tool", {"name": "execute_sql", "arguments": PAY}),
    ),
    "/code": (
        ("tool_search", {"query": "run sql on databases"}),
        ("python_execution", {"code": "print(await builtin.execute_sql(source='payroll', sql='SELECT 1'))"}),
    ),
}


def board() -> dict[str, object]:
    def token(who: str) -> str:
        return hashlib.sha256(TOKENS[who].encode()).hexdigest()

    return {
        "databases": {
            "shop": {"url": "sqlite:///shop.db", "description": "A shop."},
            "payroll": {"url": "sqlite:///shop.db", "description": "What people earn: salaries.", "writes": True},
        },
        "principals": {
            "sales": {"token_sha256": token("sales"), "databases": ["shop"]},
            "boss": {"token_sha256": token("boss")},
            "guest": {"token_sha256": token("guest"), "databases": []},
        },
    }


async def told(endpoint: str, who: str, way: str) -> str:
    """All that this caller reads of the tools and of calls that name a database of others."""
    headers = {"authorization": f"Bearer {TOKENS[who]}"}
    said: list[str] = []
    async with (
        httpx2.AsyncClient(headers=headers, timeout=DEADLINE) as http,
        Client(streamable_http_client(f"{endpoint}{way}", http_client=http)) as client,
    ):
        listed = (await client.list_tools()).tools
        said.append(repr(listed))
        for name, arguments in CALLS[way]:
            if name in [tool.name for tool in listed]:
                result = await client.call_tool(name, arguments)
                assert isinstance(result, CallToolResult)
                said.append(repr(result))
    return "\n".join(said)


OWN_WORDS = re.compile(r"source='payroll'|\\*\"payroll\\*\" is no value of `source`")
"""What the callers wrote themselves, and are told again: so is any other name that no database of theirs has."""


@pytest.mark.behaviour("databases.limited_by_caller", "principals.the_caller_is_the_principal")
async def test_in_no_presentation_a_caller_reads_of_a_database_that_it_may_not_ask(tmp_path: Path) -> None:
    shop(tmp_path / "shop.db")
    with anyio.fail_after(3 * DEADLINE):
        async with served(tmp_path, board()) as gateway:
            by_way = {way: {who: await told(gateway.endpoint, who, way) for who in TOKENS} for way in CALLS}
    for way, read in by_way.items():
        assert "payroll" in read["boss"], way
        assert "shop" in read["sales"], way
        for who in ("sales", "guest"):
            assert "payroll" not in OWN_WORDS.sub("", read[who]), (way, who)
            assert "salaries" not in read[who], (way, who)
        of_guest = read["guest"].replace("builtin.execute_sql", "").replace("'execute_sql'", "")
        assert "execute_sql" not in of_guest, way
