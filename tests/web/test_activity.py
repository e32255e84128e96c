"""What happened, as people see it: live, narrowed, one call in full, and taken away."""

import csv
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect
from tests.e2e.served import DEMO
from tests.web.looks import look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

SEARCH = "mcp:library~library:search_books"
LOCKED = "mcp:desk~desk:delete_note"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    """The demo's, which records what goes in and out."""
    demo = yaml.safe_load(DEMO.read_text("utf-8"))
    for server in demo["servers"].values():
        server["cwd"] = str(DEMO.parent)
    return {**demo, "audit": {"arguments": True, "results": True}}


def tried(served: Site, tool: str = SEARCH, **arguments: object) -> Any:
    return served.ask("POST", "/call", {"tool": tool, "arguments": arguments, "trial": True})


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Records, the newest first").get_by_role("listitem")


def at_activity(page: Page, served: Site, query: str = "") -> Page:
    page.goto(f"{served.address}/ui/activity{query}")
    expect(page.get_by_role("heading", level=1, name="Activity")).to_be_visible()
    return page


@pytest.mark.behaviour("web.activity")
def test_a_call_appears_while_the_page_is_looked_at(page: Page, served: Site) -> None:
    tried(served, query="first")
    at_activity(page, served, "?kind=call")
    expect(rows(page).first).to_contain_text("search_books")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    before = rows(page).count()
    called = tried(served, query="whale")
    expect(rows(page)).to_have_count(before + 1)
    rows(page).first.get_by_role("link").click()
    drawer = page.get_by_role("dialog", name="search_books")
    expect(drawer).to_contain_text(called["callId"])
    expect(drawer).to_contain_text("whale")
    expect(drawer.get_by_role("region", name="Where the time went")).to_contain_text("provider")
    expect(drawer.get_by_text("trial", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"[?&]open=\d+"))


@pytest.mark.behaviour("web.activity")
def test_a_refused_call_is_a_row_with_its_reason_and_is_resolved_again(page: Page, served: Site) -> None:
    refused = tried(served, LOCKED, name="a")
    at_activity(page, served, f"?call={refused['callId']}")
    drawer = page.get_by_role("dialog", name="delete_note")
    expect(drawer).to_contain_text("disabled by config")
    now = drawer.get_by_role("region", name="Then and now")
    expect(now).to_contain_text("the same")
    with page.expect_response(re.compile(r"/api/v1/activity/\d+$")):
        now.get_by_role("button", name="Resolve again now").click()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    refusal = rows(page).filter(has_text="delete_note").first
    said = served.ask("GET", "/activity?kind=refusal&limit=1")["activity"][0]["message"]
    expect(refusal).to_contain_text(said)


@pytest.mark.behaviour("web.activity")
def test_filters_narrow_the_list_and_stand_in_the_address(page: Page, served: Site) -> None:
    tried(served, query="one")
    tried(served, LOCKED, name="b")
    at_activity(page, served)
    filters = page.get_by_role("search", name="Filter")
    filters.get_by_label("Text").fill("DELETE_note")
    expect(rows(page).filter(has_text="search_books")).to_have_count(0)
    expect(rows(page).first).to_contain_text("delete_note")
    expect(page).to_have_url(re.compile(r"[?&]q=DELETE_note"))
    filters.get_by_label("Outcome").select_option("disabled_by_config")
    filters.get_by_label("Slower than").fill("9999")
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    expect(page).to_have_url(re.compile(r"[?&]slower=9999"))
    page.reload()
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(rows(page).filter(has_text="search_books").first).to_be_visible()
    expect(page).to_have_url(f"{served.address}/ui/activity")


@pytest.mark.behaviour("web.activity")
def test_what_is_shown_is_taken_away_as_lines_and_as_a_table(page: Page, served: Site) -> None:
    tried(served, query="export")
    at_activity(page, served, "?tool=search_books")
    with page.expect_download() as lines:
        page.get_by_role("link", name="JSON lines").click()
    told = [json.loads(line) for line in lines.value.path().read_text("utf-8").splitlines()]
    with page.expect_download() as table:
        page.get_by_role("link", name="CSV").click()
    cells = [*csv.DictReader(table.value.path().read_text("utf-8").splitlines())]
    assert {record["subject"] for record in told} == {SEARCH}
    assert [int(row["id"]) for row in cells] == [record["id"] for record in told]


@pytest.mark.behaviour("web.activity")
def test_what_a_program_called_is_found_with_it(page: Page, served: Site) -> None:
    ran = served.ask("POST", "/run", {"code": 'await library.search_books(query="whale")'})
    assert ran["outcome"] == "returned", ran
    at_activity(page, served, "?kind=call")
    rows(page).filter(has_text="python_execution").first.get_by_role("link").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("region", name="1 call of this program").get_by_role("button").click()
    expect(page.get_by_role("dialog", name="search_books")).to_contain_text("Called by")


def test_the_numbers_stand_above_with_the_formula_of_what_was_saved(page: Page, served: Site) -> None:
    tried(served, query="numbers")
    at_activity(page, served)
    numbers = page.get_by_role("region", name="The last hour in numbers")
    expect(numbers.get_by_role("img", name=re.compile("^Calls a minute"))).to_be_visible()
    expect(numbers.get_by_role("img", name=re.compile("^Time a call took"))).to_be_visible()
    expect(numbers.get_by_role("img", name=re.compile("^How calls ended: .*returned"))).to_be_visible()
    numbers.get_by_role("button", name="how it is counted").hover()
    formula = served.ask("GET", "/activity/summary")["savings"]["formula"]
    expect(numbers.get_by_role("tooltip")).to_have_text(formula)
    expect(numbers.get_by_role("tooltip")).to_be_visible()


def test_a_record_that_is_gone_is_told_in_the_gateways_words(page: Page, served: Site) -> None:
    at_activity(page, served, "?open=999999")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("There is no record 999999.")


@pytest.mark.behaviour("web.accessible")
def test_activity_is_readable_to_everybody(page: Page, served: Site) -> None:
    tried(served, query="whale")
    refused = tried(served, LOCKED, name="c")
    at_activity(page, served)
    expect(rows(page).filter(has_text="search_books").first).to_be_visible()
    look_over(page, "activity")
    page.goto(f"{served.address}/ui/activity?call={refused['callId']}")
    expect(page.get_by_role("dialog", name="delete_note")).to_contain_text("Then and now")
    look_over(page, "activity-refusal")
    page.goto(f"{served.address}/ui/activity?call={tried(served, query='sea')['callId']}")
    expect(page.get_by_role("dialog", name="search_books")).to_contain_text("Where the time went")
    look_over(page, "activity-call")
