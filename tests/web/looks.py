"""What every screen is held to: axe-core finds nothing serious, nothing is wider than the page. And its picture."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page
from tests.e2e.served import ROOT

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = ROOT / "build" / "screenshots"
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
_GRAVE = ("serious", "critical")


@dataclass(frozen=True)
class Look:
    """One of the four ways a screen is looked at."""

    scheme: str
    width: int

    @property
    def name(self) -> str:
        return f"{self.scheme}-{self.width}"


LOOKS = tuple(Look(scheme, width) for scheme in SCHEMES for width in WIDTHS)


def context(browser: Browser, look: Look = LOOKS[0]) -> BrowserContext:
    """Without motion: a picture is of what stands still."""
    made = browser.new_context(
        viewport={"width": look.width, "height": 900},
        color_scheme="dark" if look.scheme == "dark" else "light",
        reduced_motion="reduce",
        # axe-core is added to the page as a script of its own.
        bypass_csp=True,
    )
    made.set_default_timeout(30_000)
    return made


def findings(page: Page) -> list[str]:
    """What axe-core finds that keeps people out, one line each."""
    page.add_script_tag(path=str(AXE))
    found: Any = page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    return [
        f"{each['id']} ({each['impact']}): {each['help']} at {node['target']}: {node['html'][:200]}"
        for each in found
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]


def shoot(page: Page, name: str, look: Look, *, whole: bool = False) -> None:
    """A picture into build/screenshots, which is an artefact and not kept."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}-{look.name}.png", full_page=whole)


def is_too_wide(page: Page) -> bool:
    wide: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wide


def look_over(page: Page, name: str, look: Look, *, whole: bool = False) -> None:
    """All of it, for a page that shows what it should."""
    shoot(page, name, look, whole=whole)
    found = findings(page)
    assert not found, "\n".join(found)
    assert not is_too_wide(page), f"{name} is wider than the page at {look.width} pixels"
