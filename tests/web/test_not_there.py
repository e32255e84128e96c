"""Pages of tools that are not there: one that is no longer offered, and one whose server is down."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.served import ROOT
from tests.web.boards import server
from tests.web.site import Site

pytestmark = pytest.mark.slow

SERVERS = ROOT / "tests" / "servers"
LEFT = "mcp:many~many:tool_00001"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return {
        "servers": {
            "many": server(SERVERS / "many.py", "2", trust="open"),
            "broken": server(SERVERS / "crash_on_start.py", trust="open"),
        },
    }


@pytest.mark.behaviour("wall.gone", "tools.history")
def test_the_page_of_a_tool_that_is_no_longer_offered_has_its_history(page: Page, served: Site) -> None:
    served.ask("POST", "/tools/switch", {"tool": LEFT, "enabled": False, "note": "too loud"})
    config = Path(served.config)
    config.write_text(config.read_text("utf-8").replace('"2"', '"1"').replace("'2'", "'1'"), "utf-8")
    page.goto(f"{served.address}/ui/tool?id={LEFT}")
    expect(page.get_by_text("Its provider does not offer it any more")).to_be_visible()
    expect(page.locator(".decisions")).to_contain_text("too loud")
    expect(page.get_by_text("Unknown tool")).to_have_count(0)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.behaviour("web.name_in_vain")
def test_the_page_of_a_tool_whose_server_is_down_tells_of_that_server_and_has_the_act(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/tool?id=mcp:broken~broken:read")
    told = page.locator(".sheet")
    expect(told).to_contain_text("its server has not listed its tools. broken~broken is down")
    expect(told.get_by_role("button", name="Restart broken~broken")).to_be_visible()
    expect(told.get_by_text("many~many")).to_have_count(0)
    expect(told.get_by_text("sk the user")).to_have_count(0)
