"""One browser and one gateway for all tests of a module.

A module with another board has a fixture `board` of its own. The browser belongs to a module and not to the whole run,
because its driver keeps an event loop in the thread, and other tests start loops there.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.e2e.served import DEMO
from tests.servers.chromium import FLAGS, NoChromium, chromium
from tests.web.looks import LOOKS, Look, context
from tests.web.site import Site, build, site


@pytest.fixture(scope="session")
def pages() -> None:
    build()


@pytest.fixture(scope="module")
def browser(pages: None) -> Iterator[Browser]:
    try:
        place = chromium()
    except NoChromium as why:
        pytest.skip(str(why))
    # A deadline, not a measure: many tests share the machine.
    expect.set_options(timeout=15_000)
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=place, headless=True, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def board() -> Mapping[str, object] | Path:
    return DEMO


@pytest.fixture(scope="module")
def served(pages: None, board: Mapping[str, object] | Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), board) as running:
        yield running


@pytest.fixture(params=LOOKS, ids=lambda look: look.name)
def look(request: pytest.FixtureRequest) -> Look:
    """A test that takes it is run for light and dark, wide and narrow."""
    found = request.param
    assert isinstance(found, Look)
    return found


@pytest.fixture
def page(browser: Browser, served: Site) -> Iterator[Page]:
    """A page of a person who is signed in, wide and light."""
    yield from _page(browser, served, LOOKS[0])


@pytest.fixture
def looked_at(browser: Browser, served: Site, look: Look) -> Iterator[Page]:
    """The same in each of the four looks."""
    yield from _page(browser, served, look)


def _page(browser: Browser, served: Site, look: Look) -> Iterator[Page]:
    with context(browser, look) as made:
        page = made.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(served.entrance)
        page.wait_for_url("**/ui/")
        yield page
        assert wrong == [], "the page raised an error"
