"""Calls that a server gives beside the text, in the shapes that servers send, and those that it left in the text."""

import random
from types import EllipsisType

import pytest
from benchmarks.parser_cases.invariants import broken_rule

from pegboard.core.json.values import Json
from pegboard.prompts.deltas import NativeCalls
from pegboard.prompts.events import Arguments, BrokenCallEvent, CallDoneEvent, CallStartedEvent, OutputEvent, ParsedCall
from pegboard.prompts.formats import FORMATS, parse
from pegboard.prompts.scanner import CUT_MESSAGE
from pegboard.prompts.tool_shape import ToolShape

NATIVE = FORMATS["native"]
LOOK = ToolShape("look", "", {"type": "object", "properties": {"at": {"type": "string"}, "deep": {"type": "integer"}}})
WAIT = ToolShape("wait")
TOOLS = (LOOK, WAIT)


def piece(
    index: int | None = None, id: str | None = None, name: str | None = None, arguments: Json | EllipsisType = ...
) -> dict[str, Json]:
    function: dict[str, Json] = {} if name is None else {"name": name}
    if not isinstance(arguments, EllipsisType):
        function["arguments"] = arguments
    given: dict[str, Json] = {"index": index, "id": id}
    return {"function": function, **{key: value for key, value in given.items() if value is not None}}


def read(*deltas: list[Json]) -> list[OutputEvent]:
    calls = NativeCalls(TOOLS)
    events = [event for delta in deltas for event in calls.feed({"tool_calls": delta})]
    return events + calls.finish()


def made(*deltas: list[Json]) -> list[tuple[str, object]]:
    return [(event.call.name, event.call.arguments) for event in read(*deltas) if isinstance(event, CallDoneEvent)]


def test_a_stream_as_it_should_be_is_told_as_it_comes() -> None:
    assert read([piece(0, "c1", "look", "")], [piece(0, arguments='{"at": ')], [piece(0, arguments='"Bern"}')]) == [
        CallStartedEvent(0, "look"),
        Arguments(0, '{"at": '),
        Arguments(0, '"Bern"}'),
        CallDoneEvent(0, ParsedCall("look", {"at": "Bern"}, "", '{"at": "Bern"}')),
    ]


@pytest.mark.behaviour("formats.native_deltas")
@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        ([[piece(0, "1", "look", '{"at": "a"}')]], [("look", {"at": "a"})]),
        ([[piece(None, "1", "look", '{"at": ')], [piece(None, None, None, '"a"}')]], [("look", {"at": "a"})]),
        ([[piece(0, "1", "look", '{"at"')], [piece(0, "1", "look", ': "a"}')]], [("look", {"at": "a"})]),
        ([[piece(None, "1", "look", '{"at"')], [piece(None, "1", "look", ': "a"}')]], [("look", {"at": "a"})]),
        ([[piece(0, "1", "wait", None)]], [("wait", {})]),
        ([[piece(0, "1", "wait")]], [("wait", {})]),
        ([[piece(0, "1", "wait", "")]], [("wait", {})]),
        ([[piece(0, "1", "look", {"at": "a"})]], [("look", {"at": "a"})]),
        ([[piece(0, "1", "look", '"{\\"at\\": \\"a\\"}"')]], [("look", {"at": "a"})]),
        ([[piece(0, "1", "look", "{'at': 'a',}")]], [("look", {"at": "a"})]),
        ([[piece(0, "1", "look", '{"at": "a"}}')]], [("look", {"at": "a"})]),
        ([[piece(0, "1", "look", '{"at": "a"}} {')]], []),
        ([[piece(0, "1", "functions.look", '{"deep": "3"}')]], [("look", {"deep": 3})]),
        (
            [[piece(0, "1", "look", '{"at": "a"}'), piece(1, "2", "wait", "{}")]],
            [("look", {"at": "a"}), ("wait", {})],
        ),
        (
            [[piece(None, "1", "look", '{"at": "a"}'), piece(None, "2", "look", '{"at": "b"}')]],
            [("look", {"at": "a"}), ("look", {"at": "b"})],
        ),
        (
            [[piece(None, None, "look", '{"at": "a"}')], [piece(None, None, "look", '{"at": "b"}')]],
            [("look", {"at": "a"}), ("look", {"at": "b"})],
        ),
        (
            [[piece(0, "1", "look", '{"at"')], [piece(1, "2", "wait", "{}")], [piece(0, arguments=': "a"}')]],
            [("look", {"at": "a"}), ("wait", {})],
        ),
        ([[piece(0, "1", "lo")], [piece(0, None, "ok", '{"at": "a"}')]], [("look", {"at": "a"})]),
        ([[piece(0, "1", "unknown", "{}")]], [("unknown", {})]),
        ([["nonsense", None, 3]], []),
    ],
)
def test_the_shapes_that_servers_send_are_all_read(deltas: list[list[Json]], calls: list[tuple[str, object]]) -> None:
    assert made(*deltas) == calls


def test_the_legacy_function_call_and_a_whole_message_are_read_too() -> None:
    calls = NativeCalls(TOOLS)
    calls.feed({"function_call": {"name": "look", "arguments": ""}})
    calls.feed({"function_call": {"arguments": '{"at": "a"}'}})
    assert [event.call.arguments for event in calls.finish() if isinstance(event, CallDoneEvent)] == [{"at": "a"}]
    message = NativeCalls(TOOLS)
    message.feed({"content": None, "tool_calls": [piece(None, "x", "wait", "{}"), piece(None, "y", "wait", "{}")]})
    assert message.ids == {0: "x", 1: "y"}
    assert [event.index for event in message.finish() if isinstance(event, CallDoneEvent)] == [0, 1]
    assert NativeCalls().feed({"content": "hello"}) == []


def test_arguments_that_were_cut_off_or_are_no_object_are_broken_and_the_others_stand() -> None:
    events = read([piece(0, "1", "look", '{"at": "a'), piece(1, "2", "wait", "{}"), piece(2, "3", "look", "[1]")])
    assert [event for event in events if isinstance(event, BrokenCallEvent)] == [
        BrokenCallEvent("", f"The call of 'look' was not made: {CUT_MESSAGE}"),
        BrokenCallEvent("", "The call of 'look' was not made: its arguments are no object. Write one JSON object."),
    ]
    assert [event.call.name for event in events if isinstance(event, CallDoneEvent)] == ["wait"]


def test_a_call_without_any_name_is_broken() -> None:
    assert read([piece(0, "1", None, '{"at": "a"}')]) == [
        BrokenCallEvent("", 'A call with the arguments \'{"at": "a"}\' has no name, so nothing was called.')
    ]


@pytest.mark.behaviour("formats.native_fallback")
@pytest.mark.parametrize(
    "text",
    [
        '{"name": "wait", "arguments": {}}',
        '<tool_call>{"name": "wait", "arguments": {}}</tool_call>\n',
        "[TOOL_CALLS]wait[ARGS]{}",
        '```json\n{"name": "wait", "arguments": {}}\n```',
        '<think>hm</think>\n{"name": "wait", "arguments": {}}',
    ],
)
def test_a_call_that_is_the_whole_text_is_a_call(text: str) -> None:
    assert [call.name for call in parse(NATIVE, text, TOOLS).calls] == ["wait"]
    assert broken_rule(NATIVE, text, TOOLS, False, random.Random(1)) is None


@pytest.mark.behaviour("formats.native_fallback")
@pytest.mark.parametrize(
    "text",
    [
        'Sure: <tool_call>{"name": "wait", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "wait", "arguments": {}}</tool_call> and more',
        '{"name": "wait", "arguments": {}}\n\nThat would wait.',
        '<tool_call>{"name": "other", "arguments": {}}</tool_call>',
        '{"name": "wait", "arguments": {}} <tool_call>{"name": </tool_call>',
        "plain [1] {text}",
    ],
)
def test_a_call_among_other_text_is_text(text: str) -> None:
    found = parse(NATIVE, text, TOOLS)
    assert (found.calls, found.broken_calls, found.text) == ((), (), text)
    assert broken_rule(NATIVE, text, TOOLS, False, random.Random(1)) is None


def test_thinking_is_split_off_and_without_tools_nothing_is_a_call() -> None:
    found = parse(NATIVE, "<think>a</think>b")
    assert (found.thinking, found.text) == ("a", "b")
    assert parse(NATIVE, '{"name": "wait", "arguments": {}}').calls == ()
