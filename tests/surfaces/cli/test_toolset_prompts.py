"""What `pegboard toolset` asks at a real terminal: only a yes imports, approves or removes; no secret is shown."""

from pathlib import Path

import pytest
from tests.support.toolsets import WORDS, laid_out, manifest
from tests.surfaces.cli.at_terminal import END_OF_INPUT, at_terminal
from tests.surfaces.cli.terminal import program

pytestmark = pytest.mark.slow

RUN = "Run tools/words.py in a process of its own, to see what its tools are? [y/N]: "
IMPORT, APPROVE = "Import mine? [y/N]: ", "Approve mine:shout as shown? [y/N]: "


@pytest.mark.behaviour(
    "cli.toolset_import", "toolsets.import_tells_first", "toolsets.nothing_runs_before_a_yes", "cli.prompts"
)
def test_an_import_is_asked_about_after_what_it_changes_was_shown(tmp_path: Path) -> None:
    laid_out(tmp_path / "mine", manifest())
    for answer in ("n\n", "\n", END_OF_INPUT):
        with at_terminal(tmp_path, "toolset", "import", "mine") as terminal:
            shown = terminal.until(RUN)
            assert "tool mine:shout added" in shown
            terminal.type("y\n")
            assert "Say it loudly." in terminal.until(IMPORT)
            terminal.type(answer)
            assert terminal.code() == 5
    with at_terminal(tmp_path, "toolset", "import", "mine") as terminal:
        terminal.until(RUN)
        terminal.type("n\n")
        assert terminal.code() == 5
        assert "Nothing was changed, and nothing of it was run." in terminal.seen
    with at_terminal(tmp_path, "toolset", "import", "mine") as terminal:
        terminal.until(RUN)
        terminal.type("y\n")
        terminal.until(IMPORT)
        terminal.type("y\n")
        assert terminal.code() == 0
        assert "Imported mine 1.0.0." in terminal.seen
    assert program(tmp_path, "tools", "call", "mine:shout", '{"text": "a"}').out == "A\n"


@pytest.mark.behaviour("toolsets.changed_tools_wait", "cli.prompts")
@pytest.mark.parametrize(("answer", "status"), [("n\n", "pending_approval"), ("y\n", None)])
def test_changed_tools_are_approved_by_a_second_yes(tmp_path: Path, answer: str, status: str | None) -> None:
    laid_out(tmp_path / "mine", manifest())
    assert program(tmp_path, "toolset", "import", "mine", "--yes").code == 0
    assert program(tmp_path, "tools", "list").code == 0, "seen for the first time"
    laid_out(tmp_path / "mine", manifest(), {"tools/words.py": WORDS.replace("loudly", "very loudly")})
    with at_terminal(tmp_path, "toolset", "import", "mine") as terminal:
        terminal.until(RUN)
        terminal.type("y\n")
        terminal.until(IMPORT)
        terminal.type("y\n")
        terminal.until(APPROVE)
        terminal.type(answer)
        assert terminal.code() == 0
    (tool,) = program(tmp_path, "tools", "list", "--json").json["tools"]
    assert tool.get("status") == status


@pytest.mark.behaviour("toolsets.secrets", "cli.prompts")
def test_a_secret_that_is_typed_is_not_shown(tmp_path: Path) -> None:
    laid_out(tmp_path / "mine", manifest(secrets=["API_KEY"]))
    assert program(tmp_path, "toolset", "import", "mine", "--yes").code == 0
    with at_terminal(tmp_path, "toolset", "secrets", "set", "mine", "API_KEY") as terminal:
        terminal.until("API_KEY: ")
        terminal.type("hunter2\n")
        assert terminal.code() == 0
        assert "hunter2" not in terminal.seen
    (secret,) = program(tmp_path, "toolset", "secrets", "list", "mine", "--json").json["secrets"]
    assert secret == {"name": "API_KEY", "set": True}


@pytest.mark.behaviour("toolsets.removal_leaves_nothing", "cli.prompts")
def test_a_removal_is_asked_about(tmp_path: Path) -> None:
    laid_out(tmp_path / "mine", manifest())
    assert program(tmp_path, "toolset", "import", "mine", "--yes").code == 0
    for answer, code in (("\n", 5), ("y\n", 0)):
        with at_terminal(tmp_path, "toolset", "remove", "mine") as terminal:
            terminal.until("Remove mine (1 tool), with its files, secrets and approvals? [y/N]: ")
            terminal.type(answer)
            assert terminal.code() == code
    assert program(tmp_path, "toolset", "list", "--json").json["toolsets"] == []
