"""Standing permissions in the web UI: given by a button that says so, listed with last use and end, and revoked."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.served import ROOT
from tests.support.fork_server import python
from tests.web.looks import look_over
from tests.web.site import Site, hold_answer

pytestmark = pytest.mark.slow

AGENT = "support-agent"
AGENT_TOKEN = "a token of the tests"
REFUND, NOTE = "mcp:shop~shop:create_refund", "mcp:shop~shop:add_note"


def tool(name: str, **annotations: bool) -> dict[str, object]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": f"To {name}.", "inputSchema": schema, "annotations": annotations}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    state = tmp_path_factory.mktemp("shop") / "state.json"
    state.write_text(json.dumps({"tools": [tool("create_refund", destructiveHint=True), tool("add_note")]}), "utf-8")
    command = {"command": python(), "args": [str(ROOT / "tests/servers/turncoat.py"), str(state)]}
    return {
        "servers": {"shop": {**command, "cwd": str(ROOT), "trust": "open"}},
        "overrides": {"shop": {"shop:*": {"requires_confirmation": True}}},
        "principals": {
            AGENT: {"token_sha256": sha256(AGENT_TOKEN.encode()).hexdigest(), "scopes": ["call", "operate"]}
        },
    }


def call(served: Site, tool: str, text: str) -> Any:
    served.settle()
    ended = served.ask("POST", "/call", {"tool": tool, "arguments": {"text": text}}, token=AGENT_TOKEN)
    assert "outcome" in ended, ended
    return ended


def consents(served: Site) -> list[dict[str, object]]:
    return list(served.ask("GET", "/tickets/consents")["consents"])


@pytest.fixture(autouse=True)
def without_permissions(served: Site) -> None:
    for consent in consents(served):
        served.ask("DELETE", f"/tickets/consents/{consent['id']}")


@pytest.mark.behaviour("confirmation.standing_pages", "confirmation.standing_second_step")
def test_a_destructive_tool_is_asked_about_twice_and_the_dialog_lists_what_it_covers(page: Page, served: Site) -> None:
    ticket = call(served, REFUND, "twice")["ticket"]
    page.goto(f"{served.address}/ui/approvals?ticket={ticket}")
    shown = page.get_by_role("article", name="Call of create_refund")
    expect(shown.get_by_label("Until")).to_have_value("30")
    always = shown.get_by_role("button", name=f"Allow always for {AGENT}")
    expect(always).to_have_class(re.compile("variant-danger"))
    always.click()
    question = page.get_by_role("dialog", name="Allow every further call of create_refund?")
    for word in (REFUND, AGENT, "any client", f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%d}"):
        expect(question).to_contain_text(word)
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_be_hidden()
    assert (served.ask("GET", f"/tickets/{ticket}")["state"], consents(served)) == ("waiting", [])
    always.click()
    question.get_by_role("button", name=f"Allow always for {AGENT}").click()
    expect(page.get_by_text(f"create_refund runs without confirmation for {AGENT}, until")).to_be_visible()
    (given,) = consents(served)
    assert (given["tool"], given["principal"], given["client"]) == (REFUND, AGENT, None)
    assert call(served, REFUND, "another")["outcome"] == "returned"


@pytest.mark.behaviour("confirmation.standing_pages", "confirmation.standing_ends")
def test_a_permission_for_one_client_gets_the_chosen_end_and_is_revoked_in_its_tab(page: Page, served: Site) -> None:
    ticket = call(served, NOTE, "first")["ticket"]
    page.goto(f"{served.address}/ui/approvals?ticket={ticket}")
    shown = page.get_by_role("article", name="Call of add_note")
    shown.get_by_label("Until").select_option("date")
    client = shown.get_by_role("button", name="Allow always for this client")
    expect(client).to_be_disabled()
    last_day = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
    shown.get_by_label("Last day").fill(last_day)
    client.click()
    expect(
        page.get_by_text(f"runs without confirmation for {AGENT} with this client, until {last_day}")
    ).to_be_visible()
    assert call(served, NOTE, "second")["outcome"] == "returned"

    page.get_by_role("tab", name="Standing permissions").click()
    line = page.get_by_role("row").filter(has_text=NOTE)
    for word in (AGENT, "operator", "local", last_day):
        expect(line).to_contain_text(word)
    line.get_by_role("button", name="Revoke").click()
    question = page.get_by_role("dialog", name="Revoke this standing permission?")
    expect(question).to_contain_text(NOTE)
    question.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("heading", name="No standing permissions")).to_be_visible()
    assert call(served, NOTE, "third")["outcome"] == "confirmation_required"


def give(served: Site, text: str) -> str:
    ticket = call(served, REFUND, text)["ticket"]
    served.ask("POST", f"/tickets/{ticket}/allow", {"scope": "always", "confirmDestructive": True})
    (given,) = consents(served)
    return str(given["id"])


@pytest.mark.behaviour("confirmation.standing_pages")
@pytest.mark.parametrize("place", ["verdict", "why", "person"])
def test_a_permission_is_shown_and_revoked_on_the_page_of_its_tool_and_of_its_person(
    page: Page, served: Site, place: str
) -> None:
    id = give(served, f"at {place}")
    if place == "person":
        page.goto(f"{served.address}/ui/settings?tab=people&id={AGENT}")
        around = page.get_by_role("dialog", name=AGENT)
    else:
        page.goto(f"{served.address}/ui/tool?id={REFUND}")
        around = page.get_by_role("list", name="Rules, in the order in which they are asked")
    if place == "why":
        expect(around).to_contain_text(f"runs without confirmation for {AGENT} until")
        around.get_by_role("button", name=f"Revoke {id}").click()
    else:
        line = page.get_by_role("list", name="Standing permissions")
        expect(line).to_contain_text("Runs without confirmation")
        line.get_by_role("button", name=f"Revoke {REFUND} for {AGENT}").click()
    page.get_by_role("dialog", name="Revoke this standing permission?").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("list", name="Standing permissions")).to_have_count(0)
    assert consents(served) == []


@pytest.mark.behaviour("confirmation.standing_pages")
def test_a_revocation_that_the_page_sees_before_its_answer_asks_nothing_about_the_next_permission(
    page: Page, served: Site
) -> None:
    give(served, "held")
    page.goto(f"{served.address}/ui/tool?id={REFUND}")
    lines = page.get_by_role("list", name="Standing permissions")
    lines.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    held = hold_answer(page, "/tickets/consents/*")
    question = page.get_by_role("dialog", name="Revoke this standing permission?")
    question.get_by_role("button", name="Revoke").click()
    expect(lines).to_have_count(0)
    ((route, answer),) = held
    route.fulfill(response=answer)
    expect(page.get_by_role("status").get_by_text("need confirmation again")).to_be_visible()
    give(served, "held once more")
    expect(lines).to_be_visible()
    expect(question).to_be_hidden()


@pytest.mark.behaviour("web.accessible")
def test_the_ticket_and_the_list_are_readable_to_everybody(page: Page, served: Site) -> None:
    ticket = call(served, NOTE, "look")["ticket"]
    give(served, "look")
    page.goto(f"{served.address}/ui/approvals?ticket={ticket}")
    expect(page.get_by_role("button", name="Allow once")).to_be_visible()
    look_over(page, "ticket", whole=True)
    page.goto(f"{served.address}/ui/approvals?tab=standing")
    expect(page.get_by_role("row").filter(has_text=REFUND)).to_be_visible()
    look_over(page, "standing-permissions", whole=True)
    served.ask("POST", f"/tickets/{ticket}/deny", {})
