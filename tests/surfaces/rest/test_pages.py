"""Lists in pages: no answer grows without bound, and a page follows the one before."""

from typing import Any

import pytest
from tests.support.house import declared
from tests.surfaces.rest.desk import GITHUB, NOTES, TOOLS, at_desk, problem

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.server import Trust
from pegboard.surfaces.rest.app import document

BOUNDED = {
    "/events": "a stream",
    "/board/tool": "one tool",
    "/clients": "the programs that are known",
    "/databases": "what pegboard.yaml declares",
    "/databases/check": "what pegboard.yaml declares",
    "/renderers": "those that are built in",
    "/presentations": "those that are built in",
    "/tickets": "at most 500",
    "/servers/{name}/log": "the lines that are kept of one server",
    "/toolsets/{name}": "one toolset",
    "/toolsets/{name}/choice": "at most 5,000 tools of one toolset",
    "/doctor": "what is wrong",
    "/settings": "the keys of the file",
    "/stubs": "the tools of one view, as text",
    "/prompt": "a budget of tokens",
    "/activity/summary": "so many parts as are asked for",
    "/tools/show": "one tool",
    "/why": "the rules that there are",
    "/status": "the servers that are starting",
    "/approvals/show": "one tool",
    "/overrides/show": "one tool",
    "/search": "one state",
    "/first-run": "one state",
    "/session": "one caller",
    "/servers/{name}": "one server",
    "/servers/{name}/sign-in": "one server",
    "/store/unreadable": "1,000 rows",
    "/toolsets/imports/{name}": "one import",
    "/toolsets/{name}/export": "one toolset",
    "/activity/latest": "one number",
    "/activity/{number}": "one record",
    "/tickets/{id}": "one ticket",
    "/policy/decisions": "at most 20",
    "/policy/export": "one file",
    "/policy/export/file": "one file",
}
"""What has no `limit`, and what bounds it instead."""


@pytest.mark.behaviour("rest.pages")
def test_every_list_has_a_bounded_limit_or_is_bounded_by_what_it_is() -> None:
    paths: dict[str, Any] = document()["paths"]
    unbounded = set()
    for path, methods in paths.items():
        taken = {each["name"]: each["schema"] for each in methods.get("get", {}).get("parameters", ())}
        if "get" in methods and "maximum" not in taken.get("limit", {}):
            unbounded.add(path.removeprefix("/api/v1"))
    assert unbounded - BOUNDED.keys() == set()


@pytest.mark.anyio
@pytest.mark.behaviour("rest.pages")
@pytest.mark.parametrize(
    ("path", "member", "every"),
    [
        ("/tools", "tools", ["mcp:dev~github:read", "mcp:dev~github:write", "mcp:docs~notes:jot"]),
        ("/servers", "servers", ["dev~github", "docs~notes"]),
        ("/toolsets", "toolsets", ["dev", "docs"]),
        ("/approvals", "pending", ["mcp:dev~github:read", "mcp:dev~github:write", "mcp:docs~notes:jot"]),
    ],
)
async def test_pages_together_are_the_list(path: str, member: str, every: list[str]) -> None:
    async with at_desk(declared(GITHUB, NOTES, trust=Trust.STRICT)) as desk:
        whole = await desk.get(path)
        assert ([each["id"] for each in whole[member]], "next" in whole) == (every, False)
        found: list[str] = []
        page = await desk.get(path, limit=1)
        while True:
            found += [each["id"] for each in page[member]]
            if "next" not in page:
                break
            page = await desk.get(path, limit=1, after=page["next"])
        assert found == every


@pytest.mark.anyio
async def test_a_list_whose_place_has_gone_is_read_anew() -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(TOOLS[GITHUB][0].id, False, ""))
        gone = await desk.ask("GET", "/tools", params={"after": "mcp:dev~github:gone"})
        assert problem(gone) == (
            409,
            "after 'mcp:dev~github:gone' is not in this list now. Ask for it from the beginning.",
        )
        assert problem(await desk.ask("GET", "/servers", params={"limit": 0}))[0] == 422
        assert problem(await desk.ask("GET", "/toolsets", params={"limit": 20_001}))[0] == 422
