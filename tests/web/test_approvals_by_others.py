"""Somebody reads, and others decide meanwhile or more comes to wait: no other thing comes under the reader's hand."""

import json
import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.served import ROOT
from tests.support.fork_server import python
from tests.web.site import DEADLINE, Site

pytestmark = pytest.mark.slow

SERVER = "mcp:cellar~cellar"
COUNT = f"{SERVER}:count_wine"


def tool(name: str) -> dict[str, object]:
    return {"name": name, "description": f"To {name}.", "inputSchema": {"type": "object"}}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    state = tmp_path_factory.mktemp("cellar") / "state.json"
    state.write_text(json.dumps({"tools": [tool("count_wine")]}), "utf-8")
    command = {"command": python(), "args": [str(ROOT / "tests/servers/turncoat.py"), str(state)]}
    asks = {"cellar": {COUNT: {"requires_confirmation": True}}}
    return {"servers": {"cellar": {**command, "cwd": str(ROOT)}}, "overrides": asks}


def bring(served: Site, board: Mapping[str, object], *names: str) -> None:
    """New tools, which wait for a person: in this order, since they are seen at once."""
    served.wait_for_first_sight(COUNT)
    servers = board["servers"]
    assert isinstance(servers, dict)
    file = Path(servers["cellar"]["args"][1])
    file.write_text(json.dumps({"tools": [tool("count_wine"), *map(tool, names)]}), "utf-8")
    os.kill(int(file.with_suffix(".pid").read_text("utf-8")), signal.SIGUSR1)
    until = time.monotonic() + DEADLINE
    while len(served.ask("GET", "/approvals")["pending"]) != len(names):
        assert time.monotonic() < until, "what is new does not wait"
        time.sleep(0.05)


def approve(served: Site, name: str) -> None:
    read = served.ask("GET", f"/approvals/show?tool={SERVER}:{name}")
    served.ask("POST", "/approvals/approve", {"tools": [{"tool": read["id"], "fingerprint": read["fingerprint"]}]})


def states(served: Site, *names: str) -> list[str]:
    return [served.ask("GET", f"/board/tool?tool={SERVER}:{name}")["tool"]["state"] for name in names]


@pytest.mark.behaviour("web.approvals_stay")
def test_a_tool_that_another_decides_stays_and_keys_reach_no_other(
    own_page: Page, served: Site, board: Mapping[str, object]
) -> None:
    page = own_page
    bring(served, board, "pour", "smell")
    page.goto(f"{served.address}/ui/approvals")
    first = page.get_by_role("article", name=re.compile("^Review of"))
    expect(first).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    mine = str(first.get_attribute("aria-label")).removeprefix("Review of ")
    other = {"pour": "smell", "smell": "pour"}[mine]
    written: list[str] = []
    page.on("request", lambda request: written.append(request.url) if request.method != "GET" else None)

    approve(served, mine)
    told = page.get_by_role("alert").filter(has_text="Someone else decided this tool meanwhile.")
    expect(told.get_by_role("list", name="Decided meanwhile")).to_have_text(
        re.compile(rf"^local .*: {SERVER}:{mine} approved")
    )
    expect(page.get_by_role("article", name=f"Review of {mine}")).to_be_visible()
    page.keyboard.press("a")
    page.keyboard.press("l")

    told.get_by_role("button", name="On to what waits").click()
    expect(page.get_by_role("article", name=f"Review of {other}")).to_be_visible()
    assert (written, states(served, mine, other)) == ([], ["open", "needs_action"])
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    assert states(served, mine, other) == ["open", "open"]


@pytest.mark.behaviour("web.approvals_stay")
def test_a_call_that_comes_to_wait_takes_no_tools_place_and_one_that_is_decided_stays(
    page: Page, served: Site, board: Mapping[str, object]
) -> None:
    bring(served, board, "cork")
    page.goto(f"{served.address}/ui/approvals")
    expect(page.get_by_role("article", name="Review of cork")).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    ticket = served.ask("POST", "/call", {"tool": COUNT, "arguments": {}})["ticket"]
    queue = page.get_by_role("navigation", name="Queue")
    call = queue.get_by_role("button", name=re.compile("^count_wine"))
    expect(call).to_be_visible()
    expect(page.get_by_role("article", name="Review of cork")).to_be_visible()

    call.click()
    shown = page.get_by_role("article", name="Call of count_wine")
    expect(shown.get_by_role("button", name="Allow once")).to_be_visible()
    served.ask("POST", f"/tickets/{ticket}/deny", {"note": "not today"})
    expect(shown.get_by_role("alert")).to_contain_text(re.compile("waits no more: denied by local .*: not today"))
    expect(shown.get_by_role("button", name="Allow once")).to_have_count(0)
    shown.get_by_role("button", name="On to what waits").click()
    expect(page.get_by_role("article", name="Review of cork")).to_be_visible()
    assert states(served, "cork") == ["needs_action"]
