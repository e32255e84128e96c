"""A bundle is looked at whole before anything is written, and what is not sound is refused by its name."""

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.config.bundle.packing import (
    MANIFEST,
    entry,
    overlapping,
    packed,
    patched,
    spoiled,
    with_entries,
)
from tests.support.fuzzing import case_count

from pegboard.config.bundle.archive import MIB, BundleLimits
from pegboard.config.bundle.staging_folder import BadBundleError, remove_leftovers, stage_archive, stage_folder
from pegboard.config.paths import make_private_folder
from pegboard.config.schema.document import FileProblem
from pegboard.providers.python.worker.channel import WorkerSurroundings


def refused(file: Path, beside: Path, limits: BundleLimits | None = None) -> list[str]:
    """What is said of it; nothing is left of it."""
    with pytest.raises(BadBundleError) as error, stage_archive(file, beside, limits):
        pass
    assert left_in(beside) == []
    return [str(problem) for problem in error.value.problems]


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.exists() else []


@pytest.mark.behaviour("bundle.staged")
@pytest.mark.parametrize("top", ["", "mine-1.0/"])
def test_a_sound_bundle_lies_whole_in_a_folder_that_goes_away(tmp_path: Path, top: str) -> None:
    files = {"toolset.yaml": MANIFEST, "lib/deep/x.py": "x = 1\n", "tools/ä.txt": "ä", "empty": ""}
    file = packed(tmp_path / "mine.zip", {f"{top}{name}": content for name, content in files.items()})
    steps: list[tuple[int, int]] = []
    with stage_archive(file, tmp_path / "in", progress=lambda done, total: steps.append((done, total))) as staged:
        assert staged.files == tuple(sorted(files))
        assert {name: (staged.folder / name).read_text() for name in staged.files} == files
        assert staged.manifest == staged.folder / "toolset.yaml"
        assert stat.S_IMODE((staged.folder / "empty").stat().st_mode) == 0o600
    assert left_in(tmp_path / "in") == []
    assert steps == [(done, 4) for done in range(1, 5)]


@pytest.mark.behaviour("bundle.unsafe_names")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("../x", "its name leads elsewhere by '..'. Pack the bundle from inside its folder."),
        ("a/../../x", "its name leads elsewhere by '..'. Pack the bundle from inside its folder."),
        ("./x", "its name leads elsewhere by '.'. Pack the bundle from inside its folder."),
        ("/etc/passwd", "its name is an absolute path. Pack the bundle from inside its folder."),
        ("//etc/passwd", "its name is an absolute path. Pack the bundle from inside its folder."),
        ("a//x", "its name holds '//'. Pack the bundle again."),
        ("C:/x", "its name is an absolute path. Pack the bundle from inside its folder."),
        ("a\\..\\x", "its name holds '\\\\', which not every system takes. Rename the file."),
        ("a/b:stream", "its name holds ':', which not every system takes. Rename the file."),
        ("tools/NUL", "'NUL' is a device on Windows. Rename it."),
        ("com1.txt", "'com1.txt' is a device on Windows. Rename it."),
        ("a/trailing.", "'trailing.' ends in a dot or a blank, which not every system keeps. Rename it."),
        ("a /x", "'a ' ends in a dot or a blank, which not every system keeps. Rename it."),
        (
            "a\x1b[2J",
            "its name holds characters that no name should: control characters, or half of one. Rename the file.",
        ),
        (
            "a\u202etxt.py",
            "its name holds marks that reorder or hide letters, so that it reads as another. Rename the file.",
        ),
        ("/".join("abcdefghijklmnopq"), "it lies deeper than 16 folders. Flatten them."),
        ("x" * 241, "its name is longer than 240 characters. Shorten it."),
        ("ä" * 128, "one part of its name is longer than 255 bytes. Shorten it."),
    ],
)
def test_a_name_that_leads_elsewhere_or_means_other_things_elsewhere_is_refused(
    tmp_path: Path, name: str, what: str
) -> None:
    file = packed(tmp_path / "b.zip", {"toolset.yaml": MANIFEST, name: "x"})
    said = refused(file, tmp_path / "in")
    assert [line.endswith(f": {what}") for line in said] == [True], said
    assert said[0].startswith(f"b.zip: {repr(name)[1:-1][:200]}")


@pytest.mark.behaviour("bundle.unsafe_names")
def test_a_name_that_is_no_text_is_refused_by_what_can_be_read_of_it(tmp_path: Path) -> None:
    file = packed(tmp_path / "b.zip", {"toolset.yaml": MANIFEST, "b\u00e4d.py": "x"})
    file.write_bytes(file.read_bytes().replace("b\u00e4d".encode(), b"b\xff\xfed"))
    assert refused(file, tmp_path / "in") == [
        "b.zip: b\\\\xff\\\\xfed.py: its name is said to be UTF-8 and is not. Pack the bundle again."
    ]


def test_a_name_that_is_cut_where_it_is_read_is_refused(tmp_path: Path) -> None:
    file = with_entries(tmp_path / "b.zip", (entry("a.py\0.txt"), b"1"))
    assert refused(file, tmp_path / "in") == ["b.zip: a.py\\x00.txt: its name holds a zero byte. Rename the file."]


@pytest.mark.behaviour("bundle.unsafe_names")
@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ("a.py", "A.py", "b.zip: A.py: on some systems it is the same file as 'a.py'."),
        ("\u00e4.py", "a\u0308.py", "b.zip: a\u0308.py: on some systems it is the same file as '\u00e4.py'."),
        ("lib/a.py", "Lib/b.py", "b.zip: Lib/b.py: on some systems its folder 'Lib' is the same as 'lib'."),
        ("lib", "lib/a.py", "b.zip: lib: it is a file and a folder at once."),
    ],
)
def test_names_that_are_one_on_some_systems_are_refused(tmp_path: Path, one: str, other: str, what: str) -> None:
    file = packed(tmp_path / "b.zip", {"toolset.yaml": MANIFEST, one: "1", other: "2"})
    assert refused(file, tmp_path / "in") == [what]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file = with_entries(tmp_path / "b.zip", (entry("a.py"), b"1"), (entry("a.py"), b"2"))
    assert refused(file, tmp_path / "in") == ["b.zip: a.py: it is there twice."]


@pytest.mark.behaviour("bundle.only_files")
@pytest.mark.parametrize(
    ("mode", "what"),
    [
        (stat.S_IFLNK | 0o777, "a symbolic link"),
        (stat.S_IFIFO | 0o600, "a pipe"),
        (stat.S_IFCHR | 0o600, "a device"),
        (stat.S_IFSOCK | 0o600, "a socket"),
    ],
)
def test_what_is_no_file_is_refused(tmp_path: Path, mode: int, what: str) -> None:
    file = with_entries(tmp_path / "b.zip", (entry("link", mode=mode), b"/etc/passwd"))
    assert refused(file, tmp_path / "in") == [
        f"b.zip: link: it is {what} and no file. Put a copy of what it means in its place."
    ]


@pytest.mark.behaviour("bundle.bounded")
def test_a_bundle_has_bounds_in_number_size_and_growth(tmp_path: Path) -> None:
    limits = BundleLimits(max_files=3, max_total_bytes=6000, max_file_bytes=5000, max_ratio=50)
    many = packed(tmp_path / "many.zip", {"toolset.yaml": MANIFEST, **{f"{n}.py": "x" for n in range(3)}})
    assert refused(many, tmp_path / "in", limits) == ["many.zip: it holds 4 files, and 3 are the most."]
    large = packed(tmp_path / "large.zip", {"toolset.yaml": MANIFEST, "a": os.urandom(5001)})
    assert refused(large, tmp_path / "in", limits) == [
        "large.zip: a: unpacked it takes 5,001 bytes, and 0 MiB are the most."
    ]
    total = packed(tmp_path / "total.zip", {"toolset.yaml": MANIFEST, "a": os.urandom(4000), "b": os.urandom(4000)})
    assert refused(total, tmp_path / "in", limits) == [
        f"total.zip: unpacked it would take {8000 + len(MANIFEST):,} bytes, and 0 MiB are the most."
    ]
    bomb = packed(tmp_path / "bomb.zip", {"toolset.yaml": MANIFEST, "a": b"\0" * 5000})
    assert refused(bomb, tmp_path / "in", limits) == [
        "bomb.zip: a: it would grow more than 50 times its size when unpacked."
    ]
    assert refused(bomb, tmp_path / "in", BundleLimits(max_archive_bytes=10)) == [
        f"bomb.zip: it is larger than 0 MiB ({bomb.stat().st_size:,} bytes)."
    ]


@pytest.mark.behaviour("bundle.bounded")
def test_files_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    said = refused(overlapping(tmp_path / "o.zip", 50), tmp_path / "in")
    assert len(said) == 49
    assert said[0] == "o.zip: 00001: its bytes are those of another file too. Pack the bundle again."


@pytest.mark.behaviour("bundle.damaged")
def test_what_cannot_be_unpacked_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    stored = entry("a.py", zipfile.ZIP_STORED)
    beside = tmp_path / "in"
    locked = patched(with_entries(tmp_path / "locked.zip", (stored, b"x = 1")), flags=0x1)
    assert refused(locked, beside) == ["locked.zip: a.py: it is encrypted. Pack the bundle without a password."]
    odd = patched(with_entries(tmp_path / "odd.zip", (stored, b"x = 1")), method=97)
    assert refused(odd, beside) == [
        "odd.zip: a.py: it is packed in a way that is not understood here. Pack it with the usual method, deflate."
    ]
    wrong = spoiled(with_entries(tmp_path / "wrong.zip", (stored, b"x = 1")))
    assert refused(wrong, beside) == [
        "wrong.zip: a.py: it is damaged (Bad CRC-32 for file 'a.py'). Pack the bundle again."
    ]
    text = tmp_path / "text.zip"
    text.write_text("no archive")
    assert refused(text, beside) == ["text.zip: it is no ZIP archive that can be read: File is not a zip file."]
    assert refused(tmp_path / "away.zip", beside) == ["away.zip: it cannot be read: No such file or directory."]
    assert refused(packed(tmp_path / "none.zip", {}), beside) == ["none.zip: it is empty."]


@pytest.mark.behaviour("bundle.manifest_found")
def test_a_bundle_has_one_manifest_at_its_top(tmp_path: Path) -> None:
    none = packed(tmp_path / "none.zip", {"a/b/toolset.yaml": MANIFEST})
    assert refused(none, tmp_path / "in") == [
        "none.zip: there is no toolset.yaml at its top, nor in the one folder that holds everything. "
        "`pegboard toolset new` writes one."
    ]
    both = packed(tmp_path / "both.zip", {"toolset.yaml": MANIFEST, "toolset.yml": MANIFEST})
    assert refused(both, tmp_path / "in") == ["both.zip: there are both a toolset.yaml and a toolset.yml. Keep one."]


def test_what_an_archiver_adds_of_its_own_accord_is_left_out(tmp_path: Path) -> None:
    file = packed(
        tmp_path / "b.zip",
        {"toolset.yaml": MANIFEST, "__MACOSX/._toolset.yaml": "x", "lib/.DS_Store": "x", ".git/config": "x"},
    )
    with stage_archive(file, tmp_path / "in") as staged:
        assert staged.files == ("toolset.yaml",)


def test_what_an_import_that_was_cut_off_left_behind_is_swept_away(tmp_path: Path) -> None:
    file = packed(tmp_path / "b.zip", {"toolset.yaml": MANIFEST})
    cut_off = stage_archive(file, tmp_path / "in")
    cut_off.__enter__()
    (tmp_path / "in" / "kept").mkdir()
    assert len(left_in(tmp_path / "in")) == 2
    remove_leftovers(tmp_path / "in")
    assert left_in(tmp_path / "in") == ["kept"]


SOUND = {"toolset.yaml": MANIFEST, "tools/a.py": "def a() -> int:\n    return 1\n" * 20, "lib/b.txt": "b" * 300}


@pytest.mark.behaviour("bundle.fuzzed")
@settings(max_examples=case_count(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(st.tuples(st.floats(0, 0.9999), st.integers(0, 255)), max_size=6),
    cut=st.floats(0.2, 1.0),
    again=st.booleans(),
)
def test_archives_with_changed_bytes_are_refused_or_sound_and_write_nothing_elsewhere(
    tmp_path: Path, edits: list[tuple[float, int]], cut: float, again: bool
) -> None:
    room = tmp_path / "room"
    room.mkdir(exist_ok=True)
    file = packed(room / "b.zip", SOUND)
    data = bytearray(file.read_bytes())
    for place, value in edits:
        data[int(place * len(data))] = value
    file.write_bytes(bytes(data[: int(cut * len(data))]) + (bytes(data) if again else b""))
    said: tuple[FileProblem, ...] | None = None
    try:
        with stage_archive(file, room / "in", BundleLimits(max_total_bytes=MIB, max_file_bytes=MIB)) as staged:
            names = [path for path in staged.folder.rglob("*") if path.is_file()]
            assert all(path.resolve().is_relative_to(room / "in") for path in names)
            assert sum(path.stat().st_size for path in names) <= MIB
    except BadBundleError as error:
        said = error.problems
    assert said != ()
    assert left_in(room) == ["b.zip", *(["in"] if (room / "in").exists() else [])]
    assert left_in(room / "in") == []
    assert left_in(tmp_path) == ["room"]


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Of everything in it, and of itself."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in (folder, *sorted(folder.rglob("*")))
    }


@pytest.mark.behaviour("bundle.for_its_owner_alone")
@pytest.mark.usefixtures("no_umask")
def test_what_is_staged_is_its_owners_alone_whatever_the_umask_is(tmp_path: Path) -> None:
    files = {"toolset.yaml": MANIFEST, "lib/deep/x.py": "x = 1\n"}
    owned = {".": 0o700, "toolset.yaml": 0o600, "lib": 0o700, "lib/deep": 0o700, "lib/deep/x.py": 0o600}
    with stage_archive(packed(tmp_path / "mine.zip", files), tmp_path / "in" / "inner") as staged:
        assert modes(staged.folder) == owned
    checkout = tmp_path / "checkout"
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    with stage_folder(checkout, tmp_path / "in" / "inner") as staged:
        assert modes(staged.folder) == owned
    assert modes(tmp_path / "in") == {".": 0o700, "inner": 0o700}


@pytest.mark.behaviour("bundle.for_its_owner_alone")
@pytest.mark.usefixtures("no_umask")
def test_folders_above_a_private_one_are_private_and_what_was_there_keeps_its_mode(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    make_private_folder(there / "workspaces" / "mine")
    WorkerSurroundings("mine", there / "others" / "mine").ensure_workspace()
    assert modes(there) == {
        ".": 0o755,
        "others": 0o700,
        "others/mine": 0o700,
        "workspaces": 0o700,
        "workspaces/mine": 0o700,
    }
