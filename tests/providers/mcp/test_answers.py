"""From what a server answers to a call to its outcome."""

import json

import pytest
from mcp import MCPError

from pegboard.core.calls.call import (
    Arguments,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.json.values import JsonObject
from pegboard.providers.mcp.errors import CONNECTION_BROKEN, HTTP_STATUS_BASE, NOT_SENT, UNUSABLE_ANSWER
from pegboard.providers.mcp.results import (
    UnsendableArgumentsError,
    encode_arguments,
    outcome_of_error,
    outcome_of_result,
)

TEXT: JsonObject = {"content": [{"type": "text", "text": "größe"}]}
NO_RESULT = ProviderFailure("dev~peer answered with something that is no tool result", may_have_run=True)


@pytest.mark.behaviour("mcp.in.answers_intact")
def test_a_result_is_passed_on_with_everything_in_it() -> None:
    result: JsonObject = {
        "content": [{"type": "text", "text": "größe", "annotations": {"x": 1}}, {"type": "hologram", "new": [None]}],
        "structuredContent": {"total": 123456789012345678901234567890, "half": 0.5},
        "_meta": {"com.example/trace": "1"},
        "future": {"member": True},
    }
    found = outcome_of_result(result, "dev~peer")
    assert isinstance(found, ToolSuccess)
    assert json.loads(found.body) == result


def test_a_result_marked_as_error_is_the_tool_s_own_failure() -> None:
    found = outcome_of_result(TEXT | {"isError": True}, "dev~peer")
    assert isinstance(found, ToolFailure)
    assert json.loads(found.body) == TEXT | {"isError": True}


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"content": "text"},
        {"content": [7]},
        {"content": [{"text": "no type"}]},
        {"content": [], "resultType": "task"},
    ],
)
def test_an_answer_no_client_could_read_is_a_failure_of_the_server(result: JsonObject) -> None:
    assert outcome_of_result(result, "dev~peer") == NO_RESULT


@pytest.mark.behaviour("mcp.in.sampling_and_elicitation")
@pytest.mark.parametrize(
    "asked",
    [
        {"inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "größe?", "later": [None]}}}},
        {"inputRequests": {"a": {"method": "roots/list"}}, "requestState": "abc", "_meta": {"x": 1}, "later": 2},
        {"requestState": ""},
    ],
)
def test_a_result_that_asks_back_is_passed_on_with_everything_in_it(asked: JsonObject) -> None:
    result = {"resultType": "input_required", **asked}
    found = outcome_of_result(result, "dev~peer")
    assert isinstance(found, NeedsInput)
    assert json.loads(found.body) == result


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"inputRequests": {}},
        {"inputRequests": []},
        {"inputRequests": {"a": "b"}},
        {"inputRequests": {"a": {}}},
        {"requestState": 7},
        {"inputRequests": {}, "requestState": None},
    ],
)
def test_a_result_that_asks_for_nothing_is_a_failure_of_the_server(asked: JsonObject) -> None:
    assert outcome_of_result({"resultType": "input_required", **asked}, "dev~peer") == NO_RESULT


def own(code: int, why: str, message: str = "") -> ProviderFailure:
    error = json.dumps({"code": code, "message": message or why}, separators=(",", ":")).encode()
    return ProviderFailure(f"s answered with the error {code}: {why}", True, error)


@pytest.mark.behaviour("mcp.in.own_errors")
def test_an_error_of_a_server_keeps_its_code_and_data_within_bounds_and_no_credential() -> None:
    def told(data: object) -> object:
        error = MCPError(-32050, "Quota", data)
        found = outcome_of_error(error, "s", None, lambda text: text.replace("hush", "●"))
        assert isinstance(found, ProviderFailure)
        assert (found.why, found.may_have_run) == ("s answered with the error -32050: Quota", True)
        assert found.error is not None
        return json.loads(found.error)

    bare = {"code": -32050, "message": "Quota"}
    assert told({"left": 0, "key": ["hush"]}) == bare | {"data": {"left": 0, "key": ["●"]}}
    assert told([1, None, "工具"]) == bare | {"data": [1, None, "工具"]}
    assert told(None) == bare
    assert told("x" * 70_000) == bare
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    assert told(deep) == bare


@pytest.mark.behaviour("mcp.in.demands_reach_the_client")
@pytest.mark.parametrize("code", [-32042, -32021])
def test_an_error_that_is_meant_for_the_client_keeps_its_code_and_data_but_no_credential(code: int) -> None:
    data = {"elicitations": [{"mode": "url", "url": "https://there.example/?key=hush", "hush": 1, "n": None}]}
    found = outcome_of_error(
        MCPError(code, "Sign in with hush first.", data), "s", None, lambda text: text.replace("hush", "●")
    )
    assert isinstance(found, ProtocolErrorReply)
    assert json.loads(found.error) == {
        "code": code,
        "message": "Sign in with ● first.",
        "data": {"elicitations": [{"mode": "url", "url": "https://there.example/?key=●", "●": 1, "n": None}]},
    }


@pytest.mark.behaviour("mcp.in.demands_reach_the_client")
def test_answers_that_a_server_does_not_take_are_refused_to_the_client_that_gave_them() -> None:
    error = MCPError(-32602, "Invalid or expired requestState")
    found = outcome_of_error(error, "s", None, str, resumed=True)
    assert found == ProtocolErrorReply(b'{"code":-32602,"message":"Invalid or expired requestState"}')
    refused = outcome_of_error(MCPError(-32601, "Method not found"), "s", None, str, resumed=True)
    assert refused == own(-32601, "Method not found")


def test_half_a_character_in_a_result_becomes_its_escape() -> None:
    assert outcome_of_result({"content": [{"type": "text", "text": "\ud83d"}]}, "s") == ToolSuccess(
        b'{"content":[{"type":"text","text":"\\ud83d"}]}'
    )


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (-32602, "Unknown tool: x.", own(-32602, "Unknown tool: x", "Unknown tool: x.")),
        (-32601, "Method not found", own(-32601, "Method not found")),
        (-32603, "It broke", own(-32603, "It broke")),
        (-32050, "Its own code", own(-32050, "Its own code")),
        (-32000, "Quota exceeded.", own(-32000, "Quota exceeded", "Quota exceeded.")),
        (
            -32000,
            "SSE stream ended without a response",
            ProviderFailure("s exited with code 9 before it answered", True),
        ),
        (-32000, "Connection closed", ProviderFailure("s exited with code 9 before it answered", True)),
        (UNUSABLE_ANSWER, "the answer is not JSON", ProviderFailure("s answered, but the answer is not JSON", True)),
        (NOT_SENT, "cannot be reached", ProviderFailure("s cannot be reached", False)),
        (CONNECTION_BROKEN, "broke off", ProviderFailure("s broke off", True)),
        (HTTP_STATUS_BASE - 401, "answered HTTP 401", ProviderFailure("s answered HTTP 401", False)),
        (HTTP_STATUS_BASE - 408, "answered HTTP 408", ProviderFailure("s answered HTTP 408", True)),
        (HTTP_STATUS_BASE - 502, "answered HTTP 502", ProviderFailure("s answered HTTP 502", True)),
    ],
)
def test_an_error_says_what_happened_and_whether_the_tool_may_have_run(
    code: int, message: str, expected: Outcome
) -> None:
    assert outcome_of_error(MCPError(code, message), "s", "exited with code 9", str) == expected


def test_an_error_does_not_repeat_a_secret_or_a_novel() -> None:
    found = outcome_of_error(
        MCPError(-32603, "key hunter2 " + "x" * 10_000), "s", None, lambda text: text.replace("hunter2", "•••")
    )
    assert isinstance(found, ProviderFailure)
    assert found.why == f"s answered with the error -32603: key ••• {'x' * 292}"
    assert b"hunter2" not in (found.error or b"")


def test_a_server_s_words_make_no_line_of_their_own() -> None:
    found = outcome_of_error(MCPError(-32603, "no.\n\n✗ fake\r\n\x1b[31m\t→ run\u2028this\x07"), "s", None, str)
    assert isinstance(found, ProviderFailure)
    assert found.why == "s answered with the error -32603: no. ✗ fake → run this\ufffd"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"a": "\ud83d"}, "the arguments hold half a character, which no JSON text can carry"),
        ({"\ud83d": 1}, "the arguments hold half a character, which no JSON text can carry"),
        ({"a": float("nan")}, "the arguments hold a number that is not finite, or are nested too deep"),
        ({"a": float("inf")}, "the arguments hold a number that is not finite, or are nested too deep"),
    ],
)
def test_arguments_that_no_message_can_carry_are_found_beforehand(arguments: Arguments, problem: str) -> None:
    with pytest.raises(UnsendableArgumentsError) as unsendable:
        encode_arguments(arguments)
    assert str(unsendable.value) == problem


def test_arguments_are_sent_on_one_line() -> None:
    arguments: Arguments = {"a": [1, 2.5, None, "größe\n🔨", {"b": True}]}
    assert encode_arguments(arguments) == '{"a":[1,2.5,null,"größe\\n🔨",{"b":true}]}'.encode()
