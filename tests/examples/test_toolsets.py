"""The example toolsets that bring functions and a server: sound as they are, imported, and called by MCP clients."""

import json
import shutil
from pathlib import Path

import anyio
import pytest
from mcp import Client
from tests.e2e.served import ROOT, as_stdio, served
from tests.providers.python.wheels import wheel
from tests.support.toolsets import brought, called, housed, statuses

from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]

MEETINGS, RECIPES = (ROOT / "examples" / name for name in ("meetings", "recipes"))


async def test_the_python_example_runs_in_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its requirement is found in a folder, so that no index is needed."""
    wheel(tmp_path / "wheels", "tzdata", "2025.1", "")
    for name in ("PIP_NO_INDEX", "UV_NO_INDEX", "UV_OFFLINE"):
        monkeypatch.setenv(name, "1")
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.setenv(name, str(tmp_path / "wheels"))
    async with housed(tmp_path / "data") as house:
        await brought(house, MEETINGS)
        meetings = ToolsetId("meetings")
        with anyio.fail_after(60), house.gateway.board.changes.subscribe() as bell:
            while set(statuses(house, meetings).values()) != {"open"}:
                await bell.wait()
        told = await called(
            house, "local_times", at="2026-01-02T23:30:00", zone="Europe/Berlin", others=["Asia/Tokyo", "UTC"]
        )
        assert json.loads(told) == [
            {"zone": "Asia/Tokyo", "time": "07:30", "day": "day after"},
            {"zone": "UTC", "time": "22:30", "day": "same day"},
        ]
        assert "There is no time zone 'Nowhere'" in str(
            await called(house, "local_times", at="2026-01-02T23:30:00", zone="Nowhere", others=[])
        )


@pytest.mark.behaviour("toolsets.manifest_overrides")
async def test_the_example_with_a_server_has_its_overrides(tmp_path: Path) -> None:
    recipes = ToolsetId("recipes")
    key = ServerKey(recipes, ServerId("cookbook"))
    async with housed(tmp_path / "data") as house:
        await brought(house, RECIPES)
        with anyio.fail_after(60), house.gateway.board.changes.subscribe() as bell:
            while len(statuses(house, recipes)) != 3 or set(statuses(house, recipes).values()) != {"open"}:
                await bell.wait()
        assert await called(house, "read_titles") == "pancakes, porridge"
        overrides = house.gateway.board.policy.overrides
        assert overrides.requires_confirmation(ToolId(key, "forget_recipe"))
        assert overrides.for_tool(ToolId(key, "forget_recipe")).name_override == "Tear a page out"
        assert overrides.for_tool(ToolId(key, "read_recipe")).renderer is not None


@pytest.mark.behaviour("toolsets.aggregate_providers", "cli.toolset_import")
async def test_clients_of_both_eras_call_an_imported_toolset_over_http_and_stdio(tmp_path: Path) -> None:
    folder = tmp_path / "recipes"
    shutil.copytree(RECIPES, folder)
    (folder / "words.py").write_text("def shout(text: str) -> str:\n    return text.upper()\n")
    with (folder / "toolset.yaml").open("a") as file:
        file.write("\ntools:\n  - {id: shout, entrypoint: 'words:shout'}\n")

    async def used(client: Client) -> tuple[set[str], str, str]:
        names = {tool.name for tool in (await client.list_tools()).tools} - {"pegboard_ticket"}
        shouted = await client.call_tool("shout", {"text": "tide"})
        read = await client.call_tool("read_titles", {})
        return names, shouted.content[0].text, read.content[0].text  # type: ignore[union-attr]

    wanted = ({"shout", "read_recipe", "read_titles", "forget_recipe"}, "TIDE", "pancakes, porridge")
    with anyio.fail_after(200):
        async with served(tmp_path, {"servers": {}}) as gateway:
            assert (await gateway.pegboard("toolset", "import", str(folder), "--yes"))[0] == 0
            await gateway.until("/toolsets/recipes", holds=_all_open)
            for mode in ("legacy", "2026-07-28"):
                async with Client(gateway.endpoint, mode=mode) as client:
                    assert await used(client) == wanted
        for mode in ("legacy", "2026-07-28"):
            async with Client(as_stdio(gateway.config, gateway.data_dir), mode=mode) as client:
                assert await used(client) == wanted


def _all_open(body: dict[str, list[dict[str, object]]]) -> bool:
    return len(body["tools"]) == 4 and all(tool["verdict"] == "open" for tool in body["tools"])


async def test_the_examples_are_found_open_at_the_next_start(tmp_path: Path) -> None:
    async with housed(tmp_path / "data") as house:
        await brought(house, RECIPES)
    async with housed(tmp_path / "data") as house:
        with anyio.fail_after(60), house.gateway.board.changes.subscribe() as bell:
            while len(statuses(house, ToolsetId("recipes"))) != 3:
                await bell.wait()
