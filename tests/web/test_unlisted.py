"""A board whose clients are shown a search instead of all tools: said wherever a person asks why one is not there."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.served import DEMO
from tests.web.boards import server
from tests.web.site import Site

pytestmark = pytest.mark.slow

COUNT = "mcp:library~library:count_books"
SHOWN = "4 tools by which they find and call all others (presentation: search)"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    library = server(DEMO.parent / "library_server.py", trust="open")
    return {"presentation": "search", "servers": {"library": library}}


@pytest.mark.behaviour("present.unlisted_is_told")
def test_the_wall_the_card_and_the_trail_tell_what_clients_are_shown_instead(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/")
    expect(page.locator(".screen-lead")).to_contain_text(f"Clients at /mcp are shown {SHOWN}.")
    page.locator(f'[data-tool="{COUNT}"]').click()
    about = page.get_by_role("group", name="About count_books")
    expect(about).to_contain_text(f"Not listed at /mcp: clients there are shown {SHOWN}.")
    about.get_by_role("link", name="Open the tool").click()
    expect(page.locator(".tool-verdict")).to_contain_text("Not listed at /mcp")
    expect(page.locator(".trail")).to_contain_text(f"listed as itself at /mcp? no: clients there are shown {SHOWN}")
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map((each) => Number(each.tagName[1]))")
    assert all(below - above <= 1 for above, below in pairwise([0, *levels])), "no level of headings is left out"
    assert "listed as itself at /mcp" in str(served.pegboard("why", COUNT))
