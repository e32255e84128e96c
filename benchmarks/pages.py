"""`python -m benchmarks.pages`: from a keystroke to what it paints, on a wall of many tools in a real Chromium.

A real gateway serves a board of `--tools` tools, by default 5,000; letters are typed into its filter and taken away
again. The floor is a bare text field on a page of the same browser, where a letter changes nothing else. A keystroke
is measured within the page: from the moment the browser had the key to the first task after the frame that follows.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright
from tests.servers.chromium import FLAGS, chromium
from tests.web.site import build, site

from benchmarks.table import number, render, times

TOOLS: Final = 5_000
ROUNDS: Final = 20
WORDS: Final = ("tool_0", "many", "server_3 42", "zzz")
MANY: Final = Path(__file__).resolve().parents[1] / "tests" / "servers" / "many.py"
FLOOR, WALL = "a bare field", "the wall's filter"
_PATIENCE: Final = 120_000
_WATCH: Final = """
() => {
  window.spans = [];
  let from = null;
  addEventListener("keydown", (event) => { from ??= event.timeStamp; }, true);
  addEventListener("input", () => {
    const began = from ?? performance.now();
    from = null;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => window.spans.push(performance.now() - began);
      port2.postMessage(null);
    });
  }, true);
}
"""


@dataclass(frozen=True)
class Row:
    name: str
    tools: int
    spans: Sequence[float]

    @property
    def median(self) -> float:
        return quantiles(self.spans, n=100)[49]

    @property
    def late(self) -> float:
        """One of twenty takes longer."""
        return quantiles(self.spans, n=100)[94]


def board(tools: int, servers: int = 5) -> dict[str, object]:
    each = tools // servers
    return {
        "servers": {
            f"server_{place}": {"command": sys.executable, "args": [str(MANY), str(each)], "trust": "open"}
            for place in range(servers)
        },
    }


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=chromium(), headless=True, args=list(FLAGS))


def typed(page: Page, field: str, rounds: int) -> list[float]:
    """Every letter by itself, and each waits for what the one before painted."""
    place = page.locator(field)
    place.focus()
    page.evaluate(_WATCH)
    strokes = 0
    for _ in range(rounds + 1):
        for word in WORDS:
            for key in (*word, *("Backspace" for _ in word)):
                place.press("Space" if key == " " else key)
                strokes += 1
                page.wait_for_function(f"window.spans.length >= {strokes}")
    spans: list[float] = page.evaluate("window.spans")
    # What the first round compiled, the others have.
    return spans[len(spans) // (rounds + 1) :]


def measure(tools: int, rounds: int) -> list[Row]:
    build()
    with tempfile.TemporaryDirectory() as folder, site(Path(folder), board(tools)) as served, browser() as chrome:
        # What measures is not of the page, and its policy would refuse it.
        page = chrome.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
        page.set_default_timeout(_PATIENCE)
        page.set_content("<input id='bare'>")
        print(f"measuring {FLOOR} …", file=sys.stderr)
        floor = Row(FLOOR, 0, typed(page, "#bare", rounds))
        page.goto(served.entrance)
        page.locator("[data-tool]").first.wait_for()
        print(f"measuring {WALL} …", file=sys.stderr)
        held: int = len(served.ask("GET", "/tools")["tools"])
        return [floor, Row(WALL, held, typed(page, ".board-toolbar input", rounds))]


def report(rows: Sequence[Row]) -> str:
    least = rows[0].median
    cells = [
        [
            row.name,
            number(row.tools),
            number(len(row.spans)),
            number(row.median, 1, " ms"),
            number(row.late, 1, " ms"),
            number(max(row.spans), 1, " ms"),
            times(row.median / least),
        ]
        for row in rows
    ]
    return render(["keystroke to paint", "tools", "keys", "median", "95 of 100", "longest", "of floor"], cells)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--tools", type=int, default=TOOLS)
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument("--json", action="store_true")
    options = asked.parse_args()
    rows = measure(options.tools, options.rounds)
    if options.json:
        print(json.dumps({"benchmark": "pages", "rows": [asdict(row) for row in rows]}))
    else:
        print(report(rows))


if __name__ == "__main__":
    main()
