"""The benchmark of tokens: it reads any set of tasks, and an agent is told to have seen what it has."""

import json
from pathlib import Path

import pytest
from benchmarks.tokens.__main__ import FLOOR, WAYS, as_text, main, rows_of
from benchmarks.tokens.tasks import BadTasksError, Task, made, read

from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId

BOOKS = {
    "id": "lib/find",
    "server": "The Library (v2)",
    "name": "find_book",
    "description": "Find a book by a word of its title.",
    "input_schema": {"type": "object", "properties": {"title": {"type": "string"}}},
}
RINGS = {"id": "desk/ring", "server": "书桌", "name": "ring", "description": "Ring somebody up."}
ASKED = {"id": "1", "query": "find a book about whales", "relevant": ["lib/find"]}
FIND = ToolId(ServerKey(ToolsetId("the-library-v2-0"), ServerId("the-library-v2-0")), "find_book")


def written(folder: Path, tools: object = (BOOKS, RINGS), queries: object = (ASKED,)) -> Path:
    for name, lines in (("tools", tools), ("queries", queries)):
        assert isinstance(lines, tuple)
        told = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
        (folder / f"{name}.jsonl").write_text("\n".join(told) + "\n", "utf-8")
    return folder


def test_a_folder_of_tasks_is_read_with_servers_under_legal_ids(tmp_path: Path) -> None:
    tasks = read(written(tmp_path))
    assert tasks.tasks == (Task("find a book about whales", frozenset({FIND})),)
    assert [str(tool.id) for tool in tasks.tools] == [str(FIND), "mcp:server-1~server-1:ring"]


@pytest.mark.parametrize(
    ("tools", "queries", "why"),
    [
        (("{",), (ASKED,), "tools.jsonl:1: this is not JSON"),
        (("7",), (ASKED,), "tools.jsonl:1: this is not a JSON object"),
        (({**BOOKS, "name": ""},), (ASKED,), "tools.jsonl:1: name must be a text"),
        ((BOOKS,), ({**ASKED, "relevant": ["lib/lend"]},), "queries.jsonl:1: relevant must name tools"),
        ((BOOKS,), ({**ASKED, "relevant": []},), "queries.jsonl:1: relevant must name tools"),
        ((BOOKS,), (ASKED, {**ASKED, "query": " "}), "queries.jsonl:2: query must be a text"),
        ((BOOKS,), (), "there is nothing to measure"),
    ],
)
def test_what_is_wrong_with_a_folder_is_told_with_its_line(
    tmp_path: Path, tools: tuple[object, ...], queries: tuple[object, ...], why: str
) -> None:
    folder = written(tmp_path, tools, queries)
    if not queries:
        (folder / "queries.jsonl").write_text("")
    with pytest.raises(BadTasksError, match=why):
        read(folder)


def test_a_folder_that_is_not_there_is_told_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--data", str(tmp_path / "nowhere")])
    assert ended.value.code == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.anyio
async def test_each_way_pays_more_than_the_floor_and_tells_what_it_has_seen(tmp_path: Path) -> None:
    tasks = read(written(tmp_path))
    rows = {row.way: row for row in await rows_of(tasks, lambda _: None)}
    assert [*rows] == [FLOOR, *WAYS]
    assert {row.some for row in rows.values()} == {row.share for row in rows.values()} == {1.0}
    assert all(row.mean > rows[FLOOR].mean for way, row in rows.items() if way != FLOOR)
    assert "of floor" in as_text(tasks, [*rows.values()])


@pytest.mark.anyio
async def test_what_a_search_does_not_find_is_not_seen(tmp_path: Path) -> None:
    lost = {**ASKED, "query": "zzz"}
    rows = {row.way: row.some for row in await rows_of(read(written(tmp_path, queries=(lost,))), lambda _: None)}
    seen = {way for way, some in rows.items() if some}
    assert seen == {FLOOR, "direct: everything is listed", "meta, always the right toolset"}


def test_made_up_tasks_are_the_same_each_time() -> None:
    assert made(40, 5) == made(40, 5)
    assert len(made(40, 5).tasks) == 5
