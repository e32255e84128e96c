"""What is in a toolset: the lists of includes and excludes, and the live set beside them."""

import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.served import DEMO
from tests.web.boards import server
from tests.web.looks import look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

LIBRARY = DEMO.parent / "library_server.py"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return {
        "servers": {
            "books": server(LIBRARY, trust="open", toolset="reading"),
            "shelves": server(LIBRARY, trust="strict", toolset="reading"),
        },
        "overrides": {"reading": {"shelves:count_*": {"enabled": False}}},
    }


@pytest.fixture(autouse=True)
def chosen_by_nobody(served: Site) -> None:
    served.ask("PUT", "/toolsets/reading/choice", {})


def editor(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/toolsets?id=reading&tab=choice")
    expect(live(page).get_by_role("listitem").first).to_be_visible()


def live(page: Page) -> Locator:
    return page.get_by_role("list", name="Live set")


def put(page: Page, listed: str, text: str) -> None:
    page.get_by_label(f"{listed} a tool or pattern").fill(text)
    page.get_by_role("region", name=listed).get_by_role("button", name="Add").click()


@pytest.mark.behaviour("web.toolset_chosen")
def test_includes_and_excludes_show_their_set_before_they_are_saved(page: Page, served: Site) -> None:
    editor(page, served)
    page.get_by_role("tab", name="Tools", exact=False).first.click()
    page.get_by_role("tab", name="Includes and excludes").click()
    before = len(served.ask("GET", "/tools")["tools"])
    assert before > 0
    put(page, "Exclude", "*")
    expect(live(page).locator("del").first).to_be_visible()
    expect(live(page).locator("ins")).to_have_count(0)
    put(page, "Include", "books:search_*")
    kept = live(page).get_by_role("listitem").filter(has_text="is open by books:search_*")
    expect(kept).to_have_count(1)
    expect(page.get_by_role("region", name="Include")).to_contain_text("fits 1 tool")
    assert served.ask("GET", "/toolsets/reading/choice")["excludes"] == []
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("reading has 1 tool", exact=True)).to_be_visible()
    expect(live(page).locator("del")).to_have_count(0)
    told = served.ask("GET", "/toolsets/reading/choice")
    assert [each["name"] for each in told["tools"] if each["change"] == "in"] == ["search_books"]
    page.get_by_role("button", name="Take *:* off the list Exclude").click()
    expect(live(page).locator("ins").first).to_be_visible()
    expect(live(page).locator("del")).to_have_count(0)
    page.get_by_role("button", name="Start over").click()
    expect(live(page).locator("ins")).to_have_count(0)
    page.goto(f"{served.address}/ui/tool?id=mcp:reading~books:count_books&tab=why")
    expect(page.get_by_text("hidden by a person's override").first).to_be_visible()


@pytest.mark.behaviour("web.toolset_chosen")
def test_what_the_file_keeps_out_and_what_waits_say_so(page: Page, served: Site) -> None:
    editor(page, served)
    put(page, "Include", "count_*")
    put(page, "Exclude", "search_*")
    put(page, "Exclude", "nothing_*")
    expect(live(page).locator("del")).to_have_count(2)
    expect(page.get_by_role("region", name="Exclude")).to_contain_text("fits no tool now")
    expect(page.get_by_role("region", name="Said elsewhere")).to_contain_text(re.compile(r"pegboard\.yaml:\d+"))
    expect(live(page)).to_contain_text("is waiting for a person's approval")
    look_over(page, "toolset-choice", whole=True)
    put(page, "Include", "raed_book")
    expect(page.get_by_text("lists no tool 'raed_book'")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()


@pytest.mark.behaviour("web.toolset_chosen")
def test_whoever_saves_on_an_older_policy_is_told_and_looks_again(page: Page, served: Site) -> None:
    editor(page, served)
    put(page, "Exclude", "search_*")
    expect(live(page).locator("del").first).to_be_visible()
    served.ask("POST", "/tools/switch", {"tool": "mcp:reading~books:count_books", "enabled": False})
    told = page.get_by_role("alert").filter(has_text="Your lists are kept.")
    expect(told).to_contain_text("mcp:reading~books:count_books switched off")
    page.get_by_role("button", name="Save").click()
    expect(told).to_contain_text("Nothing of what you just did was carried out.")
    assert served.ask("GET", "/toolsets/reading/choice")["excludes"] == []
    page.get_by_role("button", name="Save").click()
    expect(told).to_have_count(0)
    assert [each["target"] for each in served.ask("GET", "/toolsets/reading/choice")["excludes"]] == ["*:search_*"]
    served.ask("PUT", "/toolsets/reading/choice", {"includes": [], "excludes": []})
    served.ask("POST", "/tools/switch", {"tool": "mcp:reading~books:count_books", "enabled": True})
