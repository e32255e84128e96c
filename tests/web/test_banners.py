"""What every screen tells: the gateway is away or was started anew, and the operator's file is broken."""

import re
import signal
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.web.boards import every_state
from tests.web.looks import LOOKS, look_over, new_context
from tests.web.site import Site, site

pytestmark = pytest.mark.slow

LIST = "mcp:drawer~drawer:list_notes"
SCREENS = ("Wall", "Tool", "MCP Servers", "Toolsets", "Approvals", "Search", "Activity", "Prompt", "Settings")


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return every_state()


@pytest.fixture
def page(page: Page, served: Site) -> Page:
    """At the wall."""
    page.goto(f"{served.address}/ui/")
    return page


@pytest.mark.behaviour("web.broken_file")
def test_a_broken_edit_of_the_file_is_told_on_every_screen_until_it_is_mended(page: Page, served: Site) -> None:
    good = served.config.read_text("utf-8")
    lines = good.count("\n")
    served.config.write_text(f"{good}denny: []\n", "utf-8")
    told = page.get_by_role("status", name="To know")
    expect(told).to_contain_text(f"{served.config} was edited and cannot be used; the last good board stays.")
    expect(told).to_contain_text(f"pegboard.yaml:{lines + 1}")
    expect(told).to_contain_text("denny")
    look_over(page, "broken-file", looks=LOOKS[:1])
    rail = page.get_by_role("navigation", name="Screens")
    for screen in SCREENS:
        rail.get_by_role("link", name=re.compile(rf"^{screen}\b")).click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(told).to_contain_text("cannot be used")
    served.config.write_text(good, "utf-8")
    expect(told).to_have_count(0)


@pytest.mark.behaviour("names.unknown_is_shown")
def test_an_unknown_name_in_the_settings_is_shown_until_it_is_corrected(page: Page, served: Site) -> None:
    good = served.config.read_text("utf-8")
    served.config.write_text(f"{good}always_visible: ['mcp:drawer~drawer:list_nots']\n", "utf-8")
    shown = page.get_by_role("status", name="To know")
    expect(shown).to_contain_text("Unknown tool 'mcp:drawer~drawer:list_nots' in always_visible")
    expect(shown).to_contain_text(f"Did you mean '{LIST}'")
    served.config.write_text(good, "utf-8")
    expect(shown).to_have_count(0)


@pytest.mark.behaviour("web.started_anew")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=lambda end: end.name)
def test_an_open_page_goes_on_when_the_gateway_was_started_anew(
    browser: Browser, tmp_path: Path, end: signal.Signals
) -> None:
    servers = every_state()["servers"]
    assert isinstance(servers, dict)
    drawer = {"servers": {"drawer": servers["drawer"]}}
    with ExitStack() as stack:
        before = stack.enter_context(site(tmp_path, drawer))
        port = urlsplit(before.address).port
        assert port is not None
        page = stack.enter_context(new_context(browser)).new_page()
        page.goto(before.entrance)
        page.wait_for_url("**/ui/")
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        page.locator(f'[data-tool="{LIST}"]').focus()
        page.keyboard.press("Space")
        page.get_by_label("Note", exact=True).fill("half written")

        before.process.send_signal(end)
        before.process.wait()
        assert before.process.stdout is not None
        # It ends when the gateway itself has ended, also where the stand-in of a warm Python is gone before it.
        before.process.stdout.read()
        told = page.get_by_role("status", name="To know", include_hidden=True)
        expect(told).to_contain_text("The gateway does not answer.")
        mine = page.get_by_role("dialog", name="Turn off list_notes")
        expect(mine.get_by_role("alert")).to_contain_text("The gateway does not answer.")
        look_over(page, f"away-{end.name}", looks=LOOKS[:1])

        after = stack.enter_context(site(tmp_path, drawer, port))
        expect(mine.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("dialog", name="Sign in to Pegboard")).to_have_count(0)
        expect(page.get_by_label("Note", exact=True)).to_have_value("half written")
        page.get_by_role("button", name="Leave on").click()
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        expect(told).to_have_count(0)
        after.ask("POST", "/tools/switch", {"tool": LIST, "enabled": False})
        expect(page.locator(f'[data-tool="{LIST}"]')).to_have_attribute("aria-label", "list_notes, locked")


@pytest.mark.behaviour("web.started_anew", "access.sign_out_all")
def test_an_open_page_asks_to_sign_in_again_and_keeps_what_was_typed(page: Page, served: Site) -> None:
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.locator(f'[data-tool="{LIST}"]').focus()
    page.keyboard.press("Space")
    page.get_by_label("Note", exact=True).fill("half written")
    assert served.pegboard("tokens", "sign-out") == {"signedOut": True}
    sign_in = page.get_by_role("dialog", name="Sign in to Pegboard")
    expect(sign_in).to_contain_text("You are signed out")
    look_over(page, "signed-out", looks=LOOKS[:1])
    sign_in.get_by_label("Token").fill(served.token)
    sign_in.get_by_role("button", name="Sign in").click()
    expect(sign_in).to_have_count(0)
    expect(page.get_by_label("Note", exact=True)).to_have_value("half written")
