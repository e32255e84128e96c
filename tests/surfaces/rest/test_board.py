"""The wall over HTTP: states and acts as the core says them, in pages, for whoever's view is asked for."""

from dataclasses import replace

import pytest
from inline_snapshot import snapshot
from tests.core.boards import FILE, NOW
from tests.support.house import declared
from tests.support.sentences import not_granted
from tests.surfaces.rest.desk import GITHUB, NOTES, TOOLS, at_desk, problem

from pegboard.core.commands.commands import ApproveTool, SetSwitch
from pegboard.core.explain.states import MissingTool, describe_missing
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.ids import PrincipalId, ToolsetId
from pegboard.core.model.principals import Principal
from pegboard.core.model.server import Trust
from pegboard.core.model.settings import PinnedEntry, PresentationMode, PresentationSettings
from pegboard.core.model.tool import ToolSpec

pytestmark = pytest.mark.anyio

READ, WRITE = (tool.id for tool in TOOLS[GITHUB])


@pytest.mark.behaviour("wall.states")
async def test_a_peg_says_what_it_is_why_it_is_so_and_what_would_open_it() -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(WRITE, False, "too risky"))
        told = await desk.get("/board")
    assert told == snapshot(
        {
            "tools": [
                {
                    "id": "mcp:dev~github:read",
                    "name": "read",
                    "wireName": "read",
                    "title": None,
                    "toolsetId": "dev",
                    "serverId": "github",
                    "provider": "mcp",
                    "state": "open",
                    "verdict": "open",
                    "status": None,
                    "message": None,
                    "remedy": None,
                    "otherReasons": [],
                    "action": {"kind": "none", "target": "", "label": "", "toolsets": []},
                    "overridden": False,
                    "hints": {"readOnly": None, "destructive": None, "idempotent": None, "openWorld": None},
                    "tokens": 18,
                    "enabled": True,
                    "unlisted": False,
                },
                {
                    "id": "mcp:dev~github:write",
                    "name": "write",
                    "wireName": "write",
                    "title": None,
                    "toolsetId": "dev",
                    "serverId": "github",
                    "provider": "mcp",
                    "state": "locked",
                    "verdict": "locked",
                    "status": "disabled_by_user",
                    "message": "mcp:dev~github:write was switched off by me on 2026-01-02 (too risky).",
                    "remedy": "Switch the tool on again: pegboard tools enable mcp:dev~github:write",
                    "otherReasons": [],
                    "action": {
                        "kind": "enable_tool",
                        "target": "mcp:dev~github:write",
                        "label": "Switch it on",
                        "toolsets": [],
                    },
                    "overridden": False,
                    "hints": {"readOnly": None, "destructive": None, "idempotent": None, "openWorld": None},
                    "tokens": 18,
                    "enabled": False,
                    "unlisted": False,
                },
                {
                    "id": "mcp:docs~notes:jot",
                    "name": "jot",
                    "wireName": "jot",
                    "title": None,
                    "toolsetId": "docs",
                    "serverId": "notes",
                    "provider": "mcp",
                    "state": "open",
                    "verdict": "open",
                    "status": None,
                    "message": None,
                    "remedy": None,
                    "otherReasons": [],
                    "action": {"kind": "none", "target": "", "label": "", "toolsets": []},
                    "overridden": False,
                    "hints": {"readOnly": None, "destructive": None, "idempotent": None, "openWorld": None},
                    "tokens": 18,
                    "enabled": True,
                    "unlisted": False,
                },
            ],
            "toolsets": [
                {
                    "id": "dev",
                    "title": "dev",
                    "userMcp": True,
                    "enabled": True,
                    "health": {"state": "up", "message": "up", "since": "2026-01-02T03:04:05+00:00"},
                    "counts": {"open": 1, "locked": 1, "needs_action": 0, "broken": 0, "missing": 0, "tokens": 18},
                },
                {
                    "id": "docs",
                    "title": "docs",
                    "userMcp": True,
                    "enabled": True,
                    "health": {"state": "up", "message": "up", "since": "2026-01-02T03:04:05+00:00"},
                    "counts": {"open": 1, "locked": 0, "needs_action": 0, "broken": 0, "missing": 0, "tokens": 18},
                },
            ],
            "totals": {"open": 2, "locked": 1, "needs_action": 0, "broken": 0, "missing": 0, "tokens": 36},
            "presentation": None,
            "policyVersion": 1,
            "next": None,
        }
    )


async def test_the_wall_is_resolved_anew_for_the_view_that_is_asked_for() -> None:
    board = declared(GITHUB, NOTES)
    ada = PrincipalId("ada")
    board = replace(board, principals={ada: Principal(ada, FILE)}, grants={ada: frozenset({ToolsetId("docs")})})
    async with at_desk(board) as desk:
        everyone = await desk.get("/board")
        hers = await desk.get("/board", **{"as": "ada"})
        narrowed = await desk.get("/board", toolsets=["dev"], disabled_tools=["read"])
        nobody = await desk.ask("GET", "/board", params={"as": "eve"})
        nothing = await desk.ask("GET", "/board", params={"toolsets": ["nothing"]})
        others = [(await desk.get(path, tool=str(READ)))["otherCallers"] for path in ("/board/tool", "/why")]
    not_hers = {"principal": "ada", "message": not_granted("ada", "dev", "docs")}
    assert others == [[not_hers], [not_hers]], "whoever gets it is told who does not"
    assert states(everyone) == {str(READ): "open", str(WRITE): "open", "mcp:docs~notes:jot": "open"}
    assert states(hers) == {str(READ): "locked", str(WRITE): "locked", "mcp:docs~notes:jot": "open"}
    assert acts(hers)[str(READ)] == {
        "kind": "edit_file",
        "target": "pegboard.yaml",
        "label": "Add dev to what ada may use (now docs)",
        "toolsets": [],
    }
    assert states(narrowed) == {str(READ): "locked", str(WRITE): "open", "mcp:docs~notes:jot": "locked"}
    assert problem(nobody)[0] == 404
    assert problem(nothing)[0] == 400


@pytest.mark.behaviour("absent.remedy_is_where_it_was_said", "locked.what_remains_is_told")
async def test_who_has_a_token_is_granted_what_is_missing_by_the_act_and_what_remains_is_told() -> None:
    async with at_desk() as desk:
        await desk.ask("POST", "/tools/switch", json={"tool": str(READ), "enabled": False, "note": "broken"})
        token = {"principal": "bot", "name": "x", "scopes": ["call"], "toolsets": ["docs"]}
        assert (await desk.ask("POST", "/tokens", json=token)).status_code == 201
        [peg] = [each for each in (await desk.get("/board", **{"as": "bot"}))["tools"] if each["id"] == str(READ)]
        told = await desk.get("/why", tool=str(READ), **{"as": "bot"})
        grant = peg["action"]
        assert grant == {
            "kind": "grant",
            "target": "bot",
            "label": "Grant dev to bot",
            "toolsets": ["dev", "docs"],
        }
        said = {key: peg[key] for key in ("verdict", "message", "remedy", "otherReasons", "action")}
        assert {key: told[key] for key in said} == said
        assert said["message"] == not_granted("bot", "dev", "docs")
        assert said["remedy"].endswith("pegboard grants set bot dev docs")
        [off] = said["otherReasons"]
        assert off.startswith(f"{READ} was switched off by local on ")
        sent = {"toolsets": grant["toolsets"]}
        assert (await desk.ask("PUT", f"/principals/{grant['target']}/grants", json=sent)).status_code == 200
        after = await desk.get("/why", tool=str(READ), **{"as": "bot"})
    assert (after["verdict"], after["message"], after["otherReasons"]) == ("locked", off, [])


async def test_the_gateways_own_tools_can_be_granted_and_what_left_the_board_stays_granted() -> None:
    async with at_desk() as desk:
        token = {"principal": "bot", "name": "x", "scopes": ["call"], "toolsets": ["builtin", "docs"]}
        assert (await desk.ask("POST", "/tokens", json=token)).status_code == 201
        wanted = {"toolsets": ["builtin", "dev"]}
        assert (await desk.ask("PUT", "/principals/bot/grants", json=wanted)).status_code == 200
        left = await desk.ask("PUT", "/principals/bot/grants", json={"toolsets": ["builtin", "nowhere"]})
    assert problem(left)[0] == 404


@pytest.mark.behaviour("wall.pages")
async def test_a_page_follows_the_one_before_even_when_its_last_tool_has_gone() -> None:
    async with at_desk() as desk:
        first = await desk.get("/board", limit=1)
        assert (list(states(first)), first["next"]) == ([str(READ)], str(READ))
        desk.house.provider(GITHUB).lists(TOOLS[GITHUB][1])
        await desk.house.until(lambda: READ not in desk.house.board.catalogue.tools)
        second = await desk.get("/board", limit=1, after=first["next"])
        third = await desk.get("/board", limit=1, after=second["next"])
        beyond = await desk.get("/board", after="zoo:zebra")
    assert (list(states(second)), second["next"]) == ([str(WRITE)], str(WRITE))
    assert (list(states(third)), third["next"]) == (["mcp:docs~notes:jot"], None)
    assert (beyond["tools"], beyond["next"]) == ([], None)
    assert first["totals"]["open"] == 3
    assert second["totals"] == third["totals"] == beyond["totals"]
    assert second["totals"]["open"] == 2, "sums are over all pages"


@pytest.mark.parametrize(
    ("asked", "status"), [({"after": "no id"}, 400), ({"limit": 0}, 422), ({"limit": 2001}, 422), ({"limt": 1}, 422)]
)
async def test_a_page_that_cannot_be_is_refused(asked: dict[str, str], status: int) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("GET", "/board", params=asked))[0] == status


@pytest.mark.behaviour("wall.gone")
async def test_a_tool_that_was_approved_and_is_no_longer_offered_is_shown_as_gone() -> None:
    async with at_desk(declared(GITHUB, trust=Trust.STRICT)) as desk:
        assert states(await desk.get("/board")) == {str(READ): "needs_action", str(WRITE): "needs_action"}
        await desk.house.does(ApproveTool(READ, TOOLS[GITHUB][0].spec, TOOLS[GITHUB][0].spec.fingerprint))
        assert states(await desk.get("/board")) == {str(READ): "open", str(WRITE): "needs_action"}
        desk.house.provider(GITHUB).lists(TOOLS[GITHUB][1])
        await desk.house.until(lambda: READ not in desk.house.board.catalogue.tools)
        told = await desk.get("/board")
        why = problem(await desk.ask("GET", "/why", params={"tool": str(READ)}))
    assert why == (404, " ".join((told["tools"][0]["message"], told["tools"][0]["remedy"])))
    assert states(told) == {str(READ): "missing", str(WRITE): "needs_action"}
    assert told["tools"][0]["message"] == describe_missing(MissingTool(READ, has_approval=True))
    assert told["totals"] | {"tokens": 0} == {
        "open": 0,
        "locked": 0,
        "needs_action": 1,
        "broken": 0,
        "missing": 1,
        "tokens": 0,
    }


async def test_a_server_that_is_down_breaks_its_pegs_and_its_toolset_says_so() -> None:
    async with at_desk() as desk:
        desk.house.provider(GITHUB).becomes(ProviderDown(NOW, "exited with code 1"), *TOOLS[GITHUB])
        await desk.house.until(lambda: isinstance(desk.house.board.catalogue.health(GITHUB), ProviderDown))
        told = await desk.get("/board")
    assert states(told)[str(READ)] == "broken"
    assert told["tools"][0]["message"] == "dev~github is down: exited with code 1."
    dev = next(toolset for toolset in told["toolsets"] if toolset["id"] == "dev")
    assert (dev["enabled"], dev["health"]["state"], dev["counts"]["broken"]) == (True, "down", 2)


async def test_half_a_character_in_a_title_does_not_take_the_wall_down() -> None:
    async with at_desk() as desk:
        odd = replace(TOOLS[GITHUB][0], spec=ToolSpec("read", title="half \ud800 of it"))
        desk.house.provider(GITHUB).lists(odd)
        await desk.house.until(lambda: WRITE not in desk.house.board.catalogue.tools)
        told = await desk.get("/board")
    assert told["tools"][0]["title"] == "half \ud800 of it"


def states(told: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {peg["id"]: peg["state"] for peg in told["tools"]}


def acts(told: dict[str, list[dict[str, object]]]) -> dict[object, object]:
    return {peg["id"]: peg["action"] for peg in told["tools"]}


@pytest.mark.behaviour("wall.gone")
async def test_one_peg_is_told_as_on_the_wall_and_also_after_its_tool_has_gone() -> None:
    async with at_desk(declared(GITHUB, trust=Trust.STRICT)) as desk:
        await desk.house.does(ApproveTool(READ, TOOLS[GITHUB][0].spec, TOOLS[GITHUB][0].spec.fingerprint))
        wall = await desk.get("/board")
        for named in (str(READ), "read"):
            assert await desk.get("/board/tool", tool=named) == {
                "tool": wall["tools"][0],
                "presentation": None,
                "otherCallers": [],
                "policyVersion": wall["policyVersion"],
            }
        desk.house.provider(GITHUB).lists(TOOLS[GITHUB][1])
        await desk.house.until(lambda: READ not in desk.house.board.catalogue.tools)
        gone = await desk.get("/board/tool", tool=str(READ))
        assert gone["tool"]["state"] == "missing"
        answer = await desk.ask("GET", "/board/tool", params={"tool": "reed"})
        assert problem(answer)[0] == 404


@pytest.mark.behaviour("present.unlisted_is_told")
async def test_the_wall_tells_what_clients_are_shown_instead_of_all_tools() -> None:
    presenting = PresentationSettings(PresentationMode.SEARCH, always_visible=(PinnedEntry("jot", FILE),))
    async with at_desk(replace(declared(GITHUB, NOTES), presentation=presenting)) as desk:
        board = await desk.get("/board")
        one = await desk.get("/board/tool", tool="read")
    async with at_desk() as desk:
        plain = await desk.get("/board")
    shown = "4 tools by which they find and call all others, and 1 of always_visible (presentation: search)"
    assert board["presentation"] == {
        "message": f"Clients at /mcp are shown {shown}. /mcp/direct lists each open tool as itself.",
        "unlistedToolMessage": f"Not listed at /mcp: clients there are shown {shown}. /mcp/direct lists it as itself.",
    }
    mine = {peg["name"]: peg["unlisted"] for peg in board["tools"] if peg["toolsetId"] != "builtin"}
    assert mine == {"read": True, "write": True, "jot": False}
    assert (one["tool"]["unlisted"], one["presentation"]) == (True, board["presentation"])
    assert (plain["presentation"], {peg["unlisted"] for peg in plain["tools"]}) == (None, {False})
