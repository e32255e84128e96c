"""A search laid open: bars, words, what was locked, the cost, and queries that are kept and run."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.web.looks import look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

SEARCH = "mcp:library~library:search_books"


def at_search(page: Page, served: Site, query: str = "") -> Page:
    page.goto(f"{served.address}/ui/search{query}")
    expect(page.get_by_role("heading", level=1, name="Search")).to_be_visible()
    return page


def results(page: Page) -> Locator:
    return page.get_by_role("region", name="Results").get_by_role("listitem")


def asked(page: Page, served: Site) -> None:
    """A word that no tool has, and one that a locked tool has."""
    at_search(page, served)
    page.get_by_role("searchbox", name="Query").fill("find books zeppelin delete note")
    expect(results(page).first).to_be_visible()


@pytest.mark.behaviour("web.search")
def test_each_result_shows_what_its_score_is_made_of(page: Page, served: Site) -> None:
    asked(page, served)
    told = served.ask("GET", "/search/playground?query=find%20books%20zeppelin%20delete%20note")
    expect(results(page).get_by_role("link")).to_have_text([hit["name"] for hit in told["hits"]])
    first = told["hits"][0]
    bar = results(page).first.get_by_role("img", name=f"What the score of {first['name']} is made of")
    said = f"description {first['scoreParts']['description']:.2f}"
    expect(bar).to_have_attribute("aria-label", re.compile(re.escape(said)))
    words = page.get_by_role("list", name="Words of the query").get_by_role("listitem")
    expect(words.filter(has_text="zeppelin")).to_contain_text("in no tool")
    expect(page.get_by_text(f"of {told['tokens']['all']:,}")).to_be_visible()
    expect(page).to_have_url(re.compile(r"[?&]q=find\+books"))


@pytest.mark.behaviour("web.search")
def test_what_is_left_out_because_it_is_locked_says_why(page: Page, served: Site) -> None:
    asked(page, served)
    locked = page.get_by_role("region", name="Left out because they are locked")
    expect(locked.get_by_role("listitem").filter(has_text="delete_note")).to_contain_text("is denied by the operator")


@pytest.mark.behaviour("web.search")
def test_k_bounds_the_results_and_stands_in_the_address(page: Page, served: Site) -> None:
    asked(page, served)
    page.get_by_label("k, the best").fill("2")
    expect(results(page)).to_have_count(2)
    expect(page).to_have_url(re.compile("[?&]k=2$"))
    page.reload()
    expect(results(page)).to_have_count(2)


@pytest.mark.behaviour("web.search_saved")
def test_a_query_is_saved_with_its_expected_tools_and_runs(page: Page, served: Site) -> None:
    at_search(page, served, "?q=find+books")
    page.get_by_role("checkbox", name="expected search_books").check()
    page.get_by_role("button", name="Save with 1 expected").click()
    dialog = page.get_by_role("dialog", name="Save this query")
    dialog.get_by_label("Name").fill("books by title")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    kept = served.ask("GET", "/search/queries")["queries"]
    assert [(each["name"], each["query"], each["expected"]) for each in kept] == [
        ("books by title", "find books", [SEARCH])
    ]
    saved = page.get_by_role("region", name="Saved queries")
    saved.get_by_role("button", name="Run 1 query").click()
    expect(saved.get_by_role("status")).to_contain_text("100 %")
    expect(saved.get_by_text("place 1")).to_be_visible()
    page.get_by_role("searchbox", name="Query").fill("")
    saved.get_by_role("button", name="books by title", exact=True).click()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("find books")
    saved.get_by_role("button", name="Forget books by title").click()
    expect(page.get_by_role("heading", name="No query is saved yet")).to_be_visible()


@pytest.mark.behaviour("web.search_saved")
def test_a_tool_that_is_not_there_cannot_be_expected_and_nothing_typed_is_lost(page: Page, served: Site) -> None:
    at_search(page, served, "?q=find+books")
    page.get_by_role("button", name="Save with expected tools").click()
    dialog = page.get_by_role("dialog", name="Save this query")
    dialog.get_by_label("Expected tools").fill("serch_books")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("serch_books")
    expect(dialog.get_by_label("Expected tools")).to_have_value("serch_books")


def test_more_than_may_be_asked_for_is_told_in_the_gateways_words(page: Page, served: Site) -> None:
    at_search(page, served, "?q=find+books&k=500")
    said = served.ask("GET", "/search/playground?query=find%20books&limit=500")["detail"]
    expect(page.get_by_role("alert")).to_have_text(re.compile(re.escape(said)))


@pytest.mark.behaviour("web.accessible")
def test_search_is_readable_to_everybody(page: Page, served: Site) -> None:
    kept = "/search/queries/delete%20a%20note"
    served.ask("PUT", kept, {"query": "delete a note", "expected": ["mcp:desk~desk:delete_note"]})
    at_search(page, served)
    expect(page.get_by_role("heading", name="Ask for something")).to_be_visible()
    look_over(page, "search-empty")
    asked(page, served)
    saved = page.get_by_role("region", name="Saved queries")
    saved.get_by_role("button", name=re.compile("^Run")).click()
    expect(saved.get_by_text("missed")).to_be_visible()
    look_over(page, "search", whole=True)
    served.ask("DELETE", kept)
