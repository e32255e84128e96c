"""Every element in every state, looked at in each of the four looks."""

import pytest
from playwright.sync_api import Page, expect
from tests.web.looks import look_over
from tests.web.site import Site, build

pytestmark = pytest.mark.slow


@pytest.mark.behaviour("web.accessible")
def test_every_element_in_every_state_is_readable_to_everybody(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/patterns")
    expect(page.get_by_role("heading", name="Patterns")).to_be_visible()
    look_over(page, "patterns", whole=True)


def test_the_parts_that_need_no_browser_do_what_they_say() -> None:
    build("--test")
