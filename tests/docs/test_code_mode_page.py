"""The page about programs, done as it is written: its programs, their output, and what is told of a wrong one."""

import re
from pathlib import Path

import pytest
from tests.docs.pages import page
from tests.surfaces.cli.terminal import program, serving

from pegboard.core.model.settings import CodeLimits
from pegboard.core.presentations.code import TOOLS
from pegboard.providers.sandbox.prelude import MODULES

HOW_TO = page("docs/how-to/code-mode.md")
REFERENCE = page("docs/reference/code.md")
DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo" / "pegboard.yaml"


def blocks(language: str) -> list[str]:
    return [block.text for block in HOW_TO.blocks if block.language == language]


@pytest.mark.slow
@pytest.mark.behaviour("code.run_command", "code.stubs_command")
def test_the_programs_of_the_page_do_what_it_shows(tmp_path: Path) -> None:
    right, wrong = blocks("python")
    shown, complaint = blocks("text")
    (tmp_path / "decades.py").write_text(right, "utf-8")
    (tmp_path / "wrong.py").write_text(wrong, "utf-8")
    demo = {"DESK_DIR": str(tmp_path / "desk")}
    data = tmp_path / "data"
    with serving(tmp_path, DEMO, data, **demo):
        for server in ("library", "desk"):
            assert program(tmp_path, "servers", "enable", server, "--data-dir", data).code == 0
        done = program(tmp_path, "run", tmp_path / "decades.py", "--data-dir", data)
        assert (done.code, done.out.strip()) == (0, shown.strip()), done.err
        assert (tmp_path / "desk" / "decades.md").read_text("utf-8").startswith("1900 to 1949: 3 books")
        failed = program(tmp_path, "run", tmp_path / "wrong.py", "--data-dir", data)
        assert failed.code == 1
        assert complaint.strip() in failed.err
        stubs = program(tmp_path, "stubs", "library", "--data-dir", data)
        assert "async def search_books(*, query: str = ..." in stubs.out


def test_the_reference_tells_every_argument_of_the_search() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", REFERENCE.text.split("## tool_search")[1].split("## ")[0], re.M))
    schema = TOOLS["tool_search"].spec.input_schema
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    assert [*told] == [*properties]
    assert [name for name, default in told.items() if default == "required"] == required


def test_the_reference_tells_the_modules_that_the_installed_monty_has() -> None:
    told = REFERENCE.text.split("Monty has the modules")[1].split("and no others")[0]
    assert set(re.findall(r"`([a-z0-9]+)`", re.sub(r"\([^)]*\)", "", told))) == {*MODULES}


def test_the_reference_tells_the_limits_as_they_are() -> None:
    limits = CodeLimits()
    told = REFERENCE.text.split("## Limits")[1]
    for words in (
        f"| computing | {limits.cpu:g} s |",
        f"is asked | {limits.wall:g} s |",
        f"| memory | {limits.memory // 2**20} MiB |",
        f"| {limits.calls}, and {limits.concurrency} at the same time |",
        f"| {limits.result // 1024} KiB |",
        f"| {limits.stdout // 1024} KiB |",
        f"| {limits.code // 1024} KiB |",
        f"| sleeping, in all | {limits.sleep:g} s |",
    ):
        assert words in told
