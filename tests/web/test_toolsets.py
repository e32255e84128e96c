"""The toolsets: what each brings and how it is, an import that is read before it is done, an export."""

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Download, FilePayload, Locator, Page, expect
from tests.e2e.served import DEMO, ROOT
from tests.support.fork_server import python
from tests.web.boards import server
from tests.web.looks import LOOKS, look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
LIBRARY = DEMO.parent / "library_server.py"
ALMANAC = f"""\
id: almanac
name: Almanac
version: 1.0.0
description: The library once more, as a toolset of one file.
mcp_servers:
  - id: books
    command: {python()}
    args: [{LIBRARY}]
"""


@pytest.fixture(scope="module")
def board() -> Mapping[str, object]:
    return {"servers": {"library": server(LIBRARY, trust="open")}}


def zipped(folder: Path, name: str) -> FilePayload:
    """The folder as somebody would pack it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(folder))
    return {"name": name, "mimeType": "application/zip", "buffer": content.getvalue()}


def written(name: str, text: str) -> FilePayload:
    return {"name": name, "mimeType": "application/yaml", "buffer": text.encode()}


def choose(page: Page, file: FilePayload) -> None:
    page.get_by_label("A ZIP or a toolset.yaml", exact=True).set_input_files([file])


def report(page: Page) -> Locator:
    return page.get_by_role("region", name="Report")


def ids(served: Site) -> list[str]:
    return [each["id"] for each in served.ask("GET", "/toolsets")["toolsets"]]


def there(served: Site, id: str) -> None:
    """The toolset is installed, also when no test before this one did it."""
    if id in ids(served):
        return
    folder = EXAMPLES / id.replace("-", "_")
    if id == "almanac":
        folder = served.data_dir.parent / id
        folder.mkdir(exist_ok=True)
        (folder / "toolset.yaml").write_text(ALMANAC, "utf-8")
    told = served.ask("POST", "/toolsets/import", {"path": str(folder), "approve": "all"})
    assert told["imported"], told
    if id == "almanac":
        # Its server's tools are approved at first sight: a decision that a change by a person would otherwise meet.
        served.wait_for_first_sight("mcp:almanac~books:count_books")


def test_without_a_toolset_the_page_tells_the_first_step(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/toolsets")
    expect(page.get_by_role("heading", name="No toolset was imported yet")).to_be_visible()
    look_over(page, "toolsets-empty")


@pytest.mark.behaviour("web.toolset_imported")
def test_a_zip_is_read_first_and_installed_when_somebody_says_import(page: Page, served: Site) -> None:
    # What is seen of a server for the first time is a decision, too: none may come between the report and the yes.
    served.settle()
    page.goto(f"{served.address}/ui/toolsets")
    page.get_by_role("link", name="Import", exact=True).click()
    choose(page, zipped(EXAMPLES / "kitchen", "kitchen.zip"))
    expect(report(page)).to_contain_text("new here")
    expect(report(page)).to_contain_text("timers")
    assert "kitchen" not in ids(served)
    look_over(page, "toolset-report", looks=LOOKS[:1], whole=True)
    page.get_by_role("button", name="Import kitchen").click()
    expect(page.get_by_role("heading", level=1, name="Kitchen timers")).to_be_visible()
    expect(page.get_by_role("list", name="Tools").get_by_role("link", name="start_timer")).to_be_visible()
    page.goto(f"{served.address}/ui/toolsets?import=1")
    choose(page, zipped(EXAMPLES / "kitchen", "kitchen.zip"))
    expect(report(page)).to_contain_text("there is nothing to import")
    expect(page.get_by_role("button", name="Import kitchen")).to_be_disabled()


@pytest.mark.behaviour("web.toolset_imported")
def test_problems_are_told_by_file_and_line_and_nothing_is_installed(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/toolsets?import=1")
    choose(page, written("toolset.yaml", "id: Bad Id\nname: Bad\nversion: 1.0.0\ncolour: red\n"))
    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"toolset\.yaml:1"))
    look_over(page, "toolset-problems")
    assert "Bad Id" not in ids(served)


@pytest.mark.behaviour("web.toolset_imported", "rest.import_on_version")
def test_an_import_that_was_read_before_somebody_else_decided_is_read_again(page: Page, served: Site) -> None:
    there(served, "kitchen")
    page.goto(f"{served.address}/ui/toolsets?import=1")
    choose(page, written("toolset.yaml", ALMANAC.replace("almanac", "yearbook")))
    expect(page.get_by_role("button", name="Import yearbook")).to_be_enabled()
    served.ask("POST", "/toolsets/kitchen/switch", {"enabled": False})
    served.ask("POST", "/toolsets/kitchen/switch", {"enabled": True})
    page.get_by_role("button", name="Import yearbook").click()
    expect(report(page)).to_contain_text("Look at it again before you decide.")
    assert "yearbook" not in ids(served)
    page.get_by_role("button", name="Read again").click()
    expect(report(page)).not_to_contain_text("Look at it again before you decide.")
    page.get_by_role("button", name="Import yearbook").click()
    expect(page.get_by_role("heading", level=1, name="Almanac")).to_be_visible()
    served.ask("DELETE", "/toolsets/yearbook")


@pytest.mark.behaviour("web.toolset_imported")
def test_a_dropped_manifest_is_imported_and_a_later_one_shows_the_difference(page: Page, served: Site) -> None:
    page.goto(f"{served.address}/ui/toolsets?import=1")
    choose(page, written("toolset.yaml", ALMANAC))
    page.get_by_role("button", name="Import almanac").click()
    expect(page.get_by_role("heading", level=1, name="Almanac")).to_be_visible()
    page.goto(f"{served.address}/ui/toolsets?import=1")
    choose(page, written("toolset.yaml", ALMANAC.replace("1.0.0", "0.9.0")))
    expect(report(page)).to_contain_text("an older version")
    expect(page.get_by_role("button", name="Import almanac")).to_be_disabled()
    page.get_by_role("checkbox", name="Go back to the older version all the same").check()
    expect(page.get_by_role("button", name="Import almanac")).to_be_enabled()


@pytest.mark.behaviour("web.toolsets_told")
def test_a_python_toolset_shows_its_worker_and_its_tools(narrow_page: Page, served: Site) -> None:
    page = narrow_page
    there(served, "shared-costs")
    page.goto(f"{served.address}/ui/toolsets?id=shared-costs")
    expect(page.get_by_role("list", name="Tools").get_by_role("listitem").first).to_be_visible()
    look_over(page, "toolset")
    page.get_by_role("tab", name="Worker").click()
    expect(page.get_by_role("log")).to_be_visible()
    page.get_by_role("tab", name="What it brings").click()
    expect(page.get_by_role("heading", name="Python requirements")).to_be_visible()
    look_over(page, "toolset-brings")
    page.get_by_role("link", name="All toolsets").click()
    expect(page.get_by_role("table").get_by_role("switch").first).to_be_visible()
    look_over(page, "toolsets")


@pytest.mark.behaviour("web.toolsets_told")
def test_a_secret_is_set_and_never_shown_again(page: Page, served: Site) -> None:
    there(served, "shared-costs")
    page.goto(f"{served.address}/ui/toolsets?id=shared-costs")
    page.get_by_role("link", name="Set it").click()
    page.get_by_label("Value of STATEMENT_KEY").fill("a key of the tests")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_text("STATEMENT_KEY is set")).to_be_visible()
    expect(page.get_by_label("Value of STATEMENT_KEY")).to_have_value("")
    assert served.ask("GET", "/toolsets/shared-costs")["secrets"] == [{"name": "STATEMENT_KEY", "set": True}]
    # What it waited for is there: it starts at once, and sleeps until somebody calls one of its tools.
    expect(page.get_by_text("It asks for 1 secret")).to_have_count(0)
    expect(page.get_by_text("Asleep", exact=True)).to_be_visible()
    called = served.ask("POST", "/call", {"tool": "shared-costs:settle_up", "arguments": {}})
    assert called["outcome"] == "returned", called
    expect(page.get_by_text("Up", exact=True)).to_be_visible()


@pytest.mark.behaviour("web.toolsets_told")
def test_a_toolset_is_switched_off_with_a_reason_and_on_again(page: Page, served: Site) -> None:
    there(served, "almanac")
    page.goto(f"{served.address}/ui/toolsets?id=almanac")
    page.get_by_role("switch", name="On", exact=True).click()
    page.get_by_label("Why (others read this)").fill("Nobody needs it today")
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_text("Almanac is off", exact=True)).to_be_visible()
    page.get_by_role("switch", name="Off", exact=True).click()
    expect(page.get_by_text("Almanac is on")).to_be_visible()
    assert served.ask("GET", "/toolsets/almanac")["enabled"] is True


@pytest.mark.behaviour("web.toolset_exported")
def test_an_export_tells_what_it_leaves_out_and_gives_the_zip(page: Page, served: Site) -> None:
    there(served, "kitchen")
    page.goto(f"{served.address}/ui/toolsets?id=kitchen")
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Export Kitchen timers")
    with page.expect_download() as waiting:
        dialog.get_by_role("link", name=re.compile("^Download")).click()
    got: Download = waiting.value
    with zipfile.ZipFile(got.path()) as archive:
        assert "toolset.yaml" in {Path(name).name for name in archive.namelist()}


@pytest.mark.behaviour("web.toolsets_told")
def test_a_toolset_is_removed_with_all_that_belongs_to_it(page: Page, served: Site) -> None:
    there(served, "almanac")
    page.goto(f"{served.address}/ui/toolsets?id=almanac")
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("button", name="Remove Almanac").click()
    expect(page.get_by_role("heading", level=1, name="Toolsets")).to_be_visible()
    expect(page.get_by_role("link", name="Almanac")).to_have_count(0)
    assert "almanac" not in ids(served)


@pytest.mark.behaviour("toolsets.user_mcp_shown_under_servers", "toolsets.explicit_shown_under_toolsets")
def test_a_lone_server_stands_under_servers_and_an_import_under_toolsets(page: Page, served: Site) -> None:
    there(served, "kitchen")
    page.goto(f"{served.address}/ui/toolsets")
    expect(page.get_by_role("table").get_by_role("link", name="Kitchen timers")).to_be_visible()
    expect(page.get_by_role("table").get_by_role("link", name="library", exact=True)).to_have_count(0)
    page.goto(f"{served.address}/ui/servers")
    expect(page.get_by_role("table").get_by_role("link", name="library", exact=True)).to_be_visible()
