"""Two people decide at the same time, both pages live: the second is told what the first did, and keeps theirs."""

import re
from collections.abc import Iterator, Mapping

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect
from tests.web.boards import every_state
from tests.web.looks import LOOKS, look_over, new_context
from tests.web.site import Site

pytestmark = pytest.mark.slow

LIST = "mcp:drawer~drawer:list_notes"
ADD = "mcp:drawer~drawer:write_note"
GET = "mcp:library~library:get_book"
WAITS = "mcp:desk~desk:list_notes"


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return every_state()


@pytest.fixture(scope="module")
def pats_token(served: Site) -> str:
    made = served.ask("POST", "/tokens", {"principal": "pat", "name": "pages", "scopes": ["operate"]})
    return str(made["token"])


@pytest.fixture
def page(page: Page, served: Site) -> Page:
    """At the wall."""
    page.goto(f"{served.address}/ui/")
    return page


@pytest.fixture
def pats(browser: Browser, served: Site, pats_token: str) -> Iterator[Page]:
    """The page of somebody else."""
    with new_context(browser) as made:
        page = made.new_page()
        served.sign_in(page, pats_token)
        yield page


def peg(page: Page, id: str) -> Locator:
    return page.locator(f'[data-tool="{id}"]')


def turning_off(page: Page, id: str) -> Locator:
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    peg(page, id).focus()
    page.keyboard.press("Space")
    return page.get_by_role("dialog", name=f"Turn off {id.rpartition(':')[2]}")


def sent(page: Page) -> list[str | None]:
    """The versions on which this page writes, as they are sent."""
    versions: list[str | None] = []

    def keep(request: Request) -> None:
        if request.method != "GET":
            versions.append(request.header_value("if-match"))

    page.on("request", keep)
    return versions


@pytest.mark.behaviour("web.collision")
def test_two_operators_collide_and_the_second_is_told(own_page: Page, pats: Page, served: Site) -> None:
    page = own_page
    page.goto(f"{served.address}/ui/")
    version = served.ask("GET", "/board")["policyVersion"]
    mine = turning_off(page, LIST)
    mine.get_by_label("Note").fill("mine, half written")
    theirs = turning_off(pats, LIST)
    theirs.get_by_label("Note").fill("Pat's reason")
    theirs.get_by_role("button", name="Turn off").click()
    expect(theirs).to_have_count(0)

    told = mine.get_by_role("list", name="Decided meanwhile")
    expect(told).to_have_text(re.compile(rf"^pat .*: {LIST} switched off: Pat's reason$"))
    expect(mine.get_by_role("alert")).to_contain_text("Someone else changed the board meanwhile. Your note is kept.")
    expect(mine.get_by_label("Note")).to_have_value("mine, half written")
    look_over(page, "wall-collided", looks=LOOKS[:1])

    versions = sent(page)
    mine.get_by_role("button", name="Turn off").click()
    expect(mine.get_by_role("alert")).to_contain_text("Nothing of what you just did was carried out.")
    assert versions == [f'"{version}"']
    assert "Pat's reason" in served.ask("GET", f"/tools/show?tool={LIST}")["message"]

    mine.get_by_role("button", name="Turn off").click()
    expect(mine).to_have_count(0)
    assert versions == [f'"{version}"', f'"{version + 1}"']
    assert "mine, half written" in served.ask("GET", f"/tools/show?tool={LIST}")["message"]
    served.ask("POST", "/tools/switch", {"tool": LIST, "enabled": True})


@pytest.mark.behaviour("web.collision")
def test_who_says_that_they_know_decides_on_what_holds_now(page: Page, served: Site) -> None:
    mine = turning_off(page, ADD)
    served.pegboard("tools", "disable", ADD)
    expect(mine.get_by_role("list", name="Decided meanwhile")).to_contain_text(ADD)
    mine.get_by_role("button", name="Go on with what holds now").click()
    expect(mine.get_by_role("alert")).to_have_count(0)
    mine.get_by_label("Note").fill("all the same")
    mine.get_by_role("button", name="Turn off").click()
    expect(mine).to_have_count(0)
    assert "all the same" in served.ask("GET", f"/tools/show?tool={ADD}")["message"]
    served.ask("POST", "/tools/switch", {"tool": ADD, "enabled": True})


@pytest.mark.behaviour("web.collision_of_one")
def test_what_is_decided_about_another_tool_stops_nobody(page: Page, served: Site) -> None:
    mine = turning_off(page, ADD)
    served.ask("POST", "/tools/switch", {"tool": GET, "enabled": False})
    expect(peg(page, GET)).to_have_attribute("aria-label", "get_book, locked")
    expect(mine.get_by_role("alert")).to_have_count(0)
    mine.get_by_role("button", name="Turn off").click()
    expect(mine).to_have_count(0)
    assert served.ask("GET", f"/tools/show?tool={ADD}")["verdict"] == "locked"
    for tool in (ADD, GET):
        served.ask("POST", "/tools/switch", {"tool": tool, "enabled": True})


@pytest.mark.behaviour("web.collision")
def test_what_was_chosen_together_stands_on_what_was_seen_then(page: Page, served: Site) -> None:
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    peg(page, LIST).click(modifiers=["Shift"])
    peg(page, ADD).click(modifiers=["Control"])
    served.ask("POST", "/tools/switch", {"tool": LIST, "enabled": False, "note": "first"})
    region = page.get_by_role("region", name="Chosen tools")
    expect(region.get_by_role("list", name="Decided meanwhile")).to_contain_text("switched off: first")
    region.get_by_role("button", name="Turn on").click()
    expect(region.get_by_role("alert")).to_contain_text("Nothing of what you just did was carried out.")
    assert served.ask("GET", f"/tools/show?tool={LIST}")["verdict"] == "locked"
    region.get_by_role("button", name="Turn on").click()
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, open")


@pytest.mark.behaviour("web.collision")
def test_an_act_of_one_click_stands_on_what_the_page_shows(page: Page, served: Site) -> None:
    served.ask("POST", "/tools/switch", {"tool": LIST, "enabled": False})
    expect(peg(page, LIST)).to_have_attribute("aria-label", "list_notes, locked")
    served.ask("POST", "/tools/switch", {"tool": GET, "enabled": False})
    expect(peg(page, GET)).to_have_attribute("aria-label", "get_book, locked")
    for tool in (LIST, GET):
        peg(page, tool).focus()
        page.keyboard.press("Space")
        expect(peg(page, tool)).to_have_attribute("aria-label", re.compile("open$"))


@pytest.mark.behaviour("web.collision")
def test_who_is_asked_whether_to_stop_a_server_is_told_that_it_was_stopped(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/servers?id=library~library")
    page.get_by_role("button", name="Stop", exact=True).click()
    mine = page.get_by_role("dialog", name="Stop library?")
    mine.get_by_label("Why").fill("mine")
    served.ask("POST", "/servers/library~library/switch", {"enabled": False, "note": "theirs"})
    expect(mine.get_by_role("list", name="Decided meanwhile")).to_contain_text("switched off: theirs")
    expect(mine).to_contain_text("It is off already.")
    expect(mine.get_by_label("Why")).to_have_value("mine")
    mine.get_by_role("button", name="Stop library").click()
    expect(mine.get_by_role("alert")).to_contain_text("Nothing of what you just did was carried out.")
    mine.get_by_role("button", name="Leave it on").click()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()


@pytest.mark.behaviour("web.collision")
def test_a_review_is_overtaken_by_anothers_verdict_and_by_nothing_else(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/approvals?tool={WAITS}")
    footer = page.locator(".review-decision")
    footer.get_by_label("Note, when it stays locked").fill("mine")
    served.pegboard("tools", "disable", GET)
    served.pegboard("tools", "enable", GET)
    expect(footer.get_by_role("alert")).to_have_count(0)
    served.ask("POST", "/approvals/block", {"tool": WAITS, "note": "theirs"})
    expect(footer.get_by_role("list", name="Decided meanwhile")).to_contain_text("blocked at its review: theirs")
    expect(footer.get_by_label("Note, when it stays locked")).to_have_value("mine")
    footer.get_by_role("button", name="Approve").click()
    expect(footer.get_by_role("alert")).to_contain_text("Nothing of what you just did was carried out.")
    assert served.ask("GET", f"/tools/show?tool={WAITS}")["verdict"] == "locked"
    footer.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("list_notes is approved as you read it")).to_be_visible()


@pytest.mark.behaviour("web.collision", "web.grant")
def test_a_grant_is_asked_anew_where_somebody_else_granted_meanwhile(page: Page, served: Site) -> None:
    served.ask("POST", "/tokens", {"principal": "bot", "name": "x", "scopes": ["call"], "toolsets": ["library"]})
    page.goto(f"{served.address}/ui/?as=bot")
    peg(page, WAITS).click()
    page.get_by_role("group", name="About list_notes").get_by_role("button", name="Grant desk to bot").click()
    mine = page.get_by_role("dialog", name="Grant desk to bot")
    expect(mine).to_contain_text("bot may then use exactly: desk, library.")
    served.ask("PUT", "/principals/bot/grants", {"toolsets": ["drawer", "library"]})
    expect(mine.get_by_role("list", name="Decided meanwhile")).to_contain_text("drawer")
    expect(mine).to_contain_text("bot may then use exactly: desk, library.")
    mine.get_by_role("button", name="Grant", exact=True).click()
    expect(mine.get_by_role("alert")).to_contain_text("Nothing of what you just did was carried out.")
    expect(mine).to_contain_text("bot may then use exactly: desk, drawer, library.")
    mine.get_by_role("button", name="Grant", exact=True).click()
    expect(mine).to_have_count(0)
    [bot] = [each for each in served.ask("GET", "/principals")["principals"] if each["id"] == "bot"]
    assert bot["toolsets"] == ["desk", "drawer", "library"]
