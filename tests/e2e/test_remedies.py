"""Remedies for what a caller does not get, each followed to the letter on a gateway as people run it."""

import hashlib
import re
import shlex
import sqlite3
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
import yaml
from tests.e2e.served import DEMO
from tests.support.fork_server import python
from tests.web.site import DEADLINE, Site, site

pytestmark = pytest.mark.slow

LIBRARY: Final = DEMO.parent / "library_server.py"
READING: Final = "mcp:reading~shared:search_books"
COUNTING: Final = "mcp:reading~shared:count_books"
UNSELECTED: Final = "mcp:library~library:count_books"


def board(folder: Path) -> dict[str, Any]:
    shop = folder / "shop.db"
    sqlite3.connect(shop).close()
    run = {"command": python(), "args": [str(LIBRARY)], "trust": "open"}
    return {
        "databases": {"shop": {"url": f"sqlite:///{shop}"}},
        "principals": {
            "carol": {"token_sha256": hashlib.sha256(b"carol").hexdigest(), "databases": []},
            "ci": {"token_sha256": hashlib.sha256(b"ci").hexdigest(), "toolsets": ["library"]},
        },
        "selection": {"disabled_tools": [UNSELECTED]},
        "servers": {
            "library": run,
            "shared": {**run, "toolset": "reading", "disabled_tools": ["count_books"]},
        },
    }


def why(there: Site, tool: str, who: str) -> Any:
    return there.ask("GET", f"/why?tool={quote(tool)}&as={who}")


def opens(there: Site, tool: str, who: str) -> None:
    """Asks again until it is open; what a file says is read some moments after it was written."""
    until = time.monotonic() + DEADLINE
    while (told := why(there, tool, who)).get("verdict") != "open":
        assert time.monotonic() < until, told
        time.sleep(0.1)


def line_of(there: Site, place: str) -> str:
    """The line of the file that a remedy or an action names, with its folder."""
    found = re.search(rf"{re.escape(str(there.config))}:(\d+)", place)
    assert found is not None, place
    return there.config.read_text("utf-8").splitlines()[int(found[1]) - 1].strip()


@pytest.mark.behaviour("absent.remedy_is_where_it_was_said", "locked.remedy_can_be_run")
def test_each_remedy_of_an_absent_tool_brings_it_back_when_it_is_followed(tmp_path: Path) -> None:
    with site(tmp_path, board(tmp_path)) as there:
        token = {"principal": "bot", "name": "x", "scopes": ["call"], "toolsets": ["library"]}
        there.ask("POST", "/tokens", token)
        # Granted at run time: by the command.
        for tool, granted in ((READING, "library reading"), ("execute_sql", "builtin library reading")):
            remedy = why(there, tool, "bot")["remedy"]
            assert remedy.endswith(f": pegboard grants set bot {granted}")
            there.pegboard(*shlex.split(remedy.partition(": pegboard ")[2]))
            assert why(there, tool, "bot")["verdict"] == "open"
        # Granted, named and selected by the file: in its lines.
        file = yaml.safe_load(there.config.read_text("utf-8"))
        of_ci, of_carol = why(there, READING, "ci"), why(there, "execute_sql", "carol")
        selected, limited = why(there, UNSELECTED, "local"), why(there, COUNTING, "ci")
        assert line_of(there, of_ci["remedy"]) == "toolsets:"
        assert of_ci["remedy"].endswith("add reading to what ci may use (now library).")
        assert line_of(there, of_carol["remedy"]) == "carol:"
        assert of_carol["remedy"].endswith("name shop under databases of carol (now nothing).")
        assert line_of(there, selected["remedy"]) == "selection:"
        assert f"take '{UNSELECTED}' out of disabled_tools" in selected["remedy"]
        assert limited["message"] == of_ci["message"] == "ci may not use toolset reading: it is granted library."
        [denied] = limited["otherReasons"]
        assert denied.startswith(f"{COUNTING} is denied by the operator: among the disabled_tools of its server")
        file["principals"]["ci"]["toolsets"].append("reading")
        file["principals"]["carol"]["databases"].append("shop")
        file["selection"]["disabled_tools"].remove(UNSELECTED)
        there.config.write_text(yaml.safe_dump(file), "utf-8")
        for tool, who in ((READING, "ci"), ("execute_sql", "carol"), (UNSELECTED, "local")):
            opens(there, tool, who)
        # What remained shows now, with its own act.
        remains = why(there, COUNTING, "ci")
        assert remains["verdict"] == "locked"
        assert remains["action"]["label"] == "Take count_books out of disabled_tools"
        assert line_of(there, remains["action"]["target"]) == "disabled_tools:"
        file["servers"]["shared"].pop("disabled_tools")
        there.config.write_text(yaml.safe_dump(file), "utf-8")
        opens(there, COUNTING, "ci")


@pytest.mark.behaviour("config.grants_name_callers")
def test_grants_of_the_file_to_a_name_with_a_token_hold_and_are_not_called_in_vain(tmp_path: Path) -> None:
    said = {"servers": {"library": {"command": python(), "args": [str(LIBRARY)]}}, "grants": {"bot": ["library"]}}
    with site(tmp_path, said) as there:
        before = there.pegboard("doctor")
        there.ask("POST", "/tokens", {"principal": "bot", "name": "x", "scopes": ["call"]})
        after, found = there.pegboard("doctor"), there.ask("GET", "/principals")
    assert "nobody is called 'bot'" in str(before)
    assert "nobody is called" not in str(after)
    [bot] = [each for each in found["principals"] if each["id"] == "bot"]
    assert (bot["toolsets"], bot["grantSource"]) == (["library"], "file")
