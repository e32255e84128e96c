"""Settings: who may do what, tokens that are told once, what is kept, and the policy as one file."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.web.boards import every_state
from tests.web.looks import LOOKS, look_over, new_context
from tests.web.site import DEADLINE, Site, hold_answer

pytestmark = pytest.mark.slow

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a client of the tests", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return every_state()


def settings(page: Page, served: Site, tab: str) -> None:
    page.goto(f"{served.address}/ui/settings?tab={tab}")
    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()


def knock(served: Site, token: str) -> int:
    """What a client with this token is answered at /mcp."""
    headers = {
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    request = Request(f"{served.address}/mcp", data=json.dumps(HELLO).encode(), headers=headers, method="POST")
    try:
        with urlopen(request, timeout=DEADLINE) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def make(page: Page, whose: str, what: str) -> None:
    page.get_by_role("button", name="Make a token").first.click()
    form = page.get_by_role("dialog", name="Make a token")
    form.get_by_label("Whose it is").fill(whose)
    form.get_by_label("What it is for").fill(what)
    form.get_by_role("button", name="Make it").click()


def drawer(page: Page, who: str) -> Locator:
    return page.get_by_role("dialog", name=who, exact=True)


@pytest.mark.behaviour("web.settings")
def test_every_tab_is_readable_to_everybody(page: Page, served: Site) -> None:
    for tab, shows in (
        ("people", "MCP clients must say who they are"),
        ("tokens", "No token was made yet"),
        ("storage", "SQLite"),
        ("policy", "pegboard_policy"),
        ("all", "audit.keep_days"),
    ):
        settings(page, served, tab)
        expect(page.get_by_role("tabpanel")).to_contain_text(shows)
        look_over(page, f"settings-{tab}", whole=tab != "all")


@pytest.mark.behaviour("web.settings")
def test_a_setting_says_where_its_value_comes_from(page: Page, served: Site) -> None:
    settings(page, served, "all")
    page.get_by_role("searchbox", name="Find a setting").fill("deny")
    deny = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="deny", exact=True))
    expect(deny).to_contain_text("*:delete_*")
    expect(deny).to_contain_text(re.compile(r"pegboard\.yaml:\d+"))
    expect(deny).to_contain_text("Change it there.")
    page.get_by_role("searchbox", name="Find a setting").fill("keep_days")
    expect(page.get_by_role("listitem").filter(has_text="audit.keep_days")).to_contain_text("90")
    expect(page).to_have_url(re.compile(r"tab=all&q=keep_days$"))
    page.get_by_role("searchbox", name="Find a setting").fill("there is no such thing")
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_role("heading", name="audit.keep_days")).to_be_visible()


@pytest.mark.behaviour("web.settings_tokens")
def test_a_token_is_told_once_opens_the_endpoint_and_is_taken_back(narrow_page: Page, served: Site) -> None:
    page, what = narrow_page, "nightly"
    settings(page, served, "tokens")
    make(page, "builder", what)
    told = page.get_by_role("region", name="The new token")
    token = told.locator("pre").first.inner_text().strip()
    look_over(page, "settings-token-told")
    assert (token.startswith("pgb_"), knock(served, token)) == (True, 200)
    told.get_by_role("button", name="I have kept it").click()
    expect(page.get_by_text(token)).to_have_count(0)
    row = page.get_by_role("row").filter(has_text=what)
    expect(row).to_contain_text("active")
    row.get_by_role("button", name=f"Revoke {what}").click()
    page.get_by_role("dialog", name=f"Revoke {what}").get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    expect(row).not_to_contain_text("never")
    assert (knock(served, token), token in page.content()) == (401, False)


@pytest.mark.behaviour("web.settings_tokens", "confirmation.interactive")
def test_a_token_form_marks_a_principal_interactive_only_where_that_is_said(page: Page, served: Site) -> None:
    settings(page, served, "tokens")
    for who, marks in (("quiet-agent", False), ("person", True)):
        page.get_by_role("button", name="Make a token").first.click()
        form = page.get_by_role("dialog", name="Make a token")
        form.get_by_label("Whose it is").fill(who)
        form.get_by_label("What it is for").fill("a client")
        box = form.get_by_role("checkbox", name="A person: interactive")
        expect(box).not_to_be_checked()
        if marks:
            box.check()
        form.get_by_role("button", name="Make it").click()
        page.get_by_role("region", name="The new token").get_by_role("button", name="I have kept it").click()
    settings(page, served, "people")
    expect(page.get_by_role("row").filter(has_text="quiet-agent")).to_contain_text("by tickets")
    expect(page.get_by_role("row").filter(has_text="person").first).to_contain_text("in its clients")


@pytest.mark.behaviour("web.settings_tokens")
def test_a_token_that_the_gateway_refuses_leaves_what_was_typed(page: Page, served: Site) -> None:
    settings(page, served, "tokens")
    make(page, "ci", "The file says who ci is")
    form = page.get_by_role("dialog", name="Make a token")
    expect(form.get_by_role("alert")).to_contain_text("ci")
    expect(form.get_by_label("What it is for")).to_have_value("The file says who ci is")


@pytest.mark.behaviour("web.settings_grants")
def test_a_grant_changes_what_the_wall_shows_that_caller(page: Page, served: Site) -> None:
    served.ask("POST", "/tokens", {"principal": "reader", "name": "reading", "scopes": ["call"]})
    opened = f"{served.address}/ui/?as=reader"
    notes, books = "mcp:drawer~drawer:list_notes", "mcp:library~library:search_books"
    page.goto(opened)
    expect(page.locator(f'[data-tool="{notes}"]')).to_have_attribute("aria-label", "list_notes, open")
    page.goto(f"{served.address}/ui/settings?tab=people&id=reader")
    choice = drawer(page, "reader")
    choice.get_by_label("Only these").check()
    choice.get_by_label("library", exact=True).check()
    look_over(page, "settings-grant", looks=LOOKS[:1])
    choice.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="reader")).to_contain_text("library")
    page.goto(opened)
    expect(page.locator(f'[data-tool="{notes}"]')).to_have_attribute("aria-label", "list_notes, locked")
    expect(page.locator(f'[data-tool="{books}"]')).to_have_attribute("aria-label", "search_books, open")


@pytest.mark.behaviour("web.settings_collide")
def test_the_second_of_two_operators_is_told_and_loses_nothing(page: Page, browser: Browser, served: Site) -> None:
    served.ask("POST", "/tokens", {"principal": "shared", "name": "both", "scopes": ["call"]})
    place = f"{served.address}/ui/settings?tab=people&id=shared"
    page.goto(place)
    mine = drawer(page, "shared")
    mine.get_by_label("Only these").check()
    mine.get_by_label("library", exact=True).check()
    with new_context(browser) as other:
        second = other.new_page()
        second.goto(served.entrance)
        second.wait_for_url("**/ui/")
        second.goto(place)
        theirs = drawer(second, "shared")
        theirs.get_by_label("Only these").check()
        theirs.get_by_label("reading", exact=True).check()
        theirs.get_by_role("button", name="Save").click()
        expect(theirs).to_have_count(0)
    expect(mine).to_contain_text("Somebody else changed this meanwhile: reading")
    look_over(page, "settings-collided", looks=LOOKS[:1])
    mine.get_by_role("button", name="Save").click()
    expect(mine).to_contain_text("Nothing of what you just did was carried out.")
    expect(mine.get_by_label("library", exact=True)).to_be_checked()
    expect(mine.get_by_label("reading", exact=True)).not_to_be_checked()
    mine.get_by_role("button", name="Save").click()
    expect(mine).to_have_count(0)
    granted = {each["id"]: each["toolsets"] for each in served.ask("GET", "/principals")["principals"]}
    assert granted["shared"] == ["library"]


@pytest.mark.behaviour("web.settings")
def test_a_person_who_is_forgotten_before_the_answer_arrives_is_asked_for_no_more(page: Page, served: Site) -> None:
    served.ask("POST", "/tokens", {"principal": "leaver", "name": "last day", "scopes": ["call"]})
    settings(page, served, "people&id=leaver")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    drawer(page, "leaver").get_by_role("button", name="Forget").click()
    held = hold_answer(page, "/principals/leaver*")
    page.get_by_role("dialog", name="Forget leaver").get_by_role("button", name="Forget").click()
    stale = page.get_by_text("Nobody here is called “leaver”.")
    expect(stale).to_be_visible()
    ((route, answer),) = held
    route.fulfill(response=answer)
    expect(stale).to_be_hidden()


@pytest.mark.behaviour("web.settings_policy")
def test_a_policy_is_taken_out_and_put_in_with_its_difference(page: Page, served: Site, tmp_path: Path) -> None:
    tool = "mcp:library~library:get_book"
    served.ask("POST", "/tools/switch", {"tool": tool, "enabled": False, "note": "for the tests"})
    settings(page, served, "policy")
    with page.expect_download() as begun:
        page.get_by_role("link", name="Download the policy").click()
    kept = tmp_path / "policy.json"
    begun.value.save_as(kept)
    served.ask("POST", "/tools/switch", {"tool": tool, "enabled": True})
    page.get_by_label("Policy file").set_input_files(kept)
    page.get_by_role("button", name="What would change").click()
    difference = page.get_by_role("region", name="The difference")
    expect(difference).to_contain_text(tool)
    expect(difference.get_by_role("listitem").filter(has=page.get_by_role("link", name=tool)).first).to_contain_text(
        "locked"
    )
    look_over(page, "settings-import", looks=LOOKS[:1], whole=True)
    page.get_by_role("button", name="Import it").click()
    expect(page.get_by_role("region", name="Import")).to_contain_text("It holds since just now")
    assert served.ask("GET", f"/tools/show?tool={tool}")["verdict"] == "locked"


@pytest.mark.behaviour("web.settings_policy")
def test_a_policy_that_cannot_be_read_is_told_in_words_and_kept(page: Page, served: Site) -> None:
    settings(page, served, "policy")
    page.get_by_label("The policy's text").fill('{"pegboard_policy": 1, "switches": "all"}')
    page.get_by_role("button", name="What would change").click()
    expect(page.get_by_role("region", name="Import").get_by_role("alert")).to_contain_text("switches")
    expect(page.get_by_label("The policy's text")).to_have_value('{"pegboard_policy": 1, "switches": "all"}')
