"""The servers: how each is, one of them opened, and a new one added in three steps."""

import json
import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.served import DEMO, ROOT
from tests.support.fork_server import python
from tests.web.boards import every_state
from tests.web.looks import look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

LIBRARY = DEMO.parent / "library_server.py"
CRASHES = ROOT / "tests" / "servers" / "crash_on_start.py"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return every_state()


def open_servers(page: Page, served: Site, query: str = "") -> None:
    page.goto(f"{served.address}/ui/servers{query}")


def line(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def pasted(name: str, *args: str, **rest: object) -> str:
    return json.dumps({"mcpServers": {name: {"command": python(), "args": [*args], **rest}}}, indent=2)


@pytest.mark.behaviour("web.servers_told")
def test_every_server_has_a_line_with_its_health_and_its_tools(page: Page, served: Site) -> None:
    open_servers(page, served)
    expect(page.get_by_role("heading", level=1, name="MCP Servers")).to_be_visible()
    expect(line(page, "library")).to_contain_text("Up")
    expect(line(page, "broken")).to_contain_text("Down")
    expect(line(page, "attic")).to_contain_text("Off")
    page.get_by_role("button", name="Down").click()
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"\?health=down$"))
    page.get_by_role("searchbox", name="Filter servers").fill("nothing of the kind")
    expect(page.get_by_role("heading", name="No server fits")).to_be_visible()


@pytest.mark.behaviour("web.servers_told")
def test_the_list_is_readable_to_everybody(page: Page, served: Site) -> None:
    open_servers(page, served)
    expect(line(page, "library")).to_contain_text("Up")
    look_over(page, "servers")


@pytest.mark.behaviour("web.server_opened")
def test_a_server_that_fails_to_start_shows_its_last_lines(page: Page, served: Site) -> None:
    open_servers(page, served)
    page.get_by_role("link", name="broken", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("exit")
    expect(page.locator(".last-lines")).to_contain_text("crash_on_start: DATABASE_URL is not set")
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("log")).to_contain_text("crash_on_start: giving up")
    look_over(page, "server-down")


@pytest.mark.behaviour("web.server_opened")
def test_the_set_up_of_a_server_shows_what_it_is_given(page: Page, served: Site) -> None:
    open_servers(page, served, "?id=drawer~drawer&tab=setup")
    expect(page.get_by_role("radio", name=re.compile("^Open"))).to_be_checked()
    expect(page.get_by_text("DESK_DIR", exact=True)).to_be_visible()
    look_over(page, "server-setup")
    page.get_by_role("tab", name="Tools").click()
    expect(page.get_by_role("list", name="Tools").get_by_role("listitem").first).to_be_visible()
    look_over(page, "server-tools")


@pytest.mark.behaviour("web.server_operated")
def test_a_server_is_stopped_with_a_reason_and_started_again(page: Page, served: Site) -> None:
    open_servers(page, served, "?id=shared")
    page.get_by_role("button", name="Stop").click()
    page.get_by_label("Why (others read this)").fill("It is being moved")
    page.get_by_role("button", name="Stop shared").click()
    expect(page.get_by_text("shared is off", exact=True)).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="Off")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("definition").filter(has_text="Up")).to_be_visible()
    before = served.ask("GET", "/servers/shared")["health"]["since"]
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_text("shared starts again", exact=True)).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="Up")).to_be_visible()
    assert served.ask("GET", "/servers/shared?wait=30")["health"]["since"] > before


@pytest.mark.behaviour("web.server_operated")
def test_another_trust_is_kept(page: Page, served: Site) -> None:
    open_servers(page, served, "?id=shared&tab=setup")
    page.get_by_role("radio", name=re.compile("^Strict")).click()
    expect(page.get_by_text("shared is trusted: strict")).to_be_visible()
    assert served.ask("GET", "/servers/shared")["trust"] == "strict"


@pytest.mark.behaviour("web.server_operated")
def test_who_decides_on_an_old_sight_is_told_and_changes_nothing(page: Page, served: Site) -> None:
    # The bells are kept from this page, as from one whose line is lost.
    page.route("**/api/v1/events", lambda route: route.abort())
    open_servers(page, served, "?id=library&tab=setup")
    expect(page.get_by_role("radio", name=re.compile("^Open"))).to_be_checked()
    served.ask("POST", "/servers/drawer/switch", {"enabled": False})
    page.get_by_role("radio", name=re.compile("^Strict")).click()
    expect(page.get_by_role("dialog", name="Someone else changed the board meanwhile")).to_be_visible()
    assert served.ask("GET", "/servers/library")["trust"] == "open"
    served.ask("POST", "/servers/drawer/switch", {"enabled": True})


@pytest.mark.behaviour("web.server_added")
def test_a_pasted_server_is_tried_then_added_and_its_pegs_hang_on_the_wall(narrow_page: Page, served: Site) -> None:
    page, name = narrow_page, "shelf"
    open_servers(page, served)
    page.get_by_role("link", name="Add a server").click()
    page.get_by_role("textbox").fill(pasted(name, str(LIBRARY), env={"SHELF_TOKEN": "s3cret-of-the-shelf"}))
    look_over(page, "server-add-paste")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("list", name="Tools it would bring")).to_contain_text("search_books")
    look_over(page, "server-add-try")
    assert name not in [each["serverId"] for each in served.ask("GET", "/servers")["servers"]]
    assert "s3cret" not in page.content()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("radio", name=re.compile("^Baseline"))).to_be_checked()
    look_over(page, "server-add-trust")
    page.get_by_role("button", name=f"Add {name}").click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="Up")).to_be_visible()
    page.goto(f"{served.address}/ui/?q={name}")
    expect(page.get_by_role("button", name="search_books, open").first).to_be_visible()


@pytest.mark.behaviour("web.server_added")
def test_a_pasted_server_that_cannot_start_says_why_and_nothing_is_saved(page: Page, served: Site) -> None:
    open_servers(page, served, "?add=paste")
    page.get_by_role("textbox").fill(pasted("hopeless", str(CRASHES)))
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".last-lines")).to_contain_text("crash_on_start: giving up")
    expect(page.get_by_role("button", name="Go on")).to_be_disabled()
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("textbox")).to_have_value(re.compile("hopeless"))
    assert "hopeless" not in [each["serverId"] for each in served.ask("GET", "/servers")["servers"]]


@pytest.mark.behaviour("web.server_added")
def test_what_cannot_be_read_is_answered_in_words(page: Page, served: Site) -> None:
    open_servers(page, served, "?add=paste")
    page.get_by_role("textbox").fill('{"mcpServers": {"notes": {}')
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".problems, [role=alert]").first).to_be_visible()


@pytest.mark.behaviour("web.server_added")
def test_servers_of_another_client_are_picked_from_its_list(page: Page, served: Site) -> None:
    (served.data_dir / ".cursor").mkdir()
    (served.data_dir / ".cursor" / "mcp.json").write_text(pasted("from-cursor", str(LIBRARY)), "utf-8")
    open_servers(page, served, "?add=client")
    page.get_by_role("checkbox", name=re.compile("from-cursor")).check()
    page.get_by_role("button", name="Try 1 server").click()
    expect(page.get_by_role("list", name="Tools it would bring")).to_contain_text("search_books")


@pytest.mark.behaviour("web.server_added")
def test_an_added_server_is_removed_again(page: Page, served: Site) -> None:
    served.ask("POST", "/servers", {"id": "passing", "command": python(), "args": [str(LIBRARY)]})
    served.wait_for_first_sight("mcp:passing~passing:search_books")
    open_servers(page, served, "?id=passing&tab=setup")
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove passing").click()
    expect(page.get_by_role("heading", level=1, name="MCP Servers")).to_be_visible()
    expect(line(page, "library")).to_be_visible()
    expect(line(page, "passing")).to_have_count(0)
