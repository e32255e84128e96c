"""What is made of the lines a server writes to its output."""

import json

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCResponse

from pegboard.providers.mcp.messages import Line, Lines, TooLong, message_of
from pegboard.providers.mcp.trouble import NONSENSE


def lines_of(*chunks: bytes, longest: int = 1_000) -> list[Line]:
    lines = Lines(longest)
    return [line for chunk in chunks for line in lines.feed(chunk)]


def read(line: Line) -> JSONRPCMessage | None:
    message = message_of(line)
    assert message is None or isinstance(message, SessionMessage)
    return None if message is None else message.message


def nonsense(id: int | str, why: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=NONSENSE, message=why))


def test_lines_come_out_whole_however_they_were_cut() -> None:
    assert lines_of(b'{"a"', b":1}\n", b'{"b":2}\n{"c"', b":3}\n") == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


def test_a_line_that_is_too_long_is_let_go_and_the_next_one_is_read() -> None:
    flood = [b"x" * 600] * 10
    assert lines_of(b"before\n", *flood, b"\nafter\n") == [b"before", TooLong(b"x" * 512), b"after"]


def test_an_answer_keeps_members_that_no_model_knows() -> None:
    result = {"content": [{"type": "hologram", "x": [1, None]}], "future": {"a": 1}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    assert read(line) == JSONRPCResponse(jsonrpc="2.0", id=1, result=result)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"[INFO] listening",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        b"{}",
        b"\xff\xfe\x00",
        b'{"jsonrpc":"2.0","id":true,"result":[]}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"talk"}}',
        b'{"jsonrpc":"2.0","method":7}',
    ],
)
def test_noise_is_no_message(line: bytes) -> None:
    assert read(line) is None


def test_a_notification_is_a_message() -> None:
    line = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    assert read(line) == JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed")


def test_half_a_character_in_an_answer_is_read_all_the_same() -> None:
    line = b'{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"cut \\ud83d"}]}}'
    expected = {"content": [{"type": "text", "text": "cut \ud83d"}]}
    assert read(line) == JSONRPCResponse(jsonrpc="2.0", id=4, result=expected)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b'{"jsonrpc":"2.0","id":3,"result":[]}', nonsense(3, "the answer is not a JSON-RPC response")),
        (b'{"jsonrpc":"2.0","id":"a","result":"yes"}', nonsense("a", "the answer is not a JSON-RPC response")),
        (b'{"jsonrpc":"2.0","id":3,"error":"no"}', nonsense(3, "the answer is not a JSON-RPC response")),
        (b'{"jsonrpc": "2.0", "id": 3, "result": {"a": }', nonsense(3, "the answer is not JSON")),
        (
            b'{"jsonrpc":"2.0","id":3,"result":{"a":' + b"[" * 300 + b"]" * 300 + b"}}",
            nonsense(3, "the answer is nested deeper than 200 levels"),
        ),
        (
            b'{"jsonrpc":"2.0","id":3,"result":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
            nonsense(3, "the answer is not JSON"),
        ),
        (TooLong(b'{"jsonrpc":"2.0","id":12,"result":{"content'), nonsense(12, "the answer is longer than 64 MiB")),
    ],
)
def test_who_waits_for_an_answer_is_told_at_once_that_it_cannot_be_used(line: Line, answer: JSONRPCError) -> None:
    assert read(line) == answer


def test_a_line_too_long_that_answers_nobody_is_dropped() -> None:
    assert read(TooLong(b'{"jsonrpc":"2.0","method":"x","params":"')) is None
