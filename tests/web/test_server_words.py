"""What the page of a server says of its state: the same as the list, and nothing that is not so."""

from collections.abc import Mapping

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.served import DEMO
from tests.support.fork_server import python
from tests.web.looks import is_too_wide
from tests.web.site import Site

pytestmark = pytest.mark.slow

MISSING = "a-command-that-nobody-has-and-whose-name-is-long-enough-to-need-a-second-line"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return {"servers": {"missing": {"command": MISSING, "trust": "open"}}}


@pytest.mark.behaviour("web.servers_told", "web.server_opened", "web.toolset_chosen")
def test_a_server_that_is_down_has_the_same_last_error_in_the_list_and_on_its_page(page: Page, served: Site) -> None:
    told = f"command '{MISSING}' was not found on the PATH."
    page.goto(f"{served.address}/ui/servers")
    expect(page.get_by_role("row").filter(has_text="missing")).to_contain_text(told)
    around = page.locator(".table-container")
    assert around.evaluate("(table) => table.scrollWidth - table.clientWidth") == 0
    assert not is_too_wide(page)
    page.get_by_role("link", name="missing", exact=True).click()
    expect(page.locator(".facts > div").filter(has_text="Last error")).to_contain_text(told)
    page.get_by_role("link", name="Toolset missing").click()
    expect(page.get_by_role("tab", name="Includes and excludes")).to_be_visible()


@pytest.mark.behaviour("web.server_opened")
def test_a_server_that_waits_for_a_review_is_not_said_to_be_off(page: Page, served: Site) -> None:
    added = {"id": "held", "command": python(), "args": [str(DEMO.parent / "library_server.py")]}
    served.ask("POST", "/servers", {**added, "quarantine": True})
    page.goto(f"{served.address}/ui/servers?id=held~held")
    expect(page.get_by_text("It waits for a review and is not started before.")).to_be_visible()
    expect(page.get_by_text("It is off.")).to_have_count(0)
