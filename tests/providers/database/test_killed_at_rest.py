"""A gateway that is killed while its connections to a server rest: what it leaves there, which is nothing."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.e2e.served import DEADLINE, served
from tests.providers.database import postgres_shop
from tests.providers.database.test_through_gateway import structured

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ASKED = "SELECT count(*) AS n FROM orders a, orders b, customers c"
States = Callable[[], Awaitable[list[str]]]
"""Of each connection of the gateway's role: what it does, and what it holds."""


@pytest.mark.behaviour("databases.killed_gateway")
async def test_a_killed_gateway_leaves_none_of_its_resting_connections_in_postgresql(
    shop: postgres_shop.Shop, tmp_path: Path
) -> None:
    role = shop.reader.split("//")[1].split(":")[0]
    question = (
        "SELECT a.state || ' ' || (SELECT count(*) FROM pg_locks l WHERE l.pid = a.pid)"
        f" || coalesce(' ' || a.xact_start::text, '') FROM pg_stat_activity a WHERE a.usename = '{role}'"
    )

    async def states() -> list[str]:
        return [str(row[0]) for row in await shop.outside(question)]

    await killed_at_rest(tmp_path, shop.reader, states, "idle 0")


async def killed_at_rest(folder: Path, url: str, states: States, rests: str) -> None:
    with anyio.fail_after(3 * DEADLINE):
        await until(states, lambda found: not found)
        async with served(folder, {"databases": {"shop": {"url": _plain(folder, url), "timeout": "60s"}}}) as gateway:
            async with (
                Client(streamable_http_client(gateway.endpoint)) as client,
                anyio.create_task_group() as tasks,
            ):
                for _ in range(4):
                    tasks.start_soon(structured, client, "execute_sql", {"source": "shop", "sql": ASKED})
            # Several were used at a time, and are kept for the next question, in no transaction.
            await until(states, lambda found: len(found) > 1 and {*found} == {rests})
            await gateway.kill()
            await until(states, lambda found: not found)


def _plain(folder: Path, url: str) -> str:
    (folder / "password").write_text("reads\n", "utf-8")
    (folder / "password").chmod(0o600)
    return url.replace(":reads@", ":${file:password}@")


async def until(states: States, holds: Callable[[list[str]], bool]) -> None:
    while not holds(await states()):  # noqa: ASYNC110 - the server tells nobody; the deadline of the test ends it
        await anyio.sleep(0.05)
