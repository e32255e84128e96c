"""What is made of the lines a server writes to its output."""

import json
import threading

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCResponse

from pegboard.providers.mcp import messages
from pegboard.providers.mcp.errors import UNUSABLE_ANSWER
from pegboard.providers.mcp.messages import (
    LARGE_MESSAGE_BYTES,
    Line,
    McpMessageReader,
    OutputLineSplitter,
    OversizedLine,
    parse_message,
)


def lines_of(*chunks: bytes, longest: int = 1_000) -> list[Line]:
    lines = OutputLineSplitter(longest)
    return [line for chunk in chunks for line in lines.feed(chunk)]


def read(line: Line) -> JSONRPCMessage | None:
    message = parse_message(line)
    assert message is None or isinstance(message, SessionMessage)
    return None if message is None else message.message


def nonsense(id: int | str, why: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=UNUSABLE_ANSWER, message=why))


def test_lines_come_out_whole_however_they_were_cut() -> None:
    assert lines_of(b'{"a"', b":1}\n", b'{"b":2}\n{"c"', b":3}\n") == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


def test_a_line_that_is_too_long_is_let_go_and_the_next_one_is_read() -> None:
    flood = [b"x" * 600] * 10
    assert lines_of(b"before\n", *flood, b"\nafter\n") == [b"before", OversizedLine(b"x" * 512), b"after"]


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
        b'{"jsonrpc":"2.0","method":7}',
    ],
)
def test_noise_is_no_message(line: bytes) -> None:
    assert read(line) is None


@pytest.mark.anyio
async def test_a_log_message_is_read_only_while_somebody_hears_it() -> None:
    said = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"talk"}}'
    assert await McpMessageReader("The server", lambda: False).read_message(said) is None
    heard = await McpMessageReader("The server", lambda: True).read_message(said)
    assert heard is not None
    assert isinstance(heard.message, JSONRPCNotification)


@pytest.mark.anyio
async def test_an_answer_that_speaks_of_log_messages_is_no_log_message() -> None:
    answer = b'{"jsonrpc":"2.0","id":1,"result":{"x":"notifications/message"}}'
    assert await McpMessageReader("The server", lambda: False).read_message(answer) == parse_message(answer)


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
            nonsense(3, "the answer is nested deeper than 200 levels"),
        ),
        (
            OversizedLine(b'{"jsonrpc":"2.0","id":12,"result":{"content'),
            nonsense(12, "the answer is longer than 64 MiB"),
        ),
    ],
)
def test_who_waits_for_an_answer_is_told_at_once_that_it_cannot_be_used(line: Line, answer: JSONRPCError) -> None:
    assert read(line) == answer


def test_a_line_too_long_that_answers_nobody_is_dropped() -> None:
    assert read(OversizedLine(b'{"jsonrpc":"2.0","method":"x","params":"')) is None


MANY = b"[" + b",".join([b"{}"] * 500_000) + b"]"


def test_of_a_large_line_that_is_no_answer_only_the_head_is_held() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + MANY + b"}}"
    chunks = [line[start : start + 65_536] for start in range(0, len(line), 65_536)]
    assert lines_of(*chunks, b"\nafter\n", longest=10 * LARGE_MESSAGE_BYTES) == [OversizedLine(line[:512]), b"after"]


@pytest.mark.anyio
@pytest.mark.behaviour("supervision.broken_server_is_alone")
async def test_a_large_message_that_is_no_answer_is_dropped_unread_and_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_lines: list[Line] = []
    monkeypatch.setattr(messages, "parse_message", read_lines.append)
    reader = McpMessageReader("The server", lambda: False)
    for line in (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":' + MANY + b"}}",
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x":' + MANY + b"}}",
        b'{"params":{"x":' + MANY + b'},"method":"notifications/progress","jsonrpc":"2.0"}',
        OversizedLine(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":'),
    ):
        assert await reader.read_message(line) is None
    assert read_lines == []
    assert reader.dropped_count == 4
    assert caplog.messages == [
        "The server sent a request or notification longer than 1 MiB. It was dropped, and so is every further one."
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("cut", [b"", b"\\ud83d"])
async def test_a_large_answer_is_read_beside_the_event_loop(cut: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def seen(line: Line) -> SessionMessage | None:
        threads.append(threading.get_ident())
        return parse_message(line)

    monkeypatch.setattr(messages, "parse_message", seen)
    reader = McpMessageReader("The server", lambda: False)
    small = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    large = b'{"jsonrpc":"2.0","id":2,"result":{"method":"GET","text":"' + b"x" * LARGE_MESSAGE_BYTES + cut + b'"}}'
    found = [await reader.read_message(line) for line in (small, large)]
    text = "x" * LARGE_MESSAGE_BYTES + json.loads(b'"' + cut + b'"')
    assert [message and message.message for message in found] == [
        JSONRPCResponse(jsonrpc="2.0", id=1, result={}),
        JSONRPCResponse(jsonrpc="2.0", id=2, result={"method": "GET", "text": text}),
    ]
    assert [thread == threading.get_ident() for thread in threads] == [True, False]


def test_a_request_of_the_server_that_cannot_be_read_answers_none_of_ours() -> None:
    assert read(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{') is None
