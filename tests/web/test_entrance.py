"""Who gets in, and what surrounds every screen: the rail, the palette, the foot."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.web.looks import LOOKS, look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

SCREENS = {
    "/ui/": "Wall",
    "/ui/tool": "Tool",
    "/ui/servers": "MCP Servers",
    "/ui/toolsets": "Toolsets",
    "/ui/approvals": "Approvals",
    "/ui/search": "Search",
    "/ui/activity": "Activity",
    "/ui/prompt": "Prompt",
    "/ui/settings": "Settings",
}


def rail(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Screens").get_by_role("link")


@pytest.mark.behaviour("web.entrance")
def test_the_printed_address_signs_in_and_keeps_no_token_in_the_address(page: Page, served: Site) -> None:
    page.context.clear_cookies()
    page.goto(served.entrance)
    expect(page.get_by_role("heading", level=1, name="Wall")).to_be_visible()
    assert page.url == f"{served.address}/ui/"


@pytest.mark.behaviour("web.entrance")
def test_whoever_is_not_signed_in_pastes_a_token(page: Page, served: Site) -> None:
    page.context.clear_cookies()
    page.goto(f"{served.address}/ui/")
    expect(page.get_by_role("heading", name="Sign in to Pegboard")).to_be_visible()
    look_over(page, "sign-in")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Token").fill(served.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1, name="Wall")).to_be_visible()


@pytest.mark.behaviour("web.rail", "web.only_itself")
def test_the_rail_leads_to_nine_screens_that_ask_nobody_but_the_gateway(own_page: Page, served: Site) -> None:
    page = own_page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served.address}/ui/")
    expect(rail(page)).to_have_text([re.compile(rf"^{name}") for name in SCREENS.values()])
    for path in SCREENS:
        link = rail(page).and_(page.locator(f'[href="{path}"]'))
        link.click()
        expect(link).to_have_attribute("aria-current", "page")
        expect(page).to_have_title(re.compile("· Pegboard$"))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert [url for url in asked if not url.startswith(f"{served.address}/")] == []
    assert f"{served.address}/api/v1/board" in {url.partition("?")[0] for url in asked}


@pytest.mark.behaviour("web.palette")
def test_a_few_letters_lead_to_any_tool_server_or_screen(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/")
    expect(page.get_by_role("heading", level=1, name="Wall")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find").fill("delete_note")
    expect(page.get_by_role("option").first).to_contain_text("delete_note")
    look_over(page, "palette", looks=LOOKS[:1])
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/ui/tool\?id=mcp%3Adesk%7Edesk%3Adelete_note"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find").fill("settings")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()


@pytest.mark.behaviour("web.foot")
def test_a_screen_is_had_as_json_and_as_command(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/servers")
    page.get_by_role("button", name="as JSON").click()
    dialog = page.get_by_role("dialog", name="As JSON")
    expect(dialog).to_contain_text("GET /api/v1/servers")
    expect(dialog).to_contain_text('"library"')
    page.keyboard.press("Escape")
    page.get_by_role("button", name="as command").click()
    expect(page.get_by_role("dialog", name="As command")).to_contain_text("pegboard servers")


@pytest.mark.behaviour("web.theme")
def test_a_chosen_theme_outlasts_a_reload(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    dark = page.evaluate(colour)
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert (page.evaluate(colour), dark != light) == (dark, True)
