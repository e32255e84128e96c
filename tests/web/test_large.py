"""Thousands of rows: only what is seen is there, and nothing jumps while a screen fills."""

import hashlib
from collections.abc import Mapping

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.served import DEMO
from tests.web.boards import server
from tests.web.looks import LOOKS, NARROW, new_context, show
from tests.web.site import Site

pytestmark = pytest.mark.slow

MANY = 5_000
MOST_MOVED = 0.05
"""Half of what browsers call good. Only a list of thousands that takes the place of its outline moves anything."""
SCREENS = ("", "tool", "servers", "toolsets", "approvals", "search", "activity", "prompt", "settings")


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    token = hashlib.sha256(b"a token of the tests").hexdigest()
    return {
        "servers": {"library": server(DEMO.parent / "library_server.py", trust="open")},
        "principals": {f"person-{number:04}": {"token_sha256": token[:-4] + f"{number:04x}"} for number in range(MANY)},
    }


@pytest.mark.behaviour("web.tables_virtual")
def test_of_five_thousand_rows_only_those_in_sight_are_there(page: Page, served: Site) -> None:
    for look in (LOOKS[0], NARROW):
        show(page, look)
        page.goto(f"{served.address}/ui/settings?tab=people")
        rows = page.get_by_role("table").locator("tbody tr:not(.table-spacer)")
        expect(page.get_by_role("table").get_by_text("person-0000", exact=True).first).to_be_visible()
        assert rows.count() < 150
        # Heights of what was not seen are guessed, so that the end is only where it was looked for when it is reached.
        end = page.get_by_role("table").get_by_text(f"person-{MANY - 1}", exact=True).first
        for _ in range(50):
            page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
            if end.count():
                break
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expect(end).to_be_visible()
        assert rows.count() < 150


@pytest.mark.behaviour("web.no_layout_shift")
def test_nothing_jumps_while_a_screen_fills(browser: Browser, served: Site) -> None:
    """By the browser's own measure: the sum of what moved, without what a person did."""
    moved: dict[str, float] = {}
    with new_context(browser) as made:
        made.add_init_script(
            "window.moved = 0; new PerformanceObserver((list) => {"
            " for (const each of list.getEntries()) if (!each.hadRecentInput) window.moved += each.value;"
            "}).observe({ type: 'layout-shift', buffered: true });"
        )
        page = made.new_page()
        page.goto(served.entrance)
        page.wait_for_url("**/ui/")
        for screen in SCREENS:
            moved[screen] = _moved(page, f"{served.address}/ui/{screen}")
    assert {screen: value for screen, value in moved.items() if value > MOST_MOVED} == {}


def _moved(page: Page, address: str) -> float:
    page.goto(address)
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(page.locator("[aria-busy=true], .skeleton")).to_have_count(0)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return float(page.evaluate("window.moved"))
