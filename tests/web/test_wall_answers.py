"""The wall answers: a name in vain, a lock by a file, a grant that is missing, each with the act that helps."""

import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.support.sentences import not_granted
from tests.web.boards import every_state
from tests.web.site import Site

pytestmark = pytest.mark.slow

DELETE = "mcp:drawer~drawer:delete_note"
WAITS = "mcp:desk~desk:list_notes"
LIST = "mcp:drawer~drawer:list_notes"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return every_state()


def peg(page: Page, id: str) -> Locator:
    return page.locator(f'[data-tool="{id}"]')


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=f"About {name}")


@pytest.fixture
def page(page: Page, served: Site) -> Page:
    """At the wall."""
    page.goto(f"{served.address}/ui/")
    return page


@pytest.mark.behaviour("web.name_in_vain")
def test_a_name_that_no_peg_has_is_answered_where_it_is_typed(page: Page) -> None:
    page.get_by_role("searchbox", name="Filter tools").fill("delete_noet")
    told = page.locator(".board .unknown-tool")
    expect(told.get_by_role("link", name=DELETE)).to_be_visible()
    expect(told).to_contain_text("attic~attic")
    expect(told).to_contain_text("broken~broken")
    expect(told.get_by_role("button", name="Restart broken~broken")).to_be_visible()
    # Live: the attic comes up and is known, by the one act that is offered for it.
    told.get_by_role("button", name="Switch server attic~attic on").click()
    expect(told).not_to_contain_text("attic~attic")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find a tool, server or screen").fill("delete_noet")
    palette = page.get_by_role("dialog", name="Find a tool, server or screen")
    palette.get_by_role("link", name=DELETE).click()
    expect(page).to_have_url(re.compile("/ui/tool"))


@pytest.mark.behaviour("web.file_lock")
def test_a_lock_by_the_file_names_the_line_and_what_to_do_and_its_switch_is_no_answer(page: Page, served: Site) -> None:
    denied = "mcp:reading~shared:count_books"
    peg(page, denied).click()
    about = card(page, "count_books")
    expect(about).to_contain_text("Take count_books out of disabled_tools")
    expect(about.locator("code", has_text=f"{served.config}:")).to_be_visible()
    expect(about).to_contain_text("Its switch is on; it is locked by the file.")
    page.keyboard.press("Escape")
    peg(page, denied).focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("count_books: Its switch is on; it is locked by the file.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.behaviour("web.wall_switches")
def test_whoever_turns_a_tool_off_writes_at_once(page: Page) -> None:
    peg(page, LIST).focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("dialog", name="Turn off list_notes").get_by_label("Note")).to_be_focused()


@pytest.mark.behaviour("web.grant", "locked.what_remains_is_told")
def test_what_a_caller_lacks_is_granted_after_a_look_and_what_remains_is_told(page: Page, served: Site) -> None:
    token = {"principal": "bot", "name": "x", "scopes": ["call"], "toolsets": ["library"]}
    served.ask("POST", "/tokens", token)
    page.goto(f"{served.address}/ui/?as=bot")
    peg(page, WAITS).click()
    about = card(page, "list_notes")
    expect(about).to_contain_text(not_granted("bot", "desk", "library"))
    about.get_by_role("button", name="and 1 more").click()
    expect(about).to_contain_text(f"{WAITS} is waiting for a person's approval.")
    about.get_by_role("button", name="Grant desk to bot").click()
    dialog = page.get_by_role("dialog", name="Grant desk to bot")
    expect(dialog).to_contain_text("bot may then use exactly: desk, library.")
    dialog.get_by_role("button", name="Grant", exact=True).click()
    expect(peg(page, WAITS)).to_have_attribute("aria-label", "list_notes, wants you")
    [bot] = [each for each in served.ask("GET", "/principals")["principals"] if each["id"] == "bot"]
    assert bot["toolsets"] == ["desk", "library"]
