"""Words of a provider that are longer than any line: no screen becomes wider than the page for them."""

import json
from collections.abc import Mapping

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.served import ROOT
from tests.web.boards import server
from tests.web.looks import LOOKS, NARROW, is_too_wide, show
from tests.web.site import Site

pytestmark = pytest.mark.slow

LONG = "W" * 300
NAME = "n" * 64
NEAR, WAITS = f"mcp:near~near:{NAME}", f"mcp:waits~waits:{NAME}"
TABS = ("why", "override", "try", "history")
SCREENS = (
    "",
    "?q=" + LONG,
    "tool",
    *(f"tool?id={NEAR}&tab={tab}" for tab in TABS),
    f"tool?id={WAITS}",
    "servers",
    "servers?id=near~near",
    "toolsets",
    "toolsets?id=near",
    "approvals",
    f"approvals?id={WAITS}",
    f"search?q={LONG}",
    "activity",
    "prompt",
)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    offered = {
        "name": NAME,
        "title": LONG,
        "description": LONG,
        "inputSchema": {"type": "object", "properties": {LONG: {"enum": [LONG], "title": LONG, "description": LONG}}},
    }
    state = tmp_path_factory.mktemp("state") / "state.json"
    state.write_text(json.dumps({"tools": [offered], "marker": LONG}), "utf-8")
    turncoat = ROOT / "tests" / "servers" / "turncoat.py"
    return {
        "servers": {
            "near": server(turncoat, str(state), trust="open"),
            "waits": server(turncoat, str(state), trust="strict"),
            LONG[:60].lower(): server(turncoat, str(state), trust="open", toolset=LONG[:64].lower()),
            "absent": {"command": LONG, "trust": "open"},
        }
    }


@pytest.mark.behaviour("web.accessible")
def test_words_without_a_space_are_broken_and_push_no_screen_sideways(page: Page, served: Site) -> None:
    served.ask("POST", "/tools/switch", {"tool": NEAR, "enabled": False, "note": LONG})
    wide: list[tuple[str, int]] = []
    for screen in SCREENS:
        page.goto(f"{served.address}/ui/{screen}")
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        expect(page.locator("[aria-busy=true], .skeleton")).to_have_count(0)
        for look in (LOOKS[0], NARROW):
            show(page, look)
            if is_too_wide(page):
                wide.append((screen, look.width))
    assert wide == []
