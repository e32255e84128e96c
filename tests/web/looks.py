"""What every screen must hold to in each look: axe-core finds nothing serious, and nothing is wider than the page.

`SCREENSHOTS=1` also takes a picture of each into build/screenshots.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page
from tests.e2e.served import ROOT

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS = ROOT / "build" / "screenshots"
TIMEOUT_MS = 60_000
"""Guards against a hang; it measures nothing."""
_GRAVE = ("serious", "critical")
_CHECK = """async (options) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  // A rule's own impact is that of all it finds: what is never serious need not be looked for.
  const mild = axe._audit.rules.filter(({ impact }) => impact === "minor" || impact === "moderate");
  const rules = Object.fromEntries(mild.map(({ id }) => [id, { enabled: false }]));
  const given = { resultTypes: ["violations"], preload: false, rules, ...options };
  const found = (await axe.run(document, given)).violations;
  const root = document.documentElement;
  return {
    wide: root.scrollWidth > root.clientWidth,
    violations: found.map(({ id, impact, help, nodes }) => (
      { id, impact, help, nodes: nodes.map(({ target, html }) => ({ target: String(target), html })) })),
  };
}"""
_CONTRAST_ONLY = {"runOnly": ["color-contrast"]}


@dataclass(frozen=True)
class Look:
    """One of the four ways in which a screen is shown."""

    scheme: str
    width: int

    @property
    def name(self) -> str:
        return f"{self.scheme}-{self.width}"


LOOKS = (Look("light", 1280), Look("dark", 1280), Look("dark", 390), Look("light", 390))
"""In an order in which each changes one thing. All rules of axe-core are checked in the first and third, which have
both schemes and both widths; in the others the one rule that depends on both."""
NARROW = LOOKS[3]


def new_context(browser: Browser, look: Look = LOOKS[0]) -> BrowserContext:
    """Without motion: what is looked at stands still."""
    made = browser.new_context(
        viewport={"width": look.width, "height": 900},
        color_scheme="dark" if look.scheme == "dark" else "light",
        reduced_motion="reduce",
        # axe-core is added to the page as a script of its own.
        bypass_csp=True,
    )
    made.set_default_timeout(TIMEOUT_MS)
    return made


def show(page: Page, look: Look) -> None:
    if page.viewport_size != (size := {"width": look.width, "height": 900}):
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
    page.emulate_media(color_scheme="dark" if look.scheme == "dark" else "light")


def is_too_wide(page: Page) -> bool:
    wide: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wide


def look_over(page: Page, name: str, *, looks: Sequence[Look] = LOOKS, whole: bool = False) -> None:
    """Checks a page that shows what it should in each of the four looks; it is then as wide as before, and light."""
    before = page.viewport_size
    assert before is not None
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    problems: list[str] = []
    for look in looks:
        show(page, look)
        problems += [f"{name} {look.name}: {problem}" for problem in _problems(page, look)]
        if os.environ.get("SCREENSHOTS"):
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENSHOTS / f"{name}-{look.name}.png", full_page=whole)
    show(page, Look("light", before["width"]))
    assert not problems, "\n".join(problems)


def _problems(page: Page, look: Look) -> list[str]:
    every_rule = look in (LOOKS[0], LOOKS[2])
    found: Any = page.evaluate(_CHECK, {} if every_rule else _CONTRAST_ONLY)
    problems = [
        f"{each['id']} ({each['impact']}): {each['help']} at {node['target']}: {node['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]
    return [*problems, "wider than the page"] if found["wide"] else problems
