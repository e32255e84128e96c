"""What a model would be sent, by the API: every decision, every part and what it costs."""

from typing import Any

import pytest
from tests.surfaces.rest.desk import at_desk, problem

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("prompt.shown_to_operators")
async def test_the_answer_tells_what_would_be_sent_why_and_at_what_cost() -> None:
    async with at_desk() as desk:
        told: Any = await desk.get("/prompt", model="qwen3:1.7b", query="read", tool_calling="false", tool="read")
    assert [*told] == [
        *("model", "primary", "builtins", "formats", "search", "parts", "tools", "omitted", "tokens", "budget"),
        *(
            "system",
            "request",
            "excluded",
            "excludedCount",
            "byToolset",
            "pythonExample",
            "formatNames",
            "policyVersion",
            "toolDecision",
        ),
    ]
    assert told["model"] == {
        "name": "qwen3:1.7b",
        "billions": 1.7,
        "toolCalling": False,
        "family": "Qwen3",
        "format": "hermes",
        "thinking": True,
        "maxFoundTools": 2,
        "factSources": told["model"]["factSources"],
    }
    assert told["primary"] == "hermes"
    assert [part["kind"] for part in told["parts"]] == ["base", "format", "built-ins", "tools"]
    assert told["tokens"] == sum(part["tokens"] for part in told["parts"])
    assert told["tools"][1]["name"] == "read"
    assert told["toolDecision"]["availability"] == "in"
    assert told["request"]["messages"] == [
        {"role": "system", "content": told["system"]},
        {"role": "user", "content": "read"},
    ]
    assert told["search"][0].startswith("tool_search: searched, because ")


@pytest.mark.behaviour("prompt.shown_to_operators", "filter.in_flags")
async def test_format_budget_size_and_filters_can_be_tried() -> None:
    async with at_desk() as desk:
        native: Any = await desk.get(
            "/prompt", model="x", query="read", format="native", tool_calling="true", billions=40
        )
        assert (native["primary"], native["model"]["maxFoundTools"]) == ("native", 10)
        assert [tool["function"]["name"] for tool in native["request"]["tools"]][:2] == ["tool_search", "read"]
        short: Any = await desk.get("/prompt", model="x", query="read", budget=230)
        assert short["tokens"] <= short["budget"] == 230
        assert short["omitted"]
        away: Any = await desk.get("/prompt", model="x", query="read", allow_tools="*:write", tool="read")
        assert away["toolDecision"]["availability"] == "out"
        assert "read" not in [tool["name"] for tool in away["tools"]]
        nothing: Any = await desk.get("/prompt", model="x", query="read", allow_servers="", deny_builtins="tool_*")
        assert nothing["tools"] == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"model": ""}, (422, "model: this must have 1 or more characters.")),
        ({"model": "x", "format": "xml"}, (422, "format: this must be one of native, family, hermes")),
        ({"model": "x", "deny_tools": ":"}, (422, "':' is not a pattern: write scope:name")),
        ({"model": "x", "tool": "nothing"}, (404, "Unknown tool 'nothing'.")),
        ({"model": "x", "toolsets": "nowhere"}, (400, "Unknown toolset 'nowhere'.")),
        ({"model": "x", "budget": "1"}, (422, "budget: ")),
    ],
)
async def test_what_cannot_be_is_told(asked: dict[str, str], told: tuple[int, str]) -> None:
    async with at_desk() as desk:
        status, why = problem(await desk.ask("GET", "/prompt", params=asked))
    assert (status, why[: len(told[1])]) == told


@pytest.mark.behaviour("names.of_other_programs")
@pytest.mark.parametrize(("written", "primary"), [("PureJson", "json"), ("pure_json", "json"), ("Hermes", "hermes")])
async def test_a_format_is_taken_by_the_names_that_the_file_takes(written: str, primary: str) -> None:
    async with at_desk() as desk:
        assert (await desk.get("/prompt", model="x", format=written))["primary"] == primary


@pytest.mark.behaviour("names.of_other_programs")
@pytest.mark.parametrize(("written", "meant"), [("PURE-JSON", "json"), ("hermess", "hermes"), ("codeMode", "codemode")])
async def test_an_unknown_format_is_told_with_the_nearest(written: str, meant: str) -> None:
    async with at_desk() as desk:
        status, told = problem(await desk.ask("GET", "/prompt", params={"model": "x", "format": written}))
    assert status == 422
    assert f"Did you mean '{meant}'" in told
