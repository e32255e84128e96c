"""The screen of one tool while several work at it: drafts that meet, what a file has fixed, and who only looks."""

import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from tests.e2e.served import DEMO
from tests.web.boards import server
from tests.web.looks import look_over, new_context
from tests.web.site import Site

pytestmark = pytest.mark.slow

SEARCH, GET, COUNT = (f"mcp:library~library:{name}" for name in ("search_books", "get_book", "count_books"))
DELETE, WRITE = "mcp:desk~desk:delete_note", "mcp:desk~desk:write_note"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    """A file that pins and hides some arguments of one tool; and two servers that offer the same."""
    library, desk = DEMO.parent / "library_server.py", DEMO.parent / "desk_server.py"
    fixed = {"limit": {"pin": 5}, "offset": {"hide": True}}
    return {
        "servers": {
            "library": server(library, trust="open"),
            "shared": server(library, trust="open", toolset="reading"),
            "desk": server(desk, trust="open", env={"DESK_DIR": "${DESK_DIR}"}),
        },
        "overrides": {
            "library": {SEARCH: {"arguments": fixed, "description_override": "Find a book."}},
            "desk": {WRITE: {"arguments": {"text": {"pin": "${DESK_DIR}"}}}},
        },
    }


def opened(page: Page, served: Site, tool: str, tab: str = "override") -> Locator:
    page.goto(f"{served.address}/ui/tool?id={tool}&tab={tab}")
    panel = page.get_by_role("tabpanel", name=re.compile("Override|Try it"))
    expect(
        panel.get_by_role("textbox", name="Description").or_(panel.get_by_role("button", name="Call it")).first
    ).to_be_visible()
    return panel


def said_of(served: Site, tool: str) -> dict[str, object]:
    """What people said of it, field by field."""
    told = served.ask("GET", f"/why?tool={tool}")["overrides"]
    return {each["field"]: each["value"] for each in told if not each["declared"]}


def save(page: Page) -> None:
    page.get_by_role("button", name="Save…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_be_hidden()


@pytest.mark.behaviour("web.tool_drafts")
def test_a_draft_outlives_what_somebody_else_saves_and_its_writer_chooses(page: Page, served: Site) -> None:
    panel = opened(page, served, GET)
    panel.get_by_role("textbox", name="Description").fill("Words of Q")
    panel.get_by_label("Words for book_id").fill("Which one")
    served.ask(
        "POST",
        "/overrides",
        {"target": GET, "set": {"description_override": "Words of P", "name_override": "Name of P"}},
    )
    others = page.get_by_role("region", name="Changed by somebody else")
    expect(others).to_contain_text("Name for people: as it is without an override")
    expect(others).to_contain_text("“Words of P”; yours: “Words of Q”")
    expect(panel.get_by_role("textbox", name="Description")).to_have_value("Words of Q")
    expect(panel.get_by_role("button", name="Save…")).to_be_disabled()
    onward = others.get_by_role("button", name="Go on with this")
    expect(onward).to_be_disabled()
    others.get_by_role("button", name="Keep mine").click()
    onward.click()
    expect(others).to_be_hidden()
    expect(panel.get_by_label("Name for people")).to_have_value("Name of P")
    expect(panel.get_by_role("textbox", name="Description")).to_have_value("Words of Q")
    save(page)
    assert said_of(served, GET) == {
        "name_override": "Name of P",
        "description_override": "Words of Q",
        "arguments.book_id.description": "Which one",
    }


@pytest.mark.behaviour("web.tool_drafts")
def test_theirs_can_be_taken_and_a_look_at_another_tab_loses_no_draft(page: Page, served: Site) -> None:
    panel = opened(page, served, COUNT)
    panel.get_by_label("Name for people").fill("Name of Q")
    panel.get_by_role("textbox", name="Description").fill("Words of Q")
    page.get_by_role("tab", name="Why").click()
    expect(page.get_by_role("list", name="Rules, in the order in which they are asked")).to_be_visible()
    served.ask("POST", "/overrides", {"target": COUNT, "set": {"description_override": "Words of P"}})
    page.get_by_role("tab", name="Override").click()
    others = page.get_by_role("region", name="Changed by somebody else")
    others.get_by_role("button", name="Take theirs").click()
    others.get_by_role("button", name="Go on with this").click()
    expect(panel.get_by_role("textbox", name="Description")).to_have_value("Words of P")
    expect(panel.get_by_label("Name for people")).to_have_value("Name of Q")
    save(page)
    assert said_of(served, COUNT) == {"name_override": "Name of Q", "description_override": "Words of P"}


@pytest.mark.behaviour("web.tool_drafts")
def test_a_save_that_comes_too_late_is_refused_and_nothing_of_it_is_lost(page: Page, served: Site) -> None:
    """The page does not hear of the other's save before its own: the gateway is the one who tells."""
    tool = "mcp:library~library:list_shelves"
    page.route("**/api/v1/events*", lambda route: route.abort())
    panel = opened(page, served, tool)
    panel.get_by_role("textbox", name="Description").fill("Words of Q")
    page.get_by_role("button", name="Save…").click()
    dialog = page.get_by_role("dialog")
    sent: list[str | None] = []
    based = served.ask("GET", "/status")["policyVersion"]

    def late(route: Route) -> None:
        if not sent:
            served.ask("POST", "/overrides", {"target": tool, "set": {"description_override": "Words of P"}})
        sent.append(route.request.headers.get("if-match"))
        route.continue_()

    page.route("**/api/v1/overrides", late)
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_contain_text("Yours is not saved, and nothing of it is lost.")
    dialog.get_by_role("button", name="Look at what changed").click()
    expect(panel.get_by_role("textbox", name="Description")).to_have_value("Words of Q")
    others = page.get_by_role("region", name="Changed by somebody else")
    others.get_by_role("button", name="Keep mine").click()
    others.get_by_role("button", name="Go on with this").click()
    save(page)
    assert said_of(served, tool) == {"description_override": "Words of Q"}
    assert sent == [f'"{based}"', f'"{based + 1}"']


@pytest.mark.behaviour("web.tool_drafts")
def test_another_decision_on_the_board_asks_for_the_save_once_more(page: Page, served: Site) -> None:
    tool = "mcp:desk~desk:list_notes"
    panel = opened(page, served, tool)
    panel.get_by_role("textbox", name="Description").fill("Words of Q")
    page.get_by_role("button", name="Save…").click()
    served.ask("POST", "/overrides", {"target": "mcp:desk~desk:read_note", "set": {"name_override": "Read"}})
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_contain_text("This tool's override is as it was: save again.")
    assert said_of(served, tool) == {}
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_be_hidden()
    assert said_of(served, tool) == {"description_override": "Words of Q"}


@pytest.mark.behaviour("web.tool_fixed")
def test_what_the_file_pins_or_hides_is_shown_locked_with_its_line(page: Page, served: Site) -> None:
    panel = opened(page, served, SEARCH)
    line = re.compile(r"by pegboard\.yaml:\d+: only an edit of the file changes it\.")
    for name, how in (("limit", "Pinned"), ("offset", "Hidden")):
        item = panel.get_by_role("listitem").filter(has_text=line).filter(has_text=name)
        expect(item).to_contain_text(how)
        expect(panel.get_by_label(f"What becomes of {name}")).to_have_count(0)
    expect(panel.get_by_label("What becomes of query")).to_be_visible()
    panel.get_by_label("Words for query").fill("What to look for")
    expect(page.get_by_role("region", name="Preview")).to_contain_text("look for")


@pytest.mark.behaviour("web.tool_fixed")
def test_a_trial_shows_what_is_pinned_locked_and_says_what_is_hidden(page: Page, served: Site) -> None:
    served.ask("POST", "/overrides", {"target": SEARCH, "set": {"arguments": {"filter": {"pin": {"shelf": "sea"}}}}})
    panel = opened(page, served, SEARCH, "try")
    for name, shows in (("limit", "pinned, hidden"), ("offset", "hidden"), ("filter", "pinned, hidden")):
        field = panel.get_by_role("textbox", name=name, exact=True)
        expect(field).to_have_value(shows)
        expect(field).not_to_be_editable()
    expect(panel).to_contain_text(re.compile(r"Pinned by pegboard\.yaml:\d+: every call is sent with it\."))
    expect(panel).to_contain_text("no caller can send it, and the tool gets none.")
    opened(page, served, WRITE, "try")
    expect(panel.get_by_role("textbox", name="text", exact=True)).to_have_value("${DESK_DIR}")


@pytest.mark.behaviour("web.tool_checks")
def test_a_trial_that_lacks_something_is_stopped_in_the_form(own_page: Page, served: Site) -> None:
    page = own_page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/call") else None)
    panel = opened(page, served, DELETE, "try")
    panel.get_by_role("button", name="Call it").click()
    name = panel.get_by_role("textbox", name=re.compile("name"))
    expect(name).to_be_focused()
    expect(panel.get_by_role("alert")).to_have_text("This is required: write its value.")
    expect(page.get_by_role("dialog")).to_have_count(0)
    name.fill("kept")
    expect(panel.get_by_role("alert")).to_have_count(0)
    panel.get_by_role("button", name="Call it").click()
    expect(page.get_by_role("dialog", name="Call delete_note?")).to_contain_text('"name": "kept"')
    page.get_by_role("button", name="Do not call it").click()
    panel.get_by_label("Write the arguments as JSON").check()
    written = panel.get_by_role("textbox", name="Arguments")
    written.fill('{"name": 7}')
    panel.get_by_role("button", name="Call it").click()
    expect(panel.get_by_role("alert")).to_have_text("name: This must be text.")
    written.fill('{"name": "k')
    panel.get_by_role("button", name="Call it").click()
    expect(written).to_be_focused()
    expect(panel.get_by_role("alert")).to_contain_text("This is not JSON yet")
    assert asked == []


@pytest.mark.behaviour("web.tool_fixed")
def test_a_first_pin_is_asked_for_as_a_first_one(page: Page, served: Site) -> None:
    panel = opened(page, served, "mcp:reading~shared:count_books")
    panel.get_by_label("What becomes of shelf").select_option("Pinned")
    expect(panel).to_contain_text("Write the value to pin for shelf: every call is then sent with it.")
    panel.get_by_label("Value of shelf").fill("sea")
    save(page)
    panel.get_by_label("What becomes of shelf").select_option("Hidden")
    panel.get_by_label("What becomes of shelf").select_option("Pinned")
    expect(panel.get_by_label("Value of shelf")).to_have_attribute("placeholder", "pinned; write it again to change")
    expect(panel).not_to_contain_text("Write the value to pin")


@pytest.mark.behaviour("web.tool_words")
def test_one_starts_from_the_words_that_hold_and_the_same_words_are_no_override(page: Page, served: Site) -> None:
    tool = "mcp:reading~shared:get_book"
    words = served.ask("GET", f"/tools/show?tool={tool}")["asOffered"]["description"]
    panel = opened(page, served, tool)
    panel.get_by_role("button", name="Start from the provider's words").click()
    expect(panel.get_by_role("textbox", name="Description")).to_have_value(words)
    expect(panel).to_contain_text("Change something, and what a model would see appears here")
    expect(panel.get_by_role("button", name="Save…")).to_be_disabled()
    panel.get_by_role("textbox", name="Description").fill(f"{words} Nothing else.")
    expect(panel.get_by_role("button", name="Save…")).to_be_enabled()
    opened(page, served, SEARCH)
    panel.get_by_role("button", name="Start from the words that hold now").click()
    expect(panel.get_by_role("textbox", name="Description")).to_have_value("Find a book.")


@pytest.mark.behaviour("web.reader")
def test_who_only_looks_is_offered_no_call_and_no_import(browser: Browser, served: Site) -> None:
    token = served.ask("POST", "/tokens", {"principal": "eyes", "name": "looking", "scopes": ["read"]})["token"]
    with new_context(browser) as made:
        page = made.new_page()
        served.sign_in(page, token)
        page.goto(f"{served.address}/ui/tool?id={SEARCH}&tab=try")
        panel = page.get_by_role("tabpanel", name="Try it")
        expect(panel).to_contain_text("Your token may look, not call")
        expect(panel.get_by_role("button", name="Call it")).to_have_count(0)
        expect(panel.get_by_role("textbox", name="limit", exact=True)).to_have_value("pinned, hidden")
        page.goto(f"{served.address}/ui/settings?tab=policy")
        expect(page.get_by_role("tabpanel")).to_contain_text("takes the scope operate")
        expect(page.get_by_role("heading", name="Put one in")).to_have_count(0)


@pytest.mark.behaviour("web.reader")
def test_an_operator_who_is_no_administrator_is_offered_no_import_of_programs(browser: Browser, served: Site) -> None:
    token = served.ask("POST", "/tokens", {"principal": "hands", "name": "operating", "scopes": ["operate"]})["token"]
    with new_context(browser) as made:
        page = made.new_page()
        served.sign_in(page, token)
        page.goto(f"{served.address}/ui/toolsets")
        expect(page.get_by_role("heading", name="Toolsets", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Import")).to_have_count(0)
        page.goto(f"{served.address}/ui/toolsets?import=1")
        expect(page.get_by_text("takes a token with the scope admin")).to_be_visible()


@pytest.mark.behaviour("web.tool_meant")
def test_a_name_that_several_tools_have_leads_to_each_of_them(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/tool?id=*:get_book")
    each = page.get_by_role("list", name="Tools of this name").get_by_role("link")
    expect(each).to_have_text([GET, "mcp:reading~shared:get_book"])
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    each.last.click()
    expect(page.get_by_role("heading", level=1, name="Read a catalogue entry")).to_be_visible()


@pytest.mark.behaviour("web.accessible")
def test_a_draft_that_met_another_is_readable_to_everybody(page: Page, served: Site) -> None:
    tool = "mcp:reading~shared:search_books"
    panel = opened(page, served, tool)
    panel.get_by_role("textbox", name="Description").fill(
        "Words of Q, which are rather long, so that a narrow page has to break them."
    )
    served.ask(
        "POST",
        "/overrides",
        {"target": tool, "set": {"description_override": "Words of P, looked at", "name_override": "looked at"}},
    )
    expect(page.get_by_role("button", name="Keep mine")).to_be_visible()
    look_over(page, "tool-draft-met", whole=True)
    opened(page, served, SEARCH)
    look_over(page, "tool-override-fixed", whole=True)
    opened(page, served, SEARCH, "try")
    look_over(page, "tool-try-fixed", whole=True)
    opened(page, served, DELETE, "try")
    panel.get_by_role("button", name="Call it").click()
    look_over(page, "tool-try-faults", whole=True)
