"""Many pages of one browser: they share one event stream, and none is left without a connection."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.servers.chromium import FLAGS, chromium
from tests.web.looks import new_context
from tests.web.site import Site

pytestmark = pytest.mark.slow

LIST = "mcp:desk~desk:list_notes"
SCREENS = ("tool", "servers", "toolsets", "approvals", "search", "activity", "prompt", "settings")


def tabs(made: BrowserContext, served: Site, count: int) -> list[Page]:
    first = made.new_page()
    first.goto(served.entrance)
    first.wait_for_url("**/ui/")
    further = [made.new_page() for _ in range(count - 1)]
    for page in further:
        page.goto(f"{served.address}/ui/")
    return [first, *further]


def throw(served: Site, *, on: bool) -> None:
    served.ask("POST", "/tools/switch", {"tool": LIST, "enabled": on, "note": "for a test"})


def see(pages: list[Page], *, on: bool) -> None:
    for page in pages:
        peg = page.locator(f'[data-tool="{LIST}"]')
        expect(peg).to_have_attribute("aria-label", f"list_notes, {'open' if on else 'locked'}")


@pytest.mark.behaviour("web.one_stream")
def test_eight_tabs_share_one_stream_and_go_on_when_the_one_that_has_it_is_closed(
    browser: Browser, served: Site
) -> None:
    with new_context(browser) as made:
        asked: list[str] = []
        made.on("request", lambda request: asked.append(request.url) if request.url.endswith("/events") else None)
        pages = tabs(made, served, 8)
        for page in pages:
            expect(page.get_by_text("live", exact=True)).to_be_visible()
        assert len(asked) == 1
        throw(served, on=False)
        see(pages, on=False)
        pages.pop(0).close()
        throw(served, on=True)
        see(pages, on=True)
        for page in pages:
            expect(page.get_by_text("live", exact=True)).to_be_visible()
        assert len(asked) == 2


@pytest.mark.behaviour("web.one_stream")
def test_a_tab_that_goes_from_address_to_address_keeps_no_stream_of_those_it_left(
    browser: Browser, served: Site
) -> None:
    # As people start it: pages that were left are kept for the way back. Tests do without that, unless told otherwise.
    usual = browser.browser_type.launch(
        executable_path=chromium(),
        headless=True,
        args=list(FLAGS),
        ignore_default_args=["--disable-back-forward-cache"],
    )
    with usual, new_context(usual) as made:
        (page,) = tabs(made, served, 1)
        for screen in (*SCREENS, ""):
            page.goto(f"{served.address}/ui/{screen}")
            expect(page.get_by_text("live", exact=True)).to_be_visible()
        see([page], on=True)
        page.evaluate("addEventListener('pageshow', (event) => { document.title = `kept: ${event.persisted}`; })")
        page.goto(f"{served.address}/ui/servers")
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        throw(served, on=False)
        page.go_back(wait_until="commit")
        expect(page).to_have_title("kept: true")
        see([page], on=False)
        throw(served, on=True)
        see([page], on=True)
