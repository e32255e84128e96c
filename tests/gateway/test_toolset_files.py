"""The files of installed toolsets: named by what is in them, put in their place whole, swept when nobody needs them."""

import shutil
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core import imports
from tests.core.boards import PERSON

from pegboard.core.model.ids import ToolsetId
from pegboard.core.model.tool import OwnTools
from pegboard.core.model.toolset import FileKind, Toolset, ToolsetFile
from pegboard.core.policy.policy import Policy, PolicyDecisions
from pegboard.gateway.toolsets.build import file_kind_of
from pegboard.gateway.toolsets.files import (
    MAX_PAGE_BYTES,
    FilesUnavailable,
    ToolsetFiles,
    UnreadablePage,
    content_digest,
    file_facts,
    sweep,
    sweep_staged,
)

MINE = ToolsetId("mine")


def staged(files: ToolsetFiles, **content: str) -> Path:
    files.root.mkdir(parents=True, exist_ok=True)
    folder = files.root / f"staging-{len(list(files.root.iterdir()))}"
    for name, text in content.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()))


def placed(files: ToolsetFiles, **content: str) -> Path:
    folder = staged(files, **content)
    return files.place(folder, MINE, file_facts(folder, names(folder)))


def shelves(files: ToolsetFiles) -> list[str]:
    """What lies there, locks aside."""
    return sorted(path.relative_to(files.root).as_posix() for path in files.root.glob("*/*"))


def test_the_digest_names_every_file_and_its_content(tmp_path: Path) -> None:
    def of(**content: str) -> str:
        folder = staged(ToolsetFiles(tmp_path), **content)
        found = content_digest(file_facts(folder, names(folder)))
        shutil.rmtree(folder)
        return found

    one = of(a="1", b__c="2")
    assert of(a="1", b__c="2") == one
    assert len({one, of(a="1"), of(a="1", b__c="3"), of(a="1", b__d="2"), of(a1="", b__c="2")}) == 5
    assert len(one) == 64


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("toolset.yaml", FileKind.CONFIG),
        ("inner/toolset.yaml", FileKind.ASSET),
        ("tools/words.py", FileKind.PYTHON),
        ("artifacts/chart.html", FileKind.ARTIFACT),
        ("assets/logo.png", FileKind.ASSET),
        ("README.md", FileKind.ASSET),
    ],
)
def test_a_file_is_told_apart_by_its_place(name: str, kind: FileKind) -> None:
    assert file_kind_of(name, "toolset.yaml") is kind


def test_what_was_staged_is_in_its_place_and_nowhere_else(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    place = placed(files, toolset="id", tools__a="code")
    assert place.parent == files.root / "mine"
    assert names(place) == ("tools/a", "toolset")
    assert shelves(files) == [f"mine/{place.name}"]


def test_the_same_content_again_leaves_what_is_there_alone(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    place = placed(files, toolset="id")
    before = (place / "toolset").stat()
    again = placed(files, toolset="id")
    assert (again, (place / "toolset").stat().st_ino) == (place, before.st_ino)


def test_a_folder_that_somebody_meddled_with_is_replaced(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    place = placed(files, toolset="id")
    (place / "toolset").write_text("something else")
    assert placed(files, toolset="id") == place
    assert (place / "toolset").read_text() == "id"


def test_only_what_is_named_is_kept(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    old, new = placed(files, toolset="1"), placed(files, toolset="2")
    files.delete_all_except({MINE: {new.name}})
    assert shelves(files) == [f"mine/{new.name}"]
    assert not old.exists()
    files.delete_all_except({})
    assert shelves(files) == []
    assert not (files.root / "mine").exists()


async def _nothing() -> PolicyDecisions:
    return PolicyDecisions()


def _all_of_it(decided: PolicyDecisions) -> None:
    """Nothing else is kept for toolsets here."""


@pytest.mark.anyio
@pytest.mark.behaviour("toolsets.leftovers_are_swept")
async def test_leftovers_are_swept_at_the_start(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    placed(files, toolset="1")
    staged(files, toolset="2", tools__a="3")
    await sweep(files, _nothing, _all_of_it)
    assert [path.name for path in files.root.iterdir() if not path.name.startswith(".")] == []


@pytest.mark.anyio
@pytest.mark.behaviour("toolsets.leftovers_are_swept")
async def test_what_another_process_is_staging_is_not_swept(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    with files.stage():
        folder = staged(files, toolset="2")
        await sweep(files, _nothing, _all_of_it)
        assert folder.exists()
    with files.exclusive_lock():
        await sweep(files, _nothing, _all_of_it)
        assert folder.exists()
    await sweep(files, _nothing, _all_of_it)
    assert not folder.exists()


@pytest.mark.behaviour("toolsets.leftovers_are_swept")
def test_an_import_sweeps_what_another_left_that_was_cut_off(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    place, folder = placed(files, toolset="1"), staged(files, toolset="2")
    with files.stage():
        sweep_staged(files)
        assert folder.exists()
    sweep_staged(files)
    assert (folder.exists(), place.exists()) == (False, True)


@pytest.mark.anyio
async def test_a_board_without_toolsets_makes_no_folder(tmp_path: Path) -> None:
    await sweep(ToolsetFiles(tmp_path), _nothing, _all_of_it)
    assert not ToolsetFiles(tmp_path).root.exists()


def test_two_do_not_put_files_in_their_place_at_once(tmp_path: Path) -> None:
    files = ToolsetFiles(tmp_path)
    entered, order = threading.Event(), list[str]()

    def second() -> None:
        entered.set()
        with ToolsetFiles(tmp_path).exclusive_lock():
            order.append("second")

    with files.exclusive_lock():
        other = threading.Thread(target=second)
        other.start()
        assert entered.wait(30)
        order.append("first")
    other.join(30)
    assert order == ["first", "second"]


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "toolsets").write_text("in the way")
    with (
        pytest.raises(FilesUnavailable, match=r"File exists\. Nothing was changed"),
        ToolsetFiles(tmp_path).exclusive_lock(),
    ):
        pass


DIGEST = "a" * 64


def with_pages(tmp_path: Path, pages: Mapping[str, bytes], linked: str | None = None) -> tuple[ToolsetFiles, Policy]:
    """A toolset that was imported with these files."""
    files = ToolsetFiles(tmp_path)
    folder = Path(linked) if linked is not None else files.folder(imports.ID, DIGEST)
    for name, content in pages.items():
        place = folder.joinpath(*name.split("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    server = imports.own("add", digest=DIGEST)
    assert isinstance(server.connection, OwnTools)
    server = replace(server, connection=replace(server.connection, linked=linked))
    known = tuple(ToolsetFile(name, FileKind.ARTIFACT, "0" * 64, len(content)) for name, content in pages.items())
    decided = PolicyDecisions(
        servers={imports.KIT: server}, toolsets={imports.ID: Toolset(imports.ID, PERSON)}, files={imports.ID: known}
    )
    return files, imports.policy(decided)


@pytest.mark.behaviour("overrides.html_artifact")
@pytest.mark.parametrize("path", ["artifacts/quiz.html", "artifacts\\quiz.html", "./artifacts//quiz.html"])
def test_a_page_of_a_toolset_is_read(tmp_path: Path, path: str) -> None:
    files, policy = with_pages(tmp_path, {"artifacts/quiz.html": "\ufeff<p>Zürich</p>".encode()})
    assert files.read_page(policy, imports.ID, path) == "<p>Zürich</p>"


@pytest.mark.behaviour("overrides.html_artifact_is_the_toolsets_own")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../other/page.html", "toolset 'kit' has no file '../other/page.html'"),
        ("artifacts/../../page.html", "toolset 'kit' has no file '../page.html'"),
        ("/etc/page.html", "toolset 'kit' has no file '/etc/page.html'"),
        ("unknown.html", "toolset 'kit' has no file 'unknown.html'"),
        (
            "artifacts/quizz.html",
            "toolset 'kit' has no file 'artifacts/quizz.html' (did you mean 'artifacts/quiz.html'?)",
        ),
        ("tools/math.py", "it must be an .html or .htm file of the toolset"),
        ("", "it must be an .html or .htm file of the toolset"),
        ("an/enormous-document-of-ours.html", "a page may have 2 MiB, and this one has more"),
        ("latin.html", "it is not UTF-8 text. Save it as UTF-8 and import the toolset again"),
    ],
)
def test_no_other_file_is_read_as_a_page(tmp_path: Path, path: str, why: str) -> None:
    pages = {
        "artifacts/quiz.html": b"<p>",
        "tools/math.py": b"",
        "an/enormous-document-of-ours.html": b" " * (MAX_PAGE_BYTES + 1),
        "latin.html": b"Z\xfcrich",
    }
    files, policy = with_pages(tmp_path, pages)
    (tmp_path / "toolsets" / "page.html").write_text("secret")
    assert files.read_page(policy, imports.ID, path) == UnreadablePage(why)


@pytest.mark.behaviour("overrides.html_artifact_is_the_toolsets_own")
def test_a_page_that_is_gone_or_a_link_out_of_the_toolset_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.html"
    outside.write_text("secret")
    linked = tmp_path / "linked"
    files, policy = with_pages(tmp_path, {"page.html": b"<p>", "gone.html": b"<p>"}, str(linked))
    assert files.read_page(policy, imports.ID, "page.html") == "<p>"
    (linked / "page.html").unlink()
    (linked / "page.html").symlink_to(outside)
    assert files.read_page(policy, imports.ID, "page.html") == UnreadablePage(
        "it is a link that leads out of the toolset"
    )
    (linked / "gone.html").unlink()
    assert files.read_page(policy, imports.ID, "gone.html") == UnreadablePage(
        "it cannot be read: No such file or directory. Import the toolset again"
    )
    bare = Policy(policy.declared, PolicyDecisions())
    assert files.read_page(bare, imports.ID, "page.html") == UnreadablePage(
        "toolset 'kit' has no files. Import one that has the page"
    )
