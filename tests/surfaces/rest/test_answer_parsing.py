"""A model's answer read by the API: calls, repairs, what broke, and what the gate would say. Nothing is called."""

import json
from typing import Any

import pytest
from tests.surfaces.rest.desk import GITHUB, Desk, at_desk, problem
from tests.surfaces.rest.test_overrides import desk_with_arguments, said

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import ToolId
from pegboard.library import open_board
from pegboard.prompts import FORMATS, parse
from pegboard.prompts.system_prompt import python_example

pytestmark = pytest.mark.anyio

READ = "mcp:dev~github:read"


def hermes(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


async def parsed(desk: Desk, text: str, **more: Any) -> Any:
    answer = await desk.ask("POST", "/prompt/parse", json={"text": text, "format": "hermes", **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.behaviour("prompt.parse_preview")
async def test_calls_are_found_where_they_stand_and_held_up_to_the_gate() -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(ToolId(GITHUB, "write"), False, "not today"))
        text = f"Let me see.\n{hermes('read')}\n{hermes('write')}{hermes('nothing')}"
        told = await parsed(desk, text)
        assert desk.house.provider(GITHUB).calls == []
        assert desk.house.audit.records == []
    assert "".join(text[span["start"] : span["end"]] for span in told["spans"]) == text
    first, second, third = told["calls"]
    assert f"{text[first['start'] : first['end']].strip()}\n</tool_call>" == hermes("read")
    assert (first["tool"], first["admission"]) == (READ, {"verdict": "runs", "message": ""})
    assert (second["admission"]["verdict"], "not today" in second["admission"]["message"]) == ("disabled_by_user", True)
    assert (third["tool"], third["admission"]["verdict"]) == (None, "unknown_tool")
    assert (told["format"], told["broken"]) == ("hermes", [])


@pytest.mark.behaviour("prompt.parse_preview")
async def test_what_broke_and_what_was_repaired_is_told() -> None:
    async with at_desk() as desk:
        broken = await parsed(desk, '<tool_call>\n{"name": 7}\n</tool_call> and on')
        bent = await parsed(desk, "<tool_call>\n{'name': 'read', 'arguments': {}}\n</tool_call>")
        thought = await parsed(desk, f"<think>I shall {hermes('read')}")
    (piece,) = broken["broken"]
    assert (broken["calls"], bool(piece["reason"]), piece["start"]) == ([], True, 0)
    assert bent["calls"][0]["repairs"] != []
    (call,) = thought["calls"]
    assert (call["recovered"], call["admission"]["verdict"], call["start"] == call["end"]) == (True, "unfinished", True)


@pytest.mark.behaviour("prompt.parse_preview")
async def test_wrong_arguments_and_a_persons_yes_are_told_before_anything_runs() -> None:
    async with desk_with_arguments() as desk:
        wrong = await parsed(desk, hermes("read", limit="many"))
        pinned = await parsed(desk, hermes("read", path="elsewhere"))
        await said(desk, READ, set={"requires_confirmation": True})
        asks = await parsed(desk, hermes("read", limit=1))
    assert [each["calls"][0]["admission"]["verdict"] for each in (wrong, pinned, asks)] == [
        "bad_arguments",
        "bad_arguments",
        "waits",
    ]
    assert "s3cret" not in json.dumps([wrong, pinned, asks])


@pytest.mark.behaviour("prompt.parse_preview")
async def test_without_a_format_the_models_own_is_read() -> None:
    async with at_desk() as desk:
        body = {"text": hermes("read"), "model": "qwen3:1.7b"}
        told = (await desk.ask("POST", "/prompt/parse", json=body)).json()
    assert [call["name"] for call in told["calls"]] == ["read"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "x", "format": "xml"}, 422),
        ({"text": "x" * 200_001}, 422),
        ({"format": "hermes"}, 422),
        ({"text": "x", "toolsets": ["nowhere"]}, 400),
        ({"text": 7}, 422),
    ],
)
async def test_what_cannot_be_read_is_refused(body: dict[str, Any], status: int) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("POST", "/prompt/parse", json=body))[0] == status


@pytest.mark.parametrize("text", ["", "\ud800", "<tool_call>" * 5_000, "[" * 50_000, "\0" * 100])
async def test_odd_texts_are_read_without_a_fault(text: str) -> None:
    async with at_desk() as desk:
        for format in ("hermes", "any", "pythonic", "codemode", "native"):
            body = json.dumps({"text": text, "format": format}).encode()
            answer = await desk.ask("POST", "/prompt/parse", content=body, headers={"content-type": "application/json"})
            assert answer.status_code in (200, 422), (format, answer.text)


@pytest.mark.behaviour("prompt.blocks")
async def test_a_prompt_tells_what_is_struck_what_toolsets_cost_and_how_to_get_it_in_python() -> None:
    async with at_desk() as desk:
        told = await desk.get("/prompt", model="qwen3:1.7b", query="read", tool_calling="false")
    assert told["excludedCount"] == len(told["excluded"])
    assert {each["availability"] for each in told["excluded"]} <= {"out", "deferred", "callable"}
    assert all(each["reason"] for each in told["excluded"])
    assert sum(share["tokens"] for share in told["byToolset"]) == sum(tool["tokens"] for tool in told["tools"])
    assert sum(share["tools"] for share in told["byToolset"]) == len(told["tools"])
    assert told["pythonExample"].splitlines()[0] == "told = await board.prompt('read', 'qwen3:1.7b')"


@pytest.mark.behaviour("prompt.blocks")
async def test_the_lines_of_python_run() -> None:
    def forecast(city: str) -> str:
        """The weather of a city."""
        return city

    async def send(request: Any) -> str:
        assert request["messages"]
        return hermes("forecast", city="Oslo")

    lines = python_example("qwen3:1.7b", "what's the weather", "hermes", 2_000)
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    names: dict[str, Any] = {"send": send, "parse": parse, "FORMATS": FORMATS}
    names["PromptSettings"] = __import__("pegboard.core.model.settings", fromlist=["PromptSettings"]).PromptSettings
    exec(f"async def run(board):\n{body}\n    return parsed", names)
    async with open_board(weather=[forecast]) as board:
        found = await names["run"](board)
    assert [call.name for call in found.calls] == ["forecast"]
    assert "tool_calls" in python_example("x", "", "native", None)


@pytest.mark.behaviour("prompt.parse_preview")
async def test_an_answer_without_calls_names_the_formats_that_would_find_some() -> None:
    async with at_desk() as desk:
        other = await parsed(desk, f"Well. {hermes('read')}", format="native")
        right = await parsed(desk, hermes("read"))
        long = await parsed(desk, f"{'Well. ' * 2_000}{hermes('read')}", format="native")
        none = await parsed(desk, "It rains.", format="native")
    assert (other["calls"], other["otherFormats"]) == ([], ["ernie45", "granite3", "hermes"])
    assert (long["calls"], long["otherFormats"]) == ([], [])
    assert (len(right["calls"]), right["otherFormats"]) == (1, [])
    assert (none["calls"], none["otherFormats"]) == ([], [])
