"""Databases of servers as people use them: a gateway in a process of its own, and a real client asking through it."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from tests.e2e.served import DEADLINE, served
from tests.providers.database import mysql_shop, postgres_shop

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ENDLESS = "SELECT count(*) AS endless FROM orders a, orders b, orders c, orders d, orders e"
BY_CITY = "SELECT city, count(*) AS n FROM customers GROUP BY city ORDER BY n, city"


@pytest.mark.behaviour("builtins.execute_sql_answers", "builtins.search_schemas_by_meaning", "databases.closed_columns")
@pytest.mark.behaviour("databases.secrets_unseen", "databases.cancelled", "databases.cancel_reaches_the_server")
async def test_postgresql_is_searched_asked_and_left_alone_through_the_gateway(
    shop: postgres_shop.Shop, tmp_path: Path
) -> None:
    question = f"SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '{ENDLESS[:25]}%'"

    async def running() -> int:
        return int((await shop.outside(question))[0][0])

    url = await shop.login("gateway", postgres_shop.access("secret", "people.ssn"))
    await asked_through_the_gateway(tmp_path, url, running)


@pytest.mark.behaviour("builtins.execute_sql_answers", "builtins.search_schemas_by_meaning", "databases.closed_columns")
@pytest.mark.behaviour("databases.secrets_unseen", "databases.cancelled", "databases.cancel_reaches_the_server")
async def test_mariadb_is_searched_asked_and_left_alone_through_the_gateway(
    mysql: mysql_shop.Shop, tmp_path: Path
) -> None:
    question = f"SELECT count(*) FROM information_schema.processlist WHERE info LIKE '{ENDLESS[:25]}%'"

    async def running() -> int:
        return int((await anyio.to_thread.run_sync(mysql.outside, question))[0][0])

    url = await mysql.login(mysql_shop.access("secret", "people.ssn"))
    await asked_through_the_gateway(tmp_path, url, running)


async def asked_through_the_gateway(folder: Path, url: str, running: Callable[[], Awaitable[int]]) -> None:
    (folder / "password").write_text("reads\n", "utf-8")
    (folder / "password").chmod(0o600)
    by_reference = url.replace(":reads@", ":${file:password}@")
    source = {"url": by_reference, "description": "A shop.", "deny": ["secret", "people.ssn"], "timeout": "100s"}
    with anyio.fail_after(3 * DEADLINE):
        async with (
            served(folder, {"databases": {"shop": source}}) as gateway,
            Client(streamable_http_client(gateway.endpoint)) as client,
        ):
            assert [tool.name for tool in (await client.list_tools()).tools] == ["execute_sql", "search_schemas"]
            found = await structured(client, "search_schemas", {"query": "names of people"})
            people = next(table for table in found["tables"] if table["table"] == "people")
            assert [column["name"] for column in people["columns"]] == ["id", "name", "city"]
            assert "ssn" not in str(found)
            assert "secret" not in str(found)
            told = await structured(client, "execute_sql", {"source": "shop", "sql": BY_CITY})
            assert told["rows"] == [["Bonn", 25], ["Köln", 25]]
            denied, missing = [await words(client, f"SELECT {column} FROM people") for column in ("ssn", "snn")]
            assert denied.replace("ssn", "snn") == missing
            shut, absent = [await words(client, f"SELECT word FROM {table}") for table in ("secret", "sacred")]
            assert shut.replace("secret", "sacred") == absent
            await given_up(client, running)
            assert (await structured(client, "execute_sql", {"source": "shop", "sql": BY_CITY}))["row_count"] == 2


async def given_up(client: Client, running: Callable[[], Awaitable[int]]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "execute_sql", {"source": "shop", "sql": ENDLESS})
        await until(running, 1)
        tasks.cancel_scope.cancel()
    await until(running, 0)


async def until(running: Callable[[], Awaitable[int]], wanted: int) -> None:
    while await running() != wanted:  # noqa: ASYNC110 - the server tells nobody; the test's own deadline ends it
        await anyio.sleep(0.05)


async def structured(client: Client, tool: str, arguments: Mapping[str, object]) -> Any:
    result = await client.call_tool(tool, dict(arguments))
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result
    return result.structured_content


async def words(client: Client, sql: str) -> str:
    """Of a statement that fails."""
    result = await client.call_tool("execute_sql", {"source": "shop", "sql": sql})
    assert isinstance(result, CallToolResult)
    assert result.is_error, result
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text
