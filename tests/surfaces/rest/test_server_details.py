"""One server by the API: its log as it goes on, its tools, and how far it is trusted."""

import pytest
from tests.support.house import declared
from tests.surfaces.rest.desk import GITHUB, NOTES, at_desk, problem

from pegboard.core.model.server import Trust
from pegboard.processes.output import LogTail

pytestmark = pytest.mark.anyio


def written(log: LogTail, *lines: str) -> None:
    log.feed("".join(f"{line}\n" for line in lines).encode(), str)


@pytest.mark.behaviour("servers.log_goes_on")
async def test_a_log_is_read_on_from_where_one_was() -> None:
    async with at_desk() as desk:
        log = LogTail()
        provider = desk.house.provider(GITHUB)

        async def read(**params: str) -> tuple[list[str], bool, str]:
            provider.lines = log.tail()
            body = await desk.get("/servers/github/log", **params)
            return body["lines"], body["continues"], body["next"]

        written(log, "first", "second")
        lines, continues, cursor = await read()
        assert (lines, continues) == (["first", "second"], False)
        assert await read(after=cursor) == ([], True, cursor)
        written(log, "third")
        lines, continues, cursor = await read(after=cursor)
        assert (lines, continues) == (["third"], True)
        written(log, *("flood" for _ in range(500)))
        lines, continues, cursor = await read(after=cursor)
        assert (len(lines), continues) == (200, False), "more was written than is kept"
        log = LogTail()
        written(log, *("again" for _ in range(600)))
        lines, continues, _ = await read(after=cursor)
        assert (len(lines), continues) == (200, False), "another process wrote it"
        for nonsense in ("", "x", "-1", "9" * 60, "ä-7"):
            assert (await read(after=nonsense))[1] is False


@pytest.mark.behaviour("servers.log_goes_on")
async def test_a_log_is_read_by_how_grave_its_lines_are() -> None:
    async with at_desk() as desk:
        desk.house.provider(GITHUB).lines = (
            "debug: a",
            "info: b",
            "WARN c",
            "Traceback (most recent call last):",
            "  d",
        )
        told = await desk.get("/servers/github/log")
        assert told["levels"] == ["debug", "info", "warning", "error", "error"]
        assert told["next"] is None, "this log does not number its lines"
        grave = await desk.get("/servers/github/log", level="warning")
        assert grave["lines"] == ["WARN c", "Traceback (most recent call last):", "  d"]
        assert problem(await desk.ask("GET", "/servers/github/log", params={"level": "loud"}))[0] == 422


async def test_the_tools_of_a_server_are_told_page_by_page() -> None:
    async with at_desk() as desk:
        first = await desk.get("/servers/github/tools", limit=1)
        (read,) = first["tools"]
        assert read == {
            "id": "mcp:dev~github:read",
            "name": "read",
            "wireName": "read",
            "toolsetId": "dev",
            "serverId": "github",
            "verdict": "open",
            "hints": {"readOnly": None, "destructive": None, "idempotent": None, "openWorld": None},
            "tokens": read["tokens"],
        }
        rest = await desk.get("/servers/github/tools", limit=1, after=first["next"])
        assert ([tool["name"] for tool in rest["tools"]], rest["next"]) == (["write"], None)
        assert first["tokens"] == read["tokens"] + rest["tools"][0]["tokens"]


@pytest.mark.behaviour("servers.trust_is_set")
async def test_another_trust_holds_at_once_and_stale_eyes_set_none() -> None:
    async with at_desk(declared(GITHUB, NOTES, trust=Trust.OPEN)) as desk:
        answer = await desk.ask("PUT", "/servers/github/trust", json={"trust": "strict"}, headers={"if-match": "0"})
        assert (answer.status_code, answer.json()["trust"], answer.json()["policyVersion"]) == (200, "strict", 1)
        assert set(desk.house.statuses().values()) == {"pending_approval", "open"}
        stale = await desk.ask("PUT", "/servers/notes/trust", json={"trust": "strict"}, headers={"if-match": "0"})
        assert (problem(stale)[0], stale.json()["policyVersion"]) == (412, 1)
        assert problem(await desk.ask("PUT", "/servers/nothing/trust", json={"trust": "open"}))[0] == 404
        assert problem(await desk.ask("PUT", "/servers/github/trust", json={"trust": "blind"}))[0] == 422
