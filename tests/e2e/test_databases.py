"""Databases as people use them: a gateway in a process of its own, real clients of either era, a real file."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from tests.e2e.served import DEADLINE, Served, as_stdio, served
from tests.support.shop import customers, shop
from tests.surfaces.cli.terminal import peer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

COUNT = "SELECT city, count(*) AS n FROM customers GROUP BY city ORDER BY city"
LONG = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"


def board(**shop_changes: object) -> dict[str, object]:
    source = {"url": "sqlite:///shop.db", "description": "A shop.", "deny": ["staff"], **shop_changes}
    return {"servers": {"three": peer("many", "3", trust="open")}, "databases": {"shop": source}}


def text(result: object) -> str:
    assert isinstance(result, CallToolResult)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def asked(sql: str, **more: object) -> dict[str, Any]:
    return {"source": "shop", "sql": sql, **more}


async def answered(client: Client, sql: str, **more: object) -> Any:
    result = await client.call_tool("execute_sql", asked(sql, **more))
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text(result)
    return result.structured_content


@pytest.mark.behaviour("databases.tools_while_one_is_on", "builtins.execute_sql_answers", "databases.audited")
@pytest.mark.behaviour("builtins.search_schemas_by_meaning", "databases.structured_answer", "databases.follow_the_file")
async def test_a_question_is_answered_over_http_in_both_eras_and_over_stdio(tmp_path: Path) -> None:
    shop(tmp_path / "shop.db")
    with anyio.fail_after(3 * DEADLINE):
        async with served(tmp_path, board()) as gateway:
            (other := tmp_path / "other").mkdir()
            for way in ("legacy", "2026-07-28", "stdio"):
                stdio = stdio_client(as_stdio(gateway.config, other))
                http = streamable_http_client(gateway.endpoint)
                client = Client(stdio) if way == "stdio" else Client(http, mode=way)
                async with client:
                    listed = [tool.name for tool in (await client.list_tools()).tools]
                    assert listed[:2] == ["execute_sql", "search_schemas"], way
                    told = await answered(client, COUNT)
                    assert (told["rows"], told["truncated"]) == ([["Lyon", 2], ["Paris", 1]], None)
                    found = await client.call_tool("search_schemas", {"query": "orders of a customer"})
                    assert isinstance(found, CallToolResult)
                    assert found.structured_content is not None
                    assert found.structured_content["tables"][0]["table"] == "orders"
                    denied = await client.call_tool("execute_sql", asked("SELECT * FROM staff"))
                    assert "no such table" in text(denied)
            await _recorded(gateway)
            await _switched_off(gateway)


async def _recorded(gateway: Served) -> None:
    """A moment after the call."""

    def is_there(body: Any) -> bool:
        rows = [(row["outcome"], row["message"], COUNT in str(row["arguments"])) for row in body["activity"]]
        return rows.count(("returned", "2 rows of shop.", True)) == 2

    await gateway.until("/activity?tool=execute_sql", holds=is_there)


async def _switched_off(gateway: Served) -> None:
    """While a statement runs: it ends, and its tools are gone."""
    async with Client(streamable_http_client(gateway.endpoint)) as client:
        ended: list[str] = []

        async def ask() -> None:
            ended.append(text(await client.call_tool("execute_sql", asked(LONG))))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            gateway.config.write_text(yaml.safe_dump(board(enabled=False)), "utf-8")
        assert ended
    await gateway.until("/tools", holds=lambda body: "execute_sql" not in {each["id"] for each in body["tools"]})


@pytest.mark.behaviour("databases.tools_while_one_is_on")
async def test_the_tools_are_reached_in_every_presentation_and_narrowed_like_others(tmp_path: Path) -> None:
    shop(tmp_path / "shop.db")
    with anyio.fail_after(3 * DEADLINE):
        async with served(tmp_path, board()) as gateway:
            async with Client(streamable_http_client(f"{gateway.endpoint}/search")) as client:
                asks = {"query": "run sql in a database"}
                found = json.loads(text(await client.call_tool("retrieve_tools", asks)))
                assert "execute_sql" in [tool["name"] for tool in found["tools"]]
                called = await client.call_tool("call_tool", {"name": "execute_sql", "arguments": asked(COUNT)})
                assert "| Lyon | 2 |" in text(called)
            async with Client(streamable_http_client(f"{gateway.endpoint}/meta")) as client:
                called = await client.call_tool("call_tool", {"tool": "execute_sql", "input": asked(COUNT)})
                assert "| Lyon | 2 |" in text(called)
            async with Client(streamable_http_client(f"{gateway.endpoint}/deferred")) as client:
                assert {"execute_sql", "search_schemas"} <= {tool.name for tool in (await client.list_tools()).tools}
            async with Client(streamable_http_client(f"{gateway.endpoint}?toolsets=three")) as client:
                assert "execute_sql" not in {tool.name for tool in (await client.list_tools()).tools}
            async with Client(streamable_http_client(f"{gateway.endpoint}?toolsets=builtin")) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["execute_sql", "search_schemas"]


@pytest.mark.behaviour("databases.writes_confirmed")
async def test_a_write_waits_for_a_person_and_changes_the_file_once(tmp_path: Path) -> None:
    await a_write_is_confirmed(tmp_path, {})


async def a_write_is_confirmed(tmp_path: Path, more: dict[str, object]) -> None:
    file = shop(tmp_path / "shop.db")
    write = asked("UPDATE customers SET name = :password WHERE id = 1", parameters={"password": "Adele"})
    with anyio.fail_after(3 * DEADLINE):
        async with (
            served(tmp_path, {**board(writes=True), **more}) as gateway,
            Client(streamable_http_client(gateway.endpoint)) as client,
        ):
            waiting = text(await client.call_tool("execute_sql", write))
            assert waiting.startswith("confirmation_required: A person must confirm this call of 'execute_sql'")
            tickets = await gateway.ask("/tickets")
            (ticket,) = tickets["tickets"]
            assert ticket["arguments"] == write
            assert customers(file) == ["Ada", "Ben", "Cleo"]
            assert (await gateway.pegboard("tickets", "allow", ticket["id"]))[0] == 0
            done = await client.call_tool("pegboard_ticket", {"ticket": ticket["id"], "wait": 0})
            assert text(done) == "1 row changed."
            assert customers(file) == ["Adele", "Ben", "Cleo"]
            again = await client.call_tool("execute_sql", write)
            assert text(again).startswith("confirmation_required")
            assert (await answered(client, COUNT))["row_count"] == 2
