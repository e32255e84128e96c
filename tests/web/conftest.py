"""One browser with one page for all browser tests of a worker, and a gateway for each board.

The browser has the scope of this package and not of the whole run: its driver keeps an event loop in the thread, and
tests of other folders start loops there. Modules without a fixture `board` share one gateway with the demo board, so
they leave it as they found it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.e2e.served import DEMO
from tests.servers.chromium import FLAGS, NoChromium, headless_shell
from tests.web.looks import LOOKS, NARROW, TIMEOUT_MS, new_context, show
from tests.web.site import Site, build, site

CHEAP = ("--renderer-process-limit=1", "--js-flags=--no-opt --no-maglev")
"""One process for all pages, and no time spent on optimizing scripts that run for a moment."""
CLEAR_STORAGE = "() => { try { localStorage.clear(); sessionStorage.clear(); } catch { /* a page without storage */ } }"


class SharedPage(NamedTuple):
    page: Page
    errors: list[str]


@pytest.fixture(scope="session")
def pages() -> None:
    build()


@pytest.fixture(scope="package")
def browser(pages: None) -> Iterator[Browser]:
    try:
        executable = headless_shell()
    except NoChromium as why:
        pytest.skip(str(why))
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=executable, headless=True, args=[*FLAGS, *CHEAP])
        yield started
        started.close()


@pytest.fixture(scope="package")
def demo_site(pages: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("demo"), DEMO) as running:
        yield running


@pytest.fixture(scope="module")
def board() -> Mapping[str, object] | Path:
    return DEMO


@pytest.fixture(scope="package")
def shared_page(browser: Browser) -> Iterator[SharedPage]:
    """A new context costs a second of CPU, a further address in the same page a quarter of it."""
    with new_context(browser) as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield SharedPage(page, errors)


@pytest.fixture(scope="module")
def served(
    request: pytest.FixtureRequest,
    shared_page: SharedPage,
    board: Mapping[str, object] | Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    if board == DEMO:
        shared = request.getfixturevalue("demo_site")
        assert isinstance(shared, Site)
        yield shared
        return
    with site(tmp_path_factory.mktemp("site"), board) as running:
        yield running
        # To a page without a stream of events: the gateway would wait for its end.
        shared_page.page.goto(f"{running.address}/ui/sign-in")


@pytest.fixture
def page(shared_page: SharedPage, served: Site) -> Iterator[Page]:
    """Of a person who is signed in, light and 1280 wide, with nothing loaded. It is used again by the next test: a test
    that listens to its events takes `own_page`."""
    page, errors = shared_page
    show(page, LOOKS[0])
    served.sign_in_with_cookie(page.context)
    errors.clear()
    yield page
    # It stays where it is: the way over about:blank would start another process of the browser.
    page.unroute_all(behavior="ignoreErrors")
    page.evaluate(CLEAR_STORAGE)
    assert errors == [], "the page raised an error"


@pytest.fixture
def narrow_page(page: Page) -> Page:
    """The same, 390 wide."""
    show(page, NARROW)
    return page


@pytest.fixture
def own_page(page: Page) -> Iterator[Page]:
    """A page of the same person for this test alone."""
    with page.context.new_page() as own:
        errors: list[str] = []
        own.on("pageerror", lambda error: errors.append(str(error)))
        yield own
        assert errors == [], "the page raised an error"
