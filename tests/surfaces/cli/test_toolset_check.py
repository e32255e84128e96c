"""`pegboard toolset check`: every problem at once, with its place, and nothing of the toolset is run."""

import json
import zipfile
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard

MANIFEST = """\
id: mine
version: 1.2
tools:
  - id: shout
    entrypoint: tools.words:shout
"""
WORDS = '''\
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()
'''


def folder_at(path: Path, manifest: str = MANIFEST, **modules: str) -> Path:
    (path / "tools").mkdir(parents=True)
    (path / "toolset.yaml").write_text(manifest)
    for name, text in (modules or {"words": WORDS}).items():
        (path / "tools" / f"{name}.py").write_text(text)
    return path


def zipped(folder: Path, top: str = "") -> Path:
    file = folder.with_suffix(".zip")
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"{top}{path.relative_to(folder).as_posix()}")
    return file


@pytest.mark.behaviour("cli.toolset_check")
def test_a_sound_toolset_is_told_to_be_so(pegboard: Pegboard, home: Path) -> None:
    folder = folder_at(home / "mine")
    assert pegboard("toolset", "check", "mine").out == "mine 1.2 is sound: 1 Python tool.\n"
    assert pegboard("toolset", "check", zipped(folder)).code == 0
    assert pegboard("toolset", "check", zipped(folder, "mine-main/")).code == 0
    told = json.loads(pegboard("toolset", "check", "mine", "--json").out)
    assert told == {"id": "mine", "version": "1.2", "warnings": [], "errors": []}


@pytest.mark.behaviour("cli.toolset_check")
def test_every_problem_is_told_with_its_place(pegboard: Pegboard, home: Path) -> None:
    broken = "id: Mine!\nversion: [1]\nmcp_servers:\n  - id: x\n"
    folder_at(home / "mine", broken)
    done = pegboard("toolset", "check", "mine")
    assert (done.code, done.out) == (3, "")
    places = [line.removeprefix("pegboard: ").split(": ")[:2] for line in done.err.splitlines()]
    assert places == [
        ["mine/toolset.yaml:1", "id"],
        ["mine/toolset.yaml:2", "version"],
        ["mine/toolset.yaml:4", "mcp_servers[0]"],
    ]


@pytest.mark.behaviour("cli.toolset_check")
def test_a_function_that_is_not_there_is_told_with_near_names(pegboard: Pegboard, home: Path) -> None:
    folder_at(home / "mine", MANIFEST.replace("words:shout", "words:shoot"))
    assert pegboard("toolset", "check", "mine").err == (
        "pegboard: mine/toolset.yaml:5: tools[0].entrypoint: there is no function 'shoot' in tools/words.py. "
        "Did you mean 'shout'?\n"
    )


def test_a_module_that_is_no_python_is_told_by_its_line(pegboard: Pegboard, home: Path) -> None:
    folder_at(home / "mine", words="import os\ndef shout(:\n")
    done = pegboard("toolset", "check", "mine")
    assert (done.code, done.err) == (3, "pegboard: mine/tools/words.py:2: this is no Python: invalid syntax.\n")


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import *\n",
        "from elsewhere import shout\n",
        "import functools as shout\n",
        "shout = print\n",
        "shout, other = print, repr\n",
        "shout: object = print\n",
        "class shout: pass\n",
        "async def shout(): pass\n",
        "try:\n    from a import shout\nexcept ImportError:\n    pass\n",
        "if True:\n    def shout(): pass\n",
        "def __getattr__(name): return print\n",
    ],
)
def test_a_function_that_may_be_there_is_not_doubted(text: str, pegboard: Pegboard, home: Path) -> None:
    folder_at(home / "mine", words=text)
    assert pegboard("toolset", "check", "mine").code == 0


@pytest.mark.behaviour("cli.toolset_check")
def test_nothing_is_run(pegboard: Pegboard, home: Path) -> None:
    folder_at(home / "mine", words=f"open({str(home / 'run')!r}, 'w')\n{WORDS}")
    assert pegboard("toolset", "check", "mine").code == 0
    assert not (home / "run").exists()


@pytest.mark.parametrize(
    ("name", "content", "code", "why"),
    [
        ("gone", None, 4, "there is no gone. Name a folder, a ZIP or a toolset.yaml."),
        ("notes.txt", b"hello", 3, "notes.txt: it is neither a folder nor a ZIP archive nor a toolset.yaml."),
        ("half.zip", b"PK\x03\x04 cut off", 3, "half.zip: it is no ZIP archive that can be read: File is"),
        ("mine.yaml", b"\xff\xfe", 3, "mine.yaml:1: this file is saved as UTF-16. Save it as UTF-8."),
        ("list.yaml", b"- a\n", 3, None),
        ("empty.yaml", b"", 3, None),
    ],
)  # fmt: skip
def test_what_is_no_toolset_is_told(
    name: str, content: bytes | None, code: int, why: str | None, pegboard: Pegboard, home: Path
) -> None:
    if content is not None:
        (home / name).write_bytes(content)
    done = pegboard("toolset", "check", name)
    assert done.code == code
    assert done.err.startswith(f"pegboard: {why or name}")


def test_a_folder_without_a_manifest_is_told(pegboard: Pegboard, home: Path) -> None:
    (home / "bare").mkdir()
    (home / "bare" / "notes.txt").write_text("x")
    done = pegboard("toolset", "check", "bare")
    assert (done.code, done.err) == (
        3,
        "pegboard: bare: there is no toolset.yaml at its top, nor in the one folder that holds everything. "
        "`pegboard toolset new` writes one.\n",
    )


def test_a_manifest_alone_is_a_toolset(pegboard: Pegboard, home: Path) -> None:
    (home / "servers.yml").write_text(
        "id: two\nversion: '1'\nmcp_servers:\n  - {id: a, url: 'http://127.0.0.1:1/mcp'}\n"
    )
    assert pegboard("toolset", "check", "servers.yml").out == "two 1 is sound: 1 server.\n"


def test_the_former_name_of_the_group_still_works(pegboard: Pegboard, home: Path) -> None:
    folder_at(home / "mine")
    assert pegboard("toolsets", "check", "mine").code == 0


@pytest.mark.behaviour("cli.toolset_check")
def test_a_manifest_that_was_named_without_its_folder_is_told_so(pegboard: Pegboard, home: Path) -> None:
    folder_at(home / "mine")
    checked = pegboard("toolset", "check", "mine/toolset.yaml")
    assert checked.code == 3
    assert checked.err.splitlines()[-1] == (
        "mine/toolset.yaml: a manifest alone brings no files, and there are some beside it. "
        "Name the folder instead: mine"
    )


@pytest.mark.behaviour("cli.toolset_check")
@pytest.mark.parametrize("option", ["--data-dir", "--config"])
def test_a_check_tells_why_it_takes_no_board(pegboard: Pegboard, option: str) -> None:
    done = pegboard("toolset", "check", "mine", option, "there")
    assert done.code == 2
    assert "check looks at the files alone and at no board" in done.err
    assert "pegboard toolset import SOURCE --dry-run" in done.err
