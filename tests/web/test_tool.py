"""The screen of one tool: why it is locked, other words for it, a trial, and its history."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.web.looks import look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

MOVE, SEARCH = "mcp:desk~desk:move_note", "mcp:library~library:search_books"
COUNT = "mcp:library~library:count_books"


def opened(page: Page, served: Site, tool: str, tab: str = "why") -> None:
    page.goto(f"{served.address}/ui/tool?id={tool}&tab={tab}")
    expect(page.get_by_role("heading", level=1, name=re.compile("note|catalogue|ount"))).to_be_visible()


@pytest.mark.behaviour("web.tool")
def test_a_locked_tool_says_by_which_rule_and_where_to_change_it(page: Page, served: Site) -> None:
    opened(page, served, MOVE)
    locking = page.get_by_role("listitem").filter(has_text="Do the deny patterns let it?")
    expect(locking).to_contain_text("deny pattern '*:move_*' (pegboard.yaml:38)")
    expect(page.locator(".screen-lead")).to_contain_text("disabled_by_config")
    told = served.ask("GET", f"/why?tool={MOVE}")
    assert page.locator(".trail li").count() == len(told["steps"])


@pytest.mark.behaviour("web.tool")
def test_a_trial_shows_its_result_in_three_forms_and_stands_in_the_activity(page: Page, served: Site) -> None:
    opened(page, served, SEARCH, "try")
    page.get_by_label("Write the arguments as JSON").check()
    page.get_by_role("textbox", name="Arguments").fill('{"query": "tide"}')
    page.get_by_role("button", name="Call it").click()
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("returned")
    for form in ("Raw", "As the model gets it"):
        result.get_by_role("tab", name=form).click()
        expect(result.get_by_role("tabpanel")).to_contain_text("ide")
    page.get_by_role("tab", name="History").click()
    expect(page.get_by_role("row").filter(has_text="trial").first).to_contain_text("returned")
    assert [row["trial"] for row in served.ask("GET", f"/activity?tool={SEARCH}&kind=call&limit=1")["activity"]] == [
        True
    ]


@pytest.mark.behaviour("web.tool", "overrides.in_the_user_interface")
def test_an_override_is_previewed_by_the_gateway_and_its_difference_is_seen_before_it_is_saved(
    page: Page, served: Site
) -> None:
    opened(page, served, SEARCH, "override")
    page.get_by_label("Description").fill("Look for a book.")
    page.get_by_label("What becomes of offset").select_option("Hidden")
    page.get_by_label("Confirmed at").select_option("A ticket, always")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("Look for a")
    expect(preview).to_contain_text("Parameter 'offset' was removed.")
    assert served.ask("GET", f"/tools/show?tool={SEARCH}")["difference"] == []
    page.get_by_role("button", name="Save…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Parameter 'offset' was removed.")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_be_hidden()
    shown = served.ask("GET", f"/tools/show?tool={SEARCH}")["asOverridden"]
    assert (shown["description"], "offset" in shown["inputSchema"]["properties"]) == ("Look for a book.", False)
    set_here = {each["field"]: each["value"] for each in served.ask("GET", f"/why?tool={SEARCH}")["overrides"]}
    assert set_here["confirmation"] == "ticket"
    page.get_by_role("button", name="Difference").click()
    expect(page.get_by_role("region", name="As a model sees it")).to_contain_text("Parameter 'offset' was removed.")
    served.ask("POST", "/overrides", {"target": SEARCH, "clear": "all"})


@pytest.mark.behaviour("overrides.in_the_user_interface", "overrides.renderer_shown")
def test_a_renderer_is_chosen_checked_by_the_gateway_shown_in_a_trial_and_taken_back(page: Page, served: Site) -> None:
    opened(page, served, COUNT, "override")
    page.get_by_label("Shown as").select_option("code")
    config = page.get_by_label("Renderer configuration")
    expect(page.get_by_label("What code takes")).to_contain_text("The language to colour it by.")
    save = page.get_by_role("button", name="Save…")
    config.fill("{")
    expect(config).to_have_attribute("aria-invalid", "true")
    expect(save).to_be_disabled()
    config.fill('{"colour": "red"}')
    expect(page.get_by_role("region", name="Preview")).to_contain_text("the renderer code does not take this")
    expect(save).to_be_disabled()
    config.fill('{"file": "books.txt", "content": "$return"}')
    save.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_be_hidden()
    told = {each["field"]: each["value"] for each in served.ask("GET", f"/why?tool={COUNT}")["overrides"]}
    assert told == {"renderer": "code", "renderer_config": {"file": "books.txt", "content": "$return"}}
    opened(page, served, COUNT, "try")
    page.get_by_role("button", name="Call it").click()
    page.get_by_role("tab", name="Rendered").click()
    expect(page.get_by_role("region", name="Result").get_by_role("tabpanel")).to_contain_text("books.txt")
    opened(page, served, COUNT, "override")
    expect(page.get_by_label("Shown as")).to_have_value("code")
    page.get_by_label("Shown as").select_option("As it is")
    save.click()
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_be_hidden()
    assert served.ask("GET", f"/why?tool={COUNT}")["overrides"] == []


@pytest.mark.behaviour("web.tool")
def test_a_tool_that_nobody_overrode_has_one_face_and_its_history_a_command(page: Page, served: Site) -> None:
    opened(page, served, MOVE, "history")
    faces = page.get_by_role("group", name="Which face of the tool")
    expect(faces.get_by_role("button", name="As offered")).to_have_attribute("aria-pressed", "true")
    for other in ("Overridden", "Difference"):
        expect(faces.get_by_role("button", name=other)).to_be_disabled()
    page.get_by_role("button", name="as command").click()
    words = ["activity", "list", "--tool", MOVE]
    expect(page.get_by_role("dialog", name="As command")).to_contain_text(f"pegboard {' '.join(words)}")
    assert served.pegboard(*words)["activity"] == served.ask("GET", f"/activity?tool={MOVE}")["activity"]


@pytest.mark.behaviour("web.tool")
def test_a_tool_is_switched_off_with_a_note_and_on_again(page: Page, served: Site) -> None:
    opened(page, served, SEARCH)
    page.get_by_role("switch", name="Switched on").click()
    page.get_by_label("Note").fill("stocktaking")
    page.get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("switch", name="Switched off")).to_be_visible()
    expect(page.locator(".screen-lead")).to_contain_text("stocktaking")
    assert served.ask("GET", f"/board/tool?tool={SEARCH}")["tool"]["status"] == "disabled_by_user"
    # A key on a switch whose last change is still under way is lost, and the page may show the change before that.
    expect(page.get_by_role("switch", name="Switched off")).to_be_enabled()
    page.get_by_role("switch", name="Switched off").press("Space")
    expect(page.get_by_role("switch", name="Switched on")).to_be_visible()
    assert served.ask("GET", f"/board/tool?tool={SEARCH}")["tool"]["state"] == "open"


@pytest.mark.behaviour("web.tool")
def test_without_an_id_a_tool_is_chosen_by_its_words(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/tool")
    page.get_by_role("searchbox", name="Find a tool").fill("move")
    expect(page.get_by_role("list", name="Tools").get_by_role("listitem")).to_have_count(1)
    page.get_by_role("link", name="move_note").click()
    expect(page.get_by_role("heading", level=1, name="Move a note")).to_be_visible()


@pytest.mark.behaviour("web.tool_meant")
def test_a_tool_that_is_not_there_is_told_once_with_what_may_be_meant(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/tool?id=mcp:desk~desk:remove_note")
    near = page.get_by_role("list", name="Tools that may be meant")
    expect(near.get_by_role("link").first).to_be_visible()
    expect(page.get_by_text("Unknown tool 'mcp:desk~desk:remove_note'.")).to_have_count(1)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    near.get_by_role("link", name=MOVE).click()
    expect(page.get_by_role("heading", level=1, name="Move a note")).to_be_visible()


@pytest.mark.behaviour("web.accessible")
def test_every_tab_is_readable_to_everybody(page: Page, served: Site) -> None:
    for tab in ("why", "override", "try", "history"):
        opened(page, served, MOVE, tab)
        expect(page.get_by_role("tabpanel")).not_to_be_empty()
        look_over(page, f"tool-{tab}", whole=True)


@pytest.mark.behaviour("web.address_at_once")
def test_a_filter_stands_in_the_address_as_soon_as_it_is_typed(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/tool")
    field = page.get_by_label("Find a tool")
    expect(field).to_be_visible()
    # In one task of the browser: a reload that comes next finds what was typed.
    written = field.evaluate(
        """(field) => {
          Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, "note");
          field.dispatchEvent(new Event("input", { bubbles: true }));
          return location.search;
        }"""
    )
    assert written == "?q=note"
    page.reload()
    expect(field).to_have_value("note")
    rows = page.get_by_role("list", name="Tools")
    expect(rows).to_be_visible()
    box = rows.bounding_box()
    assert box is not None
    assert box["height"] < 36 * (rows.get_by_role("listitem").count() + 1), "the box is taller than what is in it"
