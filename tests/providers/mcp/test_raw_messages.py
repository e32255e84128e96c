"""What is said to a server as bytes, and what its bytes mean."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp import MCPError
from tests.support.asking import AskedClient

from pegboard.core.calls.call import NeedsInput, Outcome, ProviderFailure, ToolCall, ToolFailure, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, WireName
from pegboard.ports.providers import ClientPeer
from pegboard.providers.mcp.errors import UNUSABLE_ANSWER
from pegboard.providers.mcp.fast.requests import CallEncoder
from pegboard.providers.mcp.fast.response import read_outcome_now
from pegboard.providers.mcp.in_flight import PendingRequest

VERSION = "io.modelcontextprotocol/protocolVersion"
WHO = "io.modelcontextprotocol/clientInfo"
CAN = "io.modelcontextprotocol/clientCapabilities"
LEVEL = "io.modelcontextprotocol/logLevel"


def said(
    version: str,
    meta: Mapping[str, Json] | None = None,
    peer: ClientPeer | None = None,
    *,
    progress: bool = False,
    raw: bytes | None = None,
    **beside: bytes,
) -> dict[str, Any]:
    told = beside if meta is None else {"_meta": json.dumps(meta, indent=1).encode(), **beside}
    call = ToolCall(
        CallId("1"), WireName("a"), {"x": 1}, LOCAL_PRINCIPAL, datetime(2026, 1, 1, tzinfo=UTC), raw=raw, beside=told
    )
    ticket = PendingRequest("peg-9", (lambda *_: None) if progress else None, peer, None)
    requests = CallEncoder(version)
    body = b"".join(requests.encode_call('größe "1"', call, ticket))
    assert b"\n" not in body
    assert b"".join(requests.encode_call('größe "1"', call, ticket)) == body
    message = json.loads(body)
    params: dict[str, Any] = message.pop("params")
    assert message == {"jsonrpc": "2.0", "id": "peg-9", "method": "tools/call"}
    assert params.pop("name") == 'größe "1"'
    return params


def test_what_a_caller_says_beside_its_call_passes_to_a_stateless_server() -> None:
    meta: dict[str, Json] = {
        VERSION: "2099-01-01",
        WHO: {"name": "client", "version": "1"},
        CAN: {"elicitation": {}},
        LEVEL: "debug",
        "progressToken": 5,
        "com.example/trace": [1, None],
    }
    found = said("2026-07-28", meta, AskedClient(capabilities={"elicitation": {}}), requestState=b'"s"', later=b"{\n}")
    assert found["_meta"].pop(WHO)["name"] == "pegboard"
    assert found == {
        "arguments": {"x": 1},
        "_meta": {VERSION: "2026-07-28", CAN: {"elicitation": {}}, LEVEL: "debug", "com.example/trace": [1, None]},
        "requestState": "s",
        "later": {},
    }


def test_a_client_that_shook_hands_with_us_is_spoken_for_to_a_stateless_server() -> None:
    found = said(
        "2026-07-28", {"com.example/a": 1}, AskedClient(capabilities={"roots": {}, "tasks": {}}), progress=True
    )
    assert found["_meta"].pop(WHO)["name"] == "pegboard"
    assert found["_meta"] == {VERSION: "2026-07-28", CAN: {"roots": {}}, "com.example/a": 1, "progressToken": "peg-9"}


def test_a_server_of_the_handshake_era_is_not_told_what_only_the_other_era_says() -> None:
    meta: dict[str, Json] = {VERSION: "2026-07-28", WHO: {}, CAN: {}, LEVEL: "info", "com.example/a": 1}
    assert said("2025-11-25", meta, requestState=b'"s"') == {"arguments": {"x": 1}, "_meta": {"com.example/a": 1}}
    assert said("2025-11-25", {VERSION: "2026-07-28"}) == {"arguments": {"x": 1}}
    assert said("2025-11-25", progress=True) == {"arguments": {"x": 1}, "_meta": {"progressToken": "peg-9"}}


def test_arguments_over_many_lines_become_one() -> None:
    assert said("2025-11-25", raw=b'{\n  "x": "a\\nb",\r\n  "n": 1.50\n}') == {"arguments": {"x": "a\nb", "n": 1.5}}


def answer(result: bytes) -> bytes:
    return b'{"jsonrpc": "2.0", "result": ' + result + b', "id": "peg-1"}'


@pytest.mark.behaviour("mcp.in.answers_intact")
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            b'{"content": [ {"type":"text","text":"gr\xc3\xb6\xc3\x9fe"}], "n": 1.10 }',
            ToolSuccess(b'{"content": [ {"type":"text","text":"gr\xc3\xb6\xc3\x9fe"}], "n": 1.10 }'),
        ),
        (b'{"content":[],"isError":true}', ToolFailure(b'{"content":[],"isError":true}')),
        (b'{"content":[],"isError":"yes"}', ToolSuccess(b'{"content":[],"isError":"yes"}')),
        (b'{"content":[],"resultType":"complete"}', ToolSuccess(b'{"content":[],"resultType":"complete"}')),
        (
            b'{"content":[{"type":"text","text":"\\ud83d"}]}',
            ToolSuccess(b'{"content":[{"type":"text","text":"\\ud83d"}]}'),
        ),
        (b'{"content":[],"x":NaN}', ToolSuccess(b'{"content":[],"x":null}')),
        (
            b'{"resultType":"input_required","requestState":"s"}',
            NeedsInput(b'{"resultType":"input_required","requestState":"s"}'),
        ),
        *(
            (bad, ProviderFailure("s answered with something that is no tool result", may_have_run=True))
            for bad in (b"{}", b'{"content":"a"}', b'{"content":[7]}', b'{"content":[{}]}', b'{"resultType":"task"}')
        ),
    ],
)
def test_a_result_is_looked_at_and_passed_on(result: bytes, expected: Outcome) -> None:
    assert read_outcome_now(answer(result), "peg-1", "s") == expected


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b'{"jsonrpc":"2.0","id":"peg-1","error":{"code":-32602,"message":"no"}}', -32602, "no"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}', -32600, "what?"),
        (
            b'{"jsonrpc":"2.0","id":"peg-2","error":{"code":1,"message":"no"}}',
            UNUSABLE_ANSWER,
            "the answer is one to another request",
        ),
        (answer(b'{"content":[]}').replace(b"peg-1", b"1"), UNUSABLE_ANSWER, "the answer is one to another request"),
        (answer(b"{").strip(), UNUSABLE_ANSWER, "the answer is not JSON"),
        (b"", UNUSABLE_ANSWER, "the answer is not JSON"),
        (b"[]", UNUSABLE_ANSWER, "the answer is not a JSON-RPC response"),
        (answer(b"[]"), UNUSABLE_ANSWER, "the answer is not a JSON-RPC response"),
        (answer(b"\xff"), UNUSABLE_ANSWER, "the answer is not JSON"),
        (
            answer(b'{"content":[],"x":' + b"[" * 300 + b"]" * 300 + b"}"),
            UNUSABLE_ANSWER,
            "the answer is nested deeper than 200 levels",
        ),
    ],
)
def test_an_error_and_nonsense_are_told_as_what_they_are(body: bytes, code: int, message: str) -> None:
    with pytest.raises(MCPError) as error:
        read_outcome_now(body, "peg-1", "s")
    assert (error.value.code, error.value.message) == (code, message)
