"""The benchmark of retrieval reads any data, counts as the literature does, and asks the product's own search."""

import json
import math
from pathlib import Path

import anyio
import pytest
from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.retrieval.__main__ import main
from benchmarks.retrieval.ours import Hung, answers
from benchmarks.retrieval.report import LEXICAL, PEER, Measured, ahead, as_json, as_text, means
from benchmarks.retrieval.scoring import Answer, points, score
from benchmarks.retrieval.sets import Request, SetTool, ToolSet, read_set, sets_in

from pegboard.gateway.search import ToolSearch

SETS = Path(__file__).parents[1] / "search" / "sets"


def laid_out(folder: Path, tools: str | None, queries: str | None) -> Path:
    folder.mkdir(parents=True)
    for name, text in (("tools.jsonl", tools), ("queries.jsonl", queries)):
        if text is not None:
            (folder / name).write_text(text, "utf-8")
    return folder


@pytest.mark.behaviour("search.quality")
@pytest.mark.parametrize("one", sets_in(SETS), ids=lambda one: one.name)
def test_the_right_tool_is_among_the_first_for_plain_requests(one: ToolSet) -> None:
    assert (len(one.tools), one.notes) == (18, ())
    hung = Hung(one.tools)
    told = anyio.run(answers, hung, ToolSearch(hung.board), [request.query for request in one.requests])
    scored = score(told, [request.relevant for request in one.requests])
    assert scored.points["ndcg@10"] > 0.93
    assert scored.points["recall@5"] == 1.0


def test_a_ranking_is_worth_what_the_measures_say() -> None:
    assert points(["a", "b", "c"], {"a"}) == {"ndcg@10": 1, "recall@1": 1, "recall@5": 1, "recall@10": 1, "mrr": 1}
    second = points(["x", "a", "x", "b"], {"a", "b"})
    ideal = 1 + 1 / math.log2(3)
    assert second["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / ideal)
    assert (second["recall@1"], second["recall@5"], second["mrr"]) == (0, 1, 0.5)
    assert set(points([], {"a"}).values()) == {0}
    late = points([str(number) for number in range(20)], {"9", "10"})
    assert (late["recall@5"], late["recall@10"], late["mrr"]) == (0, 0.5, 0.1)


def test_what_is_odd_in_a_set_is_told_and_the_rest_is_measured(tmp_path: Path) -> None:
    tools = [
        '{"id": "a", "server": "One", "name": "read_file", "description": "Read it."}',
        '{"id": "a", "name": "again"}',
        '{"server": "二", "name": "写"}',
        '{"id": 7}',
        '{"description": "nameless"}',
        '{"id": "x", "name": "\\ud800", "description": 5, "input_schema": "none"}',
        "",
        "[1]",
        "{not json",
        '{"id": "d", "server": "One", "name": "read_file", "input_schema": {"properties": ["odd"]}}',
    ]
    queries = [
        '{"id": "1", "query": "read a file", "relevant": ["a", "gone"]}',
        '{"id": "1", "query": "写", "relevant": "二/写"}',
        '{"query": "seven", "relevant": [7, null, {}]}',
        '{"query": "nobody", "relevant": ["gone"]}',
        '{"query": " ", "relevant": ["a"]}',
        '{"query": "nothing asked"}',
        '{"relevant": ["a"]}',
    ]
    one = read_set(laid_out(tmp_path / "odd", "\n".join(tools), "\n".join(queries)))
    assert [(tool.id, tool.server, tool.name) for tool in one.tools] == [
        ("a", "One", "read_file"),
        ("二/写", "二", "写"),
        ("7", "", "7"),
        ("x", "", "?"),
        ("d", "One", "read_file"),
    ]
    assert [(request.query, sorted(request.relevant)) for request in one.requests] == [
        ("read a file", ["a"]),
        ("写", ["二/写"]),
        ("seven", ["7"]),
    ]
    assert one.notes == (
        "tools.jsonl:2: the id 'a' is there twice, and the first one counts",
        "tools.jsonl:5: this tool has neither an id nor a name, and is left out",
        "tools.jsonl:8: this is no object, and is left out",
        "tools.jsonl:9: this is no JSON, and is left out",
        "queries.jsonl:1: no tool has the id 'gone', so nobody is asked to find it",
        "queries.jsonl:4: none of the tools that this request asks for is there: left out",
        "queries.jsonl:5: this request has no query, and is left out",
        "queries.jsonl:6: none of the tools that this request asks for is there: left out",
        "queries.jsonl:7: this request has no query, and is left out",
    )
    hung = Hung(one.tools)
    told = anyio.run(answers, hung, ToolSearch(hung.board), [request.query for request in one.requests])
    assert [{*answer.found} for answer in told] == [{"a", "d"}, {"二/写"}, set()]


def test_a_file_of_wrong_lines_is_not_told_line_by_line(tmp_path: Path) -> None:
    one = read_set(laid_out(tmp_path / "odd", "oops\n" * 500, ""))
    assert len(one.notes) == 21
    assert one.notes[-1] == "and 480 more"


def test_a_set_may_lack_a_file_and_a_folder_may_be_a_set(tmp_path: Path) -> None:
    laid_out(tmp_path / "all" / "half", '{"id": "a"}', None)
    laid_out(tmp_path / "all" / "other_half", None, '{"query": "x", "relevant": ["a"]}')
    laid_out(tmp_path / "all" / "none", None, None)
    [half, other] = sets_in(tmp_path / "all")
    assert (half.name, len(half.tools), half.requests) == ("half", 1, ())
    assert half.notes == ("queries.jsonl: cannot be read (No such file or directory)",)
    assert (other.name, other.tools, other.requests) == ("other_half", (), ())
    assert [one.name for one in sets_in(tmp_path / "all" / "half")] == ["half"]
    assert sets_in(tmp_path / "nowhere") == sets_in(tmp_path / "all" / "none") == []


def test_where_nothing_can_be_measured_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path / "nowhere"), "--no-peer"]) == 2
    assert "no set is here" in capsys.readouterr().err
    laid_out(tmp_path / "half", '{"id": "a"}', None)
    assert main(["--data", str(tmp_path), "--no-peer", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["sets"]["half"] == {
        "tools": 1,
        "queries": 0,
        "notes": ["queries.jsonl: cannot be read (No such file or directory)"],
        "rankers": {},
    }


def test_the_report_tells_how_far_ahead_we_are_and_who_could_not_be_measured() -> None:
    tools = (SetTool("a", "", "a", "", {}), SetTool("b", "", "b", "", {}))
    one = ToolSet("one", tools, (Request("a", frozenset({"a"})),), ())
    ours = score([Answer(("a",), 1.0)], [{"a"}])
    theirs = score([Answer(("b", "a"), 4.0)], [{"a"}])
    both = Measured(one, {PEER: theirs, LEXICAL: ours})
    assert ahead([both]) == {LEXICAL: {"one": 36.91, "mean": 36.91}}
    assert means([both])[LEXICAL] == ours
    assert as_json("data", [both])["ndcg_points_ahead"] == ahead([both])
    assert "+36.9" in as_text([both])
    assert "0.25x" in as_text([both])
    alone = Measured(one, {PEER: Unavailable("it is away"), LEXICAL: ours})
    assert ahead([alone]) == {}
    assert "it is away" in json.dumps(as_json("data", [alone]))
    assert "it is away" in as_text([alone])
    empty = Measured(ToolSet("empty", (), (), ("tools.jsonl: cannot be read",)), {})
    assert means([both, empty]).keys() == {PEER, LEXICAL}
    assert "empty: tools.jsonl: cannot be read" in as_text([both, empty])
