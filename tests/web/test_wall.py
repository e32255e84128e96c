"""The wall: every tool in its outline, the reason for each that is locked, and the act that opens it."""

import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.support.sentences import not_granted
from tests.web.boards import every_state
from tests.web.looks import NARROW, look_over, show
from tests.web.site import Site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return every_state()


def peg(page: Page, id: str) -> Locator:
    return page.locator(f'[data-tool="{id}"]')


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=f"About {name}")


SEARCH = "mcp:library~library:search_books"
DELETE = "mcp:drawer~drawer:delete_note"
WAITS = "mcp:desk~desk:list_notes"
LIST = "mcp:drawer~drawer:list_notes"


@pytest.fixture
def page(page: Page, served: Site) -> Page:
    """At the wall."""
    page.goto(f"{served.address}/ui/")
    return page


@pytest.mark.behaviour("web.wall")
def test_the_wall_is_readable_to_everybody(page: Page) -> None:
    expect(page.locator("[data-tool]").first).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("^broken"))).to_be_visible()
    look_over(page, "wall")


@pytest.mark.behaviour("web.wall")
def test_a_locked_peg_says_why_it_is_locked_and_what_opens_it(page: Page) -> None:
    show(page, NARROW)
    page.get_by_role("searchbox", name="Filter tools").fill("delete")
    peg(page, DELETE).click()
    about = card(page, "delete_note")
    expect(about).to_contain_text("pegboard.yaml")
    expect(about.get_by_role("link", name="Why")).to_be_visible()
    look_over(page, "wall-card")


@pytest.mark.behaviour("web.wall")
def test_the_totals_are_the_gateways(page: Page, served: Site) -> None:
    totals = served.ask("GET", "/board")["totals"]
    told = f"{totals['open']} open, {totals['locked']} locked"
    expect(page.locator(".screen-lead")).to_contain_text(told)
    expect(page.locator(".screen-lead")).to_contain_text(f"{totals['tokens']:,} tokens if all shown")


@pytest.mark.behaviour("web.wall_filters")
def test_one_server_is_chosen_and_the_command_does_the_same(page: Page, served: Site) -> None:
    page.get_by_role("group", name="Server").get_by_role("button", name="drawer").click()
    page.get_by_role("group", name="State").get_by_role("button", name="locked").click()
    page.get_by_role("searchbox", name="Filter tools").fill("note")
    expect(peg(page, DELETE)).to_be_visible()
    expect(page.locator("[data-tool]")).to_have_count(1)
    page.get_by_role("button", name="as command").click()
    words = ["tools", "list", "--q", "note", "--state", "locked", "--server", "drawer~drawer"]
    expect(page.get_by_role("dialog")).to_contain_text(f"pegboard {' '.join(words)}")
    assert [tool["id"] for tool in served.pegboard(*words)["tools"]] == [DELETE]


@pytest.mark.behaviour("web.wall_filters")
def test_filters_narrow_the_wall_and_stay_in_the_address(page: Page) -> None:
    expect(peg(page, SEARCH)).to_be_visible()
    page.keyboard.press("Tab")
    page.get_by_role("searchbox", name="Filter tools").fill("note")
    expect(peg(page, SEARCH)).to_have_count(0)
    page.get_by_role("group", name="State").get_by_role("button", name=re.compile("wants you")).click()
    expect(peg(page, WAITS)).to_be_visible()
    expect(peg(page, LIST)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"\?q=note&state=needs_action$"))
    page.reload()
    expect(peg(page, WAITS)).to_be_visible()
    expect(peg(page, LIST)).to_have_count(0)
    page.get_by_role("searchbox", name="Filter tools").fill("no such tool at all")
    page.get_by_role("button", name="Clear the filters").click()
    expect(peg(page, SEARCH)).to_be_visible()


@pytest.mark.behaviour("explain.who_does_not_get_it")
def test_the_card_of_an_open_peg_and_its_page_name_who_does_not_get_it(page: Page, served: Site) -> None:
    told = f"Not for ci: {not_granted('ci', 'drawer', 'library')}"
    peg(page, LIST).click()
    expect(card(page, "list_notes").get_by_role("list", name="Who does not get it")).to_have_text(told)
    card(page, "list_notes").get_by_role("link", name="ci", exact=True).click()
    expect(page.get_by_text("ci may not use toolset drawer").first).to_be_visible()
    page.go_back()
    peg(page, SEARCH).click()
    expect(card(page, "search_books").get_by_text("Open the tool")).to_be_visible()
    expect(card(page, "search_books").get_by_role("list", name="Who does not get it")).to_have_count(0)


@pytest.mark.behaviour("web.wall_as_another")
def test_the_wall_is_seen_as_another_caller_gets_it(page: Page, served: Site) -> None:
    page.get_by_role("button", name="Seen by local. Change").click()
    dialog = page.get_by_role("dialog", name="Seen by")
    dialog.get_by_label("Principal").fill("ci")
    dialog.get_by_role("button", name="Look").click()
    expect(page).to_have_url(re.compile(r"\?as=ci$"))
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, locked")
    expect(peg(page, SEARCH)).to_have_attribute("aria-label", "search_books, open")
    peg(page, LIST).click()
    expect(card(page, "list_notes")).to_contain_text("ci")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="As I am").click()
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, open")


@pytest.mark.behaviour("web.wall_switches")
def test_space_throws_the_switch_and_turning_off_asks_for_a_note(page: Page, served: Site) -> None:
    peg(page, LIST).focus()
    page.keyboard.press("Space")
    dialog = page.get_by_role("dialog", name="Turn off list_notes")
    dialog.get_by_label("Note").fill("Moved to the archive")
    page.keyboard.press("Enter")
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, locked")
    peg(page, LIST).click()
    expect(card(page, "list_notes")).to_contain_text("Moved to the archive")
    card(page, "list_notes").get_by_role("button", name="Switch it on").click()
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, open")
    assert served.ask("GET", f"/tools/show?tool={LIST}")["verdict"] == "open"


@pytest.mark.behaviour("web.wall_switches")
def test_several_are_chosen_and_switched_together(page: Page, served: Site) -> None:
    names = [each["id"] for each in served.ask("GET", "/board")["tools"] if each["id"].startswith("mcp:drawer~")]
    first, second = [id for id in names if not id.endswith(("delete_note", "list_notes"))][:2]
    peg(page, first).click(modifiers=["Shift"])
    peg(page, second).click(modifiers=["Control"])
    region = page.get_by_role("region", name="Chosen tools")
    expect(region).to_contain_text("2 tools chosen")
    region.get_by_role("button", name="Turn off").click()
    page.get_by_role("dialog", name="Turn off 2 tools").get_by_role("button", name="Turn off").click()
    for id in (first, second):
        expect(peg(page, id)).to_have_attribute("aria-label", re.compile("locked$"))
    peg(page, first).click(modifiers=["Shift"])
    peg(page, second).click(modifiers=["Control"])
    page.get_by_role("region", name="Chosen tools").get_by_role("button", name="Turn on").click()
    for id in (first, second):
        expect(peg(page, id)).to_have_attribute("aria-label", re.compile("open$"))


@pytest.mark.behaviour("web.live")
def test_what_is_decided_elsewhere_shows_without_a_reload(page: Page, served: Site) -> None:
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, open")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    served.pegboard("tools", "disable", LIST)
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, locked")
    served.pegboard("tools", "enable", LIST)
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, open")


@pytest.mark.behaviour("web.wall_keys")
def test_arrows_go_from_peg_to_peg_and_letters_filter(page: Page) -> None:
    first = page.locator("[data-tool][tabindex='0']")
    expect(first).to_have_count(1)
    first.focus()
    here = page.evaluate("document.activeElement.dataset.tool")
    page.keyboard.press("ArrowRight")
    expect(page.locator(f'[data-tool="{here}"]')).not_to_be_focused()
    page.keyboard.press("End")
    page.wait_for_function("document.activeElement.dataset.tool?.length > 0")
    page.keyboard.press("Home")
    expect(page.locator(f'[data-tool="{here}"]')).to_be_focused()
    page.keyboard.type("search_b")
    expect(page.get_by_role("searchbox", name="Filter tools")).to_have_value("search_b")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/ui/tool"))


@pytest.mark.behaviour("web.wall_together")
def test_a_tool_that_hangs_in_two_toolsets_lights_up_together(page: Page) -> None:
    other = "mcp:reading~shared:search_books"

    def alike(route: Route) -> None:
        """Two toolsets of this board with one server each, as if both had the same."""
        body = route.fetch().json()
        pegs = [{**each, "serverId": "one"} if each["name"] == "search_books" else each for each in body["tools"]]
        route.fulfill(json={**body, "tools": pegs})

    page.route("**/api/v1/board*", alike)
    page.reload()
    peg(page, SEARCH).hover()
    expect(card(page, "search_books")).to_be_visible()
    expect(peg(page, other)).to_have_class(re.compile("is-highlighted"))


def test_nobody_who_only_reads_is_offered_a_switch(page: Page) -> None:
    page.route(
        "**/api/v1/session",
        lambda route: route.fulfill(json={"principal": "eve", "scopes": ["read"], "tokenId": "1"}),
    )
    page.reload()
    peg(page, LIST).focus()
    page.keyboard.press("Space")
    expect(card(page, "list_notes")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
