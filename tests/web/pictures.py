"""The pictures in the documentation, taken of the demo board: `python -m tests.web.pictures` makes all of them anew."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from tests.e2e.served import ROOT
from tests.servers.chromium import FLAGS, chromium
from tests.web.looks import new_context
from tests.web.site import Site, build, site

FOLDER = ROOT / "docs" / "pictures"


def _wall(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/")
    page.get_by_role("searchbox", name="Filter tools").wait_for()
    page.locator('[data-tool="mcp:desk~desk:delete_note"]').click()
    expect(page.get_by_role("group", name="About delete_note")).to_be_visible()


def _tool(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/tool?id=mcp:desk~desk:delete_note")
    expect(page.get_by_role("heading", name="delete_note").first).to_be_visible()
    expect(page.get_by_role("tab", selected=True)).to_be_visible()


def _activity(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/activity")
    expect(page.get_by_text("search_books").first).to_be_visible()


def _tokens(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/settings?tab=tokens")
    expect(page.get_by_role("row").filter(has_text="nightly build")).to_be_visible()


PICTURES: Mapping[str, Callable[[Page, Site], None]] = {
    "wall": _wall,
    "tool": _tool,
    "activity": _activity,
    "tokens": _tokens,
}


def _live(served: Site) -> None:
    """A few calls and a few tokens, so that there is something to see."""
    for query in ("tide", "harbour", "lamp"):
        served.ask("POST", "/call", {"tool": "mcp:library~library:search_books", "arguments": {"query": query}})
    served.ask("POST", "/call", {"tool": "mcp:desk~desk:delete_note", "arguments": {"name": "draft"}})
    for whose, what, scopes in (("builder", "nightly build", ["call"]), ("alice", "her laptop", ["operate", "call"])):
        body = {"principal": whose, "name": what, "scopes": scopes, "expiresInDays": 90}
        served.ask("POST", "/tokens", body)


def main() -> None:
    build()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, site(Path(folder)) as served, sync_playwright() as driver:
        _live(served)
        browser = driver.chromium.launch(executable_path=chromium(), headless=True, args=list(FLAGS))
        with new_context(browser) as made:
            page = made.new_page()
            page.goto(served.entrance)
            page.wait_for_url("**/ui/")
            for name, lead in PICTURES.items():
                lead(page, served)
                expect(page.locator(".skeleton")).to_have_count(0)
                page.screenshot(path=FOLDER / f"{name}.png", clip={"x": 0, "y": 0, "width": 1280, "height": 760})
                sys.stdout.write(f"docs/pictures/{name}.png\n")
        browser.close()


if __name__ == "__main__":
    main()
