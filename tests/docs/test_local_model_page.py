"""The tutorial about a model of one's own, as a reader lives it, in front of a model server that plays its part."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.docs.pages import ROOT, is_as_shown, page
from tests.servers.model import Body, ModelServer, Turn, last_text, text_of
from tests.support.fork_server import python as warm_python
from tests.surfaces.cli.at_terminal import END_OF_INPUT, at_terminal
from tests.surfaces.cli.terminal import Gateway, program, serving

PAGE = page("docs/tutorials/local-model.md")
MODEL = "qwen3:1.7b"
ADDRESS = "http://127.0.0.1:11434/v1"


def reader_of_books(body: Body) -> Turn:
    """Looks for books, or writes notes; by the request's tools if it has some, else in its text."""
    last = body["messages"][-1]
    asked = next(text_of(each) for each in reversed(body["messages"]) if each["role"] == "user")
    if last["role"] == "tool" or "tool_response" in last_text(body):
        return Turn('Yes: "Tides for Beginners".' if "Tides for Beginners" in text_of(last) else "I wrote it down.")
    if "note" in asked:
        call = ("write_note", {"name": "tides", "text": "High water at noon."})
    else:
        call = ("search_books", {"query": "tides"})
    if body.get("tools"):
        return Turn(calls=[call])
    return Turn(f"<tool_call>\n{json.dumps({'name': call[0], 'arguments': call[1]})}\n</tool_call>")


def settings(folder: Path, models: ModelServer) -> Path:
    """The copy of the demo's settings with the lines of the page at their end."""
    (added,) = (block.text for block in PAGE.blocks if block.language == "yaml")
    assert ADDRESS in added
    demo = (ROOT / "examples" / "demo" / "pegboard.yaml").read_text("utf-8")
    told = yaml.safe_load(demo + added.replace(ADDRESS, models.url))
    for server in told["servers"].values():
        # The copy lies elsewhere than the page's.
        server["cwd"] = str(ROOT / "examples" / "demo")
    file = folder / "chat.yaml"
    file.write_text(yaml.safe_dump(told), "utf-8")
    return file


@pytest.mark.slow
@pytest.mark.behaviour("chat.tutorial")
def test_a_reader_who_does_what_the_page_says_sees_what_it_shows(tmp_path: Path) -> None:
    with ModelServer({MODEL: reader_of_books}) as models:
        config = settings(tmp_path, models)
        with serving(tmp_path, config, tmp_path / "data") as gateway:
            one_answer(tmp_path, gateway)
            what_it_was_told(tmp_path, gateway)
            a_conversation(tmp_path, gateway)
            a_program(gateway)
    tried = {"pegboard chat", "pegboard prompt", "pegboard serve", "export PATH", "cp examples", "rm examples"}
    assert {" ".join(line.split()[:2]).partition("=")[0].partition("/")[0] for line in PAGE.commands} == tried


def one_answer(home: Path, gateway: Gateway) -> None:
    (line,) = (line for line in PAGE.commands if line.startswith("pegboard chat"))
    done = program(home, "chat", *re.findall(r"'(.*)'", line), "--data-dir", gateway.data_dir)
    assert done.code == 0, done.err
    assert is_as_shown(PAGE.shown[line], done.err + done.out), done.err + done.out


def what_it_was_told(home: Path, gateway: Gateway) -> None:
    (line,) = (line for line in PAGE.commands if line.startswith("pegboard prompt"))
    words = ["prompt", "--model", MODEL, "--query", *re.findall(r"'(.*)'", line)]
    done = program(home, *words, "--data-dir", gateway.data_dir)
    assert (done.code, is_as_shown(PAGE.shown[line], done.out)) == (0, True), done.err
    assert "search_books" in done.out


def a_conversation(home: Path, gateway: Gateway) -> None:
    (shown,) = (block.text for block in PAGE.blocks if block.language == "text" and block.text.startswith("> "))
    first, *lines = shown.splitlines()
    with at_terminal(home, "chat", "--data-dir", gateway.data_dir) as terminal:
        terminal.until("> ")
        terminal.type(f"{first.removeprefix('> ')}\n")
        for line in lines:
            asks = line.removesuffix("y") if line.startswith("Run it?") else line
            for part in asks.split("…"):
                terminal.until(part)
            if asks != line:
                terminal.type("y\n")
        terminal.type(END_OF_INPUT)
        assert terminal.code() == 0
    assert (home / "desk" / "tides.md").read_text("utf-8") == "High water at noon."


def a_program(gateway: Gateway) -> None:
    (code,) = (block.text for block in PAGE.blocks if block.language == "python")
    code = code.replace("http://127.0.0.1:8460", gateway.url)
    done = subprocess.run([warm_python(), "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ('Yes: "Tides for Beginners".\nsearch_books returned\n', "")
