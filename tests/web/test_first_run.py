"""An empty board leads to a first call in three steps."""

import json
import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.served import DEMO
from tests.support.fork_server import python
from tests.web.looks import LOOKS, look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return {"servers": {}}


@pytest.mark.behaviour("web.first_run")
def test_an_empty_board_shows_three_steps_to_a_first_call(narrow_page: Page, served: Site) -> None:
    page = narrow_page
    page.goto(f"{served.address}/ui/")
    expect(page.get_by_role("heading", name="Hang tools on the board")).to_be_visible()
    expect(page.get_by_role("heading", name="Connect your client")).to_be_visible()
    expect(page.get_by_role("heading", name="Call a tool")).to_be_visible()
    expect(page.get_by_text('"mcpServers"')).to_be_visible()
    look_over(page, "first-run")
    page.get_by_role("link", name="Add a server").click()
    expect(page).to_have_url(re.compile(r"/ui/servers\?add=paste$"))


@pytest.mark.behaviour("web.first_run")
def test_a_new_person_comes_from_an_empty_board_to_a_first_call(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/")
    page.get_by_role("link", name="Add a server").click()
    library = {"command": python(), "args": [str(DEMO.parent / "library_server.py")]}
    page.get_by_role("textbox").fill(json.dumps({"mcpServers": {"library": library}}))
    page.get_by_role("button", name="Try it").click()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Add library").click()
    expect(page).to_have_url(re.compile("/ui/servers\\?id=library"))
    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Wall").click()
    steps = page.get_by_role("region", name="To a first call")
    expect(steps.get_by_role("heading", name="Connect your client")).to_be_visible()
    steps.get_by_role("link", name="Try a tool").click()
    expect(page.get_by_role("searchbox", name="Find a tool")).to_be_visible()
    look_over(page, "first-run-try", looks=LOOKS[:1])
    page.get_by_role("link", name=re.compile("list_shelves")).click()
    page.get_by_role("tab", name="Try it").click()
    page.get_by_role("button", name="Call it").click()
    page.get_by_role("link", name="In the activity").click()
    expect(page.get_by_role("dialog")).to_contain_text("list_shelves")
    page.keyboard.press("Escape")
    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Wall").click()
    expect(page.locator("[data-tool]").first).to_be_visible()
    expect(steps).to_have_count(0)
    assert served.ask("GET", "/first-run")["hasCalls"] is True
