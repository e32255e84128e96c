"""An empty board leads to a first call in three steps."""

import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import Page, expect
from tests.web.looks import Look, look_over

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return {"servers": {}}


@pytest.mark.behaviour("web.first_run")
def test_an_empty_board_shows_three_steps_to_a_first_call(looked_at: Page, look: Look) -> None:
    expect(looked_at.get_by_role("heading", name="Hang tools on the board")).to_be_visible()
    expect(looked_at.get_by_role("heading", name="Connect your client")).to_be_visible()
    expect(looked_at.get_by_role("heading", name="Call a tool")).to_be_visible()
    expect(looked_at.get_by_text('"mcpServers"')).to_be_visible()
    look_over(looked_at, "first-run", look)
    looked_at.get_by_role("link", name="Add a server").click()
    expect(looked_at).to_have_url(re.compile(r"/ui/servers\?add=paste$"))
