"""Every link leads somewhere, and every page can be reached."""

from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.docs.pages import OUTSIDE, ROOT, Page, page, pages


def wrong_links(page: Page) -> list[str]:
    wrong = []
    for line, target in page.links:
        if OUTSIDE.match(target):
            continue
        file, _, anchor = target.partition("#")
        path = page.path if not file else (page.path.parent / unquote(file)).resolve()
        if not path.exists() or not path.is_relative_to(page.root):
            wrong.append(f"{page}:{line}: {target} leads to no file of the repository")
        elif anchor and (path.suffix != ".md" or unquote(anchor) not in Page(path, page.root).anchors):
            wrong.append(f"{page}:{line}: {target} names no heading of {file or page}")
    return wrong


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Page) -> None:
    assert wrong_links(page) == []


def linked_from(name: str) -> set[str]:
    index = page(name)
    targets = [target.partition("#")[0] for _, target in index.links if not OUTSIDE.match(target)]
    return {str(Page((index.path.parent / target).resolve())) for target in targets if target}


@pytest.mark.parametrize(("index", "folder"), [("docs/README.md", "docs/"), ("adr/README.md", "adr/")])
def test_every_page_is_listed_on_the_first_page_of_its_folder(index: str, folder: str) -> None:
    inside = {str(page) for page in pages() if str(page).startswith(folder)}
    assert inside - linked_from(index) == {index}


def test_every_decision_is_listed_under_its_own_title() -> None:
    for decision in sorted((ROOT / "adr").glob("[0-9]*.md")):
        number, title = decision.read_text("utf-8").splitlines()[0].removeprefix("# ").split(" ", 1)
        assert decision.name.startswith(f"{number}-"), decision.name
        assert f"| [{number}]({decision.name}) | {title} |" in page("adr/README.md").text


def test_a_link_to_nothing_a_wrong_heading_and_a_way_out_of_the_repository_are_found(tmp_path: Path) -> None:
    (tmp_path / "outside.md").touch()
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text("# Two commands\n", "utf-8")
    sample = root / "docs" / "sample.md"
    sample.write_text(
        "# One: `two` & three\n\n## Again\n\n## Again\n\n"
        "[a](#one-two--three) [b](#again-1) [c](../README.md#two-commands) `[d](no.md)` [e](https://example.com/x)\n"
        "```\n[f](no.md)\n# not-a-heading\n```\n"
        "[g](no.md) [h](#not-a-heading) [i](../README.md#no) [j](../../outside.md)\n",
        "utf-8",
    )
    at = "docs/sample.md:12"
    assert wrong_links(Page(sample, root)) == [
        f"{at}: no.md leads to no file of the repository",
        f"{at}: #not-a-heading names no heading of docs/sample.md",
        f"{at}: ../README.md#no names no heading of ../README.md",
        f"{at}: ../../outside.md leads to no file of the repository",
    ]
