"""What a toolset brings itself, by the API: named by its toolset, and no server in the list of servers."""

from dataclasses import replace

import pytest
from tests.core.boards import ME
from tests.core.imports import KIT, installing, own, own_tool
from tests.core.imports import server as kit_server
from tests.surfaces.rest.desk import Desk, at_desk, problem

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.decision.status import ServerInQuarantine, explain_reason
from pegboard.core.model.catalogue import Listing, ProviderAsleep
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import DeclaredAt, Server
from pegboard.core.model.tool import OwnTools, Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import Policy

pytestmark = pytest.mark.anyio


async def imported(desk: Desk, mine: Server, *more: Server, overrides: tuple[Override, ...] = ()) -> None:
    """Its provider lists what was described when it was imported."""
    assert isinstance(mine.connection, OwnTools)
    tools = tuple(Tool(own_tool(spec.name), spec) for spec in mine.connection.specs)
    done = await desk.house.gateway.operator.execute(installing(mine, *more, overrides=overrides), ME)
    assert isinstance(done, Policy)
    await desk.house.until(lambda: KIT in desk.house.board.catalogue.listings)
    if not mine.quarantined:
        provider = desk.house.provider(KIT)
        provider.lines = ("hello",)
        provider.becomes(ProviderAsleep(desk.house.clock()), *tools)
        await desk.house.until(lambda: desk.house.board.catalogue.listings[KIT].tools == tools)


@pytest.mark.behaviour("toolsets.own_tools_are_judged_alike")
async def test_own_tools_are_shown_by_their_toolset_and_not_among_the_servers() -> None:
    async with at_desk() as desk:
        await imported(desk, own("add"))
        assert [server["id"] for server in (await desk.get("/servers"))["servers"]] == ["dev~github", "docs~notes"]
        shown = await desk.get("/servers/kit")
        assert (shown["id"], shown["serverId"], shown["toolsetId"], shown["userMcp"]) == ("kit", None, "kit", False)
        assert (shown["tools"], shown["health"]["state"], shown["active"]) == ({"callable": 1}, "asleep", True)
        assert shown["connection"] == {
            "transport": "own",
            "digest": "a" * 64,
            "python": {"add": "tools.math:add"},
            "requirements": [],
            "secrets": [],
            "workspace": False,
            "containers": {},
            "linkedFolder": None,
        }
        (tool,) = [tool for tool in (await desk.get("/tools"))["tools"] if tool["toolsetId"] == "kit"]
        assert (tool["id"], tool["serverId"], tool["verdict"]) == ("kit:add", None, "open")
        assert (await desk.get("/servers/kit/log"))["lines"] == ["hello"]
        assert (await desk.ask("POST", "/servers/kit/restart")).status_code == 200
        assert desk.house.provider(KIT).restarts == 1


async def test_what_is_named_like_its_toolset_is_its_own_unless_it_has_none() -> None:
    key = ServerKey(ToolsetId("kit"), ServerId("kit"))
    async with at_desk() as desk:
        await imported(desk, own("add"), kit_server(key))
        assert (await desk.get("/servers/kit"))["id"] == "kit"
        assert (await desk.get("/servers/kit~kit"))["id"] == "kit~kit"
        assert (await desk.get("/servers/notes"))["id"] == "docs~notes"
        # Switches and removals are of servers: a toolset has its own.
        switched = await desk.ask("POST", "/servers/kit/switch", json={"enabled": False})
        assert switched.json()["id"] == "kit~kit"


async def test_what_waits_of_it_is_listed_and_approved_by_its_toolset() -> None:
    async with at_desk() as desk:
        await imported(desk, own("add"))
        mine = own("add").connection
        assert isinstance(mine, OwnTools)
        other = Tool(own_tool("add"), replace(mine.python[0].spec, description="Now it deletes."))
        desk.house.provider(KIT).becomes(ProviderAsleep(desk.house.clock()), other)
        await desk.house.until(lambda: desk.house.status(own_tool("add")) == "pending_approval")
        body = await desk.get("/approvals", server="kit")
        assert [(each["id"], each["server"], each["kind"]) for each in body["pending"]] == [
            ("kit:add", "kit", "changed")
        ]
        (whole,) = body["servers"]
        assert whole["id"] == "kit"
        approved = await desk.ask(
            "POST", "/approvals/approve", json={"server": "kit", "fingerprint": whole["fingerprint"]}
        )
        assert approved.status_code == 200, approved.text
        assert desk.house.status(own_tool("add")) == "open"


async def test_a_review_of_what_an_import_put_in_quarantine_is_held_by_its_toolset() -> None:
    async with at_desk() as desk:
        waits = replace(own("add"), quarantined=True)
        await imported(desk, waits)
        tools = (Tool(own_tool("add"), ToolSpec("add")),)
        desk.house.providers.prepare = lambda provider: setattr(
            provider, "word", Listing(KIT, ProviderAsleep(desk.house.clock()), tools)
        )
        looked = await desk.ask("POST", "/servers/kit/review")
        assert looked.status_code == 200, looked.text
        assert (looked.json()["answered"], [tool["id"] for tool in looked.json()["tools"]]) == (True, ["kit:add"])
        assert looked.json()["review"] == explain_reason(ServerInQuarantine(KIT))
        assert (await desk.ask("POST", "/servers/kit/release")).status_code == 200
        assert problem(await desk.ask("POST", "/servers/kit/release")) == (
            409,
            "Toolset kit is not in quarantine. See: pegboard toolset list",
        )


async def test_what_its_manifest_says_is_told_among_the_overrides() -> None:
    async with at_desk() as desk:
        hiding = Override(KIT.toolset, own_tool("add"), enabled=False)
        await imported(desk, own("add"), overrides=(hiding,))
        (row,) = (await desk.get("/overrides"))["overrides"]
        assert (row["target"], row["declared"], row["manifest"]) == ("kit:add", False, True)
        assert desk.house.status(own_tool("add")) == "disabled_by_user"
        assert isinstance(
            await desk.house.gateway.operator.execute(SetSwitch(own_tool("add"), enabled=True), ME), Policy
        )
        assert desk.house.status(own_tool("add")) == "open"


async def test_an_override_of_a_manifest_that_fits_nothing_is_mended_in_its_toolset() -> None:
    async with at_desk() as desk:
        said = {"renderer": DeclaredAt("toolset.yaml", 9)}
        lost = Override(KIT.toolset, own_tool("gone"), renderer="code", origins=said)
        pin = Override(KIT.toolset, own_tool("add"), arguments={"token": ArgumentOverride(pin=freeze_json("hunter2"))})
        await imported(desk, own("add"), overrides=(lost, pin))
        found = [each for each in (await desk.get("/doctor"))["findings"] if each["subject"].startswith("kit:")]
        mend = "Mend the toolset.yaml of kit and import it again: pegboard toolset import"
        assert {each["fix"] for each in found} == {mend}
        told = [each["message"] for each in found]
        assert "Override of kit:gone in kit (toolset.yaml:9): kit lists no tool 'gone'." in told
        assert any("what is pinned at arguments.token.pin looks like a secret" in what for what in told)
