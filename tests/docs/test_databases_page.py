"""The page on databases: its files load, its commands run as they stand, and they say what it shows."""

import shlex
from pathlib import Path

import pytest
from tests.docs.pages import is_as_shown, page
from tests.support.shop import shop
from tests.surfaces.cli.terminal import program

from pegboard.config.settings import Settings, load_settings_text

PAGE = page("docs/how-to/databases.md")


@pytest.mark.slow
@pytest.mark.behaviour("databases.commands", "databases.declared")
def test_a_new_user_comes_from_a_file_to_an_answered_question(tmp_path: Path) -> None:
    shop(tmp_path / "shop.db")
    first, *_ = (block.text for block in PAGE.blocks if block.language == "yaml")
    (tmp_path / "pegboard.yaml").write_text(first, "utf-8")
    # Logins are made on real servers in tests/providers/database/test_roles.py.
    ours = [line for line in PAGE.commands if line.startswith("pegboard db ") and "db role" not in line]
    assert len(ours) >= 4
    for line in ours:
        done = program(tmp_path, *shlex.split(line)[1:], cwd=tmp_path)
        assert done.code == 0, f"{line}\n{done.err}"
        shown = PAGE.shown.get(line)
        assert shown is None or is_as_shown(shown, done.out), f"{line}\nshown:\n{shown}\nreal:\n{done.out}"


@pytest.mark.behaviour("databases.declared")
def test_every_file_of_the_page_loads() -> None:
    blocks = [block for block in PAGE.blocks if block.language == "yaml"]
    for block in blocks:
        loaded = load_settings_text(block.text, "pegboard.yaml")
        assert isinstance(loaded, Settings), f"{block}: {loaded}"
        assert loaded.declared.databases, str(block)
