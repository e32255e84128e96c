"""A search laid open by the API, and queries that are kept with what they should find."""

from typing import Any

import pytest
from tests.surfaces.rest.desk import GITHUB, Desk, at_desk, problem

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import ToolId
from pegboard.core.presentations.evaluation import (
    MAX_QUERIES,
    QueryEvaluation,
    SavedQuery,
    SearchQuality,
    search_quality,
)

pytestmark = pytest.mark.anyio

READ, WRITE = "mcp:dev~github:read", "mcp:dev~github:write"


async def run(desk: Desk, **body: Any) -> Any:
    answer = await desk.ask("POST", "/search/queries/run", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.behaviour("search.laid_open")
async def test_each_score_is_told_as_the_sum_of_its_parts() -> None:
    async with at_desk() as desk:
        told = await desk.get("/search/playground", query="read the zebra", limit=1)
        found = await desk.get("/tools/search", query="read the zebra", explain=True, limit=1)
        shown = {each["name"]: each["tokens"] for each in (await desk.get("/presentations"))["presentations"]}
    (hit,) = told["hits"]
    assert (hit["id"], hit["name"], hit["matchedWords"]) == (READ, "read", ["read"])
    assert hit["score"] == found["tools"][0]["explanation"]["score"]
    assert sum(hit["scoreParts"].values()) == pytest.approx(hit["score"], abs=0.01)
    assert hit["scoreParts"]["name"] > 0
    assert told["queryWords"] == {"searched": ["read", "zebra"], "unmatched": ["zebra"], "ignored": ["the"]}
    assert told["tokens"] == {"top": hit["tokens"], "all": shown["direct"], "toolCount": 3}
    assert (told["locked"], told["lockedCount"], told["ranker"]) == ([], 0, "lexical")


@pytest.mark.behaviour("search.laid_open")
async def test_what_was_left_out_because_it_is_locked_is_told_with_why() -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(ToolId(GITHUB, "write"), False, "not today"))
        told = await desk.get("/search/playground", query="write")
    assert (told["hits"], told["lockedCount"]) == ([], 1)
    (locked,) = told["locked"]
    assert (locked["id"], locked["status"]) == (WRITE, "disabled_by_user")
    assert "not today" in locked["message"]
    assert locked["remedy"] == f"Switch the tool on again: pegboard tools enable {WRITE}"


@pytest.mark.behaviour("search.evaluation")
async def test_queries_are_saved_told_in_pages_run_and_removed() -> None:
    async with at_desk() as desk:
        for name, body in {
            "a": {"query": "read", "expected": ["read"]},
            "b": {"query": "jot", "expected": [READ, "jot"]},
            "c": {"query": "no such thing", "expected": ["write"]},
        }.items():
            assert (await desk.ask("PUT", f"/search/queries/{name}", json=body)).status_code == 200
        first = await desk.get("/search/queries", limit=2)
        rest = await desk.get("/search/queries", limit=2, after=first["next"])
        told = await run(desk, limit=1)
        assert (await run(desk, names=["a"]))["rates"]["hitRate"] == 1.0
        removed = await desk.ask("DELETE", "/search/queries/c")
        again = await desk.ask("DELETE", "/search/queries/c")
    assert [each["name"] for each in (*first["queries"], *rest["queries"])] == ["a", "b", "c"]
    assert (first["next"], rest["next"]) == ("b", None)
    assert first["queries"][0] == {
        "name": "a",
        "query": "read",
        "expected": [READ],
        "principal": "local",
        "by": "local",
        "at": desk.house.clock().isoformat(),
    }
    assert [(each["name"], each["hit"]) for each in told["queries"]] == [("a", True), ("b", True), ("c", False)]
    assert told["queries"][1]["expected"] == [
        {"id": READ, "rank": None, "reason": ""},
        {"id": "mcp:docs~notes:jot", "rank": 1, "reason": ""},
    ]
    assert told["rates"] == {"firstRate": 0.6667, "hitRate": 0.6667, "recall": 0.5, "reciprocalRank": 0.6667}
    assert removed.json() == {"deleted": "c"}
    assert problem(again)[0] == 404


@pytest.mark.behaviour("search.evaluation")
async def test_a_tool_that_could_not_be_found_is_told_with_the_reason() -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(ToolId(GITHUB, "write"), False, "not today"))
        told = await run(desk, queries=[{"query": "write", "expected": ["write", "gone~away:tool"]}])
    (one,) = told["queries"]
    assert (one["name"], one["hit"]) == ("write", False)
    first, second = one["expected"]
    assert "not today" in first["reason"]
    assert second == {"id": "gone~away:tool", "rank": None, "reason": "it is not on the board"}


@pytest.mark.behaviour("search.evaluation")
def test_rates_count_queries_and_what_they_should_find() -> None:
    def judged(**ranks: int | None) -> QueryEvaluation:
        return QueryEvaluation(SavedQuery("n", "q", tuple(ranks)), (), ranks, {}, 0)

    assert search_quality([judged(a=1, b=None), judged(c=4), judged(d=None)]) == SearchQuality(
        1 / 3, 2 / 3, 0.5, 1.25 / 3
    )
    assert search_quality([]) == SearchQuality(1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/search/queries/a", {"query": "  ", "expected": ["read"]}, 422),
        ("PUT", "/search/queries/a", {"query": "x", "expected": []}, 422),
        ("PUT", "/search/queries/a", {"query": "x", "expected": ["nothing"]}, 404),
        ("PUT", "/search/queries/a", {"query": "x" * 2001, "expected": ["read"]}, 422),
        ("PUT", f"/search/queries/{'n' * 101}", {"query": "x", "expected": ["read"]}, 422),
        ("PUT", "/search/queries/a", {"query": "x", "expected": ["read"] * 21}, 422),
        ("POST", "/search/queries/run", {"names": ["a"]}, 404),
        ("POST", "/search/queries/run", {"names": [], "queries": []}, 422),
        ("POST", "/search/queries/run", {"limit": 101}, 422),
        ("POST", "/search/queries/run", {"queries": [{"query": "x"}] * 3}, 422),
    ],
)
async def test_what_does_not_fit_is_refused(method: str, path: str, body: dict[str, Any], status: int) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask(method, path, json=body))[0] == status
        assert await desk.get("/search/queries") == {"queries": [], "next": None}


async def test_there_is_a_bound_to_how_many_are_saved() -> None:
    async with at_desk() as desk:
        for number in range(MAX_QUERIES):
            await desk.house.gateway.queries.save(SavedQuery(str(number), "q", ("read",)))
        answer = await desk.ask("PUT", "/search/queries/new", json={"query": "x", "expected": ["read"]})
    assert problem(answer) == (409, "500 queries are saved already, and no more may be. Remove one first.")
