"""A setting is changed on its page: the line is shown, then written into the file, and holds."""

import hashlib
import time
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.web.looks import look_over
from tests.web.site import DEADLINE, Site

pytestmark = pytest.mark.slow

TEXT = """\
# The board of the tests.
servers: {}
confirmation:
  deadline: 5m  # long enough for a coffee
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("board") / "pegboard.yaml"
    file.write_text(TEXT, "utf-8")
    return file


def reset(served: Site, board: Path) -> None:
    """The file as at the start, when the gateway has loaded it: a form is about the file that is loaded."""
    board.write_text(TEXT, "utf-8")
    digest, deadline = hashlib.sha256(TEXT.encode()).hexdigest(), time.monotonic() + DEADLINE
    while served.ask("GET", "/settings")["fileDigest"] != digest:
        assert time.monotonic() < deadline, "the gateway does not load the file"
        time.sleep(0.05)


def opened(page: Page, served: Site, key: str) -> Locator:
    page.goto(f"{served.address}/ui/settings?tab=all&q={key}")
    page.get_by_role("button", name=f"Change {key}").click()
    form = page.get_by_role("dialog", name=key)
    expect(form).to_be_visible()
    return form


@pytest.mark.behaviour("settings.set")
def test_the_line_is_shown_written_and_holds_and_every_other_stays(page: Page, served: Site, board: Path) -> None:
    reset(served, board)
    form = opened(page, served, "confirmation.deadline")
    form.get_by_label("Value").fill("soon")
    form.get_by_role("button", name="See what would change").click()
    expect(form.get_by_role("alert")).to_be_visible()
    form.get_by_label("Value").fill("90s")
    form.get_by_role("button", name="See what would change").click()
    expect(form.locator("ins")).to_have_text('  deadline: "90s"  # long enough for a coffee')
    assert board.read_text("utf-8") == TEXT
    form.get_by_role("button", name="Write it").click()
    expect(form).to_be_hidden()
    expect(page.get_by_text("90s", exact=True)).to_be_visible()
    assert board.read_text("utf-8") == TEXT.replace("5m", '"90s"')


@pytest.mark.behaviour("settings.set")
def test_whoever_edits_the_file_meanwhile_is_not_overwritten(page: Page, served: Site, board: Path) -> None:
    reset(served, board)
    form = opened(page, served, "presentation_threshold")
    edited = f"{TEXT}# by another hand\n"
    board.write_text(edited, "utf-8")
    form.get_by_label("Value").fill("50")
    form.get_by_role("button", name="See what would change").click()
    expect(page.get_by_text("The file was edited meanwhile").first).to_be_visible()
    assert board.read_text("utf-8") == edited


@pytest.mark.behaviour("web.accessible")
def test_the_change_of_a_setting_is_readable_to_everybody(page: Page, served: Site, board: Path) -> None:
    reset(served, board)
    form = opened(page, served, "redact")
    form.get_by_label("Value").fill("pin\npassport")
    form.get_by_role("button", name="See what would change").click()
    expect(form.locator("ins")).to_contain_text("passport")
    look_over(page, "settings-change")
