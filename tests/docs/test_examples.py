"""Every block of every page is what it says it is: settings that load, JSON, commands that exist."""

import ast
import json
import re
from pathlib import Path

import pytest
from tests.docs.pages import Block, Page, blocks, lines, pages
from tests.docs.shell import OTHER_PROGRAMS, commands, complaint, files_named, mention_complaint

from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import read_manifest
from pegboard.config.schema.document import UnreadableFileError, to_json
from pegboard.config.schema.parse import parse_yaml
from pegboard.config.settings import Settings, load_settings_text
from pegboard.surfaces.rest.search import RunQueriesBody

LANGUAGES = {
    "": "shown as it is",
    "html": "shown by tests/web/test_tool_pages.py",
    "json": "checked below",
    "nginx": "read by tests/docs/test_proxy_page.py",
    "python": "checked below",
    "sh": "checked below",
    "sql": "run as it is written by tests/providers/database/test_roles.py",
    "text": "what a program prints, or a drawing",
    "yaml": "checked below",
}


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_block_is_of_a_kind_that_is_checked(page: Page) -> None:
    assert [str(block) for block in page.blocks if block.language not in LANGUAGES] == []


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_every_yaml_block_is_a_pegboard_yaml_a_manifest_or_queries_that_load(block: Block) -> None:
    if block.text.startswith("- query:"):
        parsed = parse_yaml(block.text, "queries.yaml")
        assert not isinstance(parsed, UnreadableFileError), f"{block}:\n{parsed}"
        assert parsed.root is not None
        assert RunQueriesBody.model_validate({"queries": to_json(parsed.root)}).queries
        return
    if re.search(r"^id:", block.text, re.MULTILINE):
        manifest = read_manifest(block.text, "toolset.yaml", Path("/etc/pegboard"), {})
        assert isinstance(manifest, Manifest), f"{block}:\n{manifest}"
        return
    set_by_the_reader = dict.fromkeys(re.findall(r"\$\{([A-Z_]+)\}", block.text), "something")
    loaded = load_settings_text(block.text, "pegboard.yaml", Path("/etc/pegboard"), set_by_the_reader)
    assert isinstance(loaded, Settings), f"{block}:\n{loaded}"


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_every_json_block_is_json(block: Block) -> None:
    assert json.loads(block.text) is not None


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_every_python_block_is_python(block: Block) -> None:
    assert compile(block.text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT) is not None


def wrong_lines(block: Block) -> list[str]:
    wrong = []
    for number, line in lines(block):
        for words in commands(line):
            for file in files_named(words):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
            if (why := complaint(words)) is not None:
                wrong.append(f"{block.page}:{number}: {line}\n    {why}")
    return wrong


@pytest.mark.parametrize("block", blocks("sh"), ids=str)
def test_every_command_of_a_shell_block_exists_and_takes_these_words(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert wrong_lines(block) == []


@pytest.mark.parametrize("block", blocks("", "text"), ids=str)
def test_commands_shown_in_other_blocks_exist_too(block: Block) -> None:
    shown = re.findall(r"^ *(?:\$ (?=pegboard )|(?=make |python -m ))(.+)$", block.text, re.MULTILINE)
    told = [complaint(words) for line in shown for words in commands(line)]
    assert [why for why in told if why is not None] == []


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_command_named_in_a_sentence_exists_with_its_options(page: Page) -> None:
    named = [span for span in page.spans if span.startswith("pegboard ")]
    assert [(span, why) for span in named if (why := mention_complaint(span)) is not None] == []
    made = [words for span in page.spans if span.startswith("make ") for words in commands(span)]
    assert [(words, why) for words in made if (why := complaint(words)) is not None] == []


def test_no_program_is_allowed_that_no_page_uses() -> None:
    used = {words[0] for block in blocks("sh") for _, line in lines(block) for words in commands(line)}
    assert OTHER_PROGRAMS - used == set()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pegboard tols list", "No such command 'tols'"),
        ("pegboard tools", "'tools' is not a whole command"),
        ("pegboard tools list --opened", "No such option '--opened'"),
        ("pegboard why", "Missing argument 'TOOL'"),
        ("pegboard tools call x '{'", "not JSON"),
        ("pegboard diff /nowhere/other.yaml", "/nowhere/other.yaml"),
        ("make rum", "no target rum"),
        ("python -m benchmarks.nothing", "no module benchmarks.nothing"),
        ("A=b pegboard version && curl x # and so on", "'curl' is not among"),
    ],
)
def test_a_command_that_does_not_exist_is_found(line: str, why: str) -> None:
    told = [complaint(words) for words in commands(line)]
    assert any(why in (each or "") for each in told), told


@pytest.mark.parametrize("mention", ["pegboard wy", "pegboard tools lst", "pegboard why --toolset"])
def test_a_mention_of_what_does_not_exist_is_found(mention: str) -> None:
    assert mention_complaint(mention) is not None
