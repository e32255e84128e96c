"""One message a line, however the bytes arrive; a line that is no message is answered."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, JSONRPCRequest

from pegboard.surfaces.mcp.stdio import BadLine, LineSplitter, parse_line


@given(st.lists(st.binary().map(lambda text: text.replace(b"\n", b""))), st.lists(st.integers(1, 9)))
def test_lines_are_the_same_in_whatever_pieces_they_come(wanted: list[bytes], sizes: list[int]) -> None:
    text = b"".join(line + b"\n" for line in wanted) + b"rest"
    lines, found = LineSplitter(), list[bytes | BadLine]()
    while text:
        size = sizes.pop() if sizes else len(text)
        found += lines.feed(text[:size])
        text = text[size:]
    assert [*found, *lines.flush()] == [*wanted, b"rest"]


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_a_line_that_is_too_long_is_dropped_and_the_next_one_read(piece: int) -> None:
    text = b"x" * 100 + b"\n{}\n" + b"y" * 50
    lines, found = LineSplitter(longest=40), list[bytes | BadLine]()
    for start in range(0, len(text), piece):
        found += lines.feed(text[start : start + piece])
    first, second, *more = [*found, *lines.flush()]
    assert isinstance(first, BadLine)
    assert first.error.error.message == "A message is longer than 40 bytes. Send less at once."
    assert second == b"{}"
    assert [type(line) for line in more] == [BadLine]


def test_a_message_is_read_and_a_blank_line_means_nothing() -> None:
    assert parse_line(b'{"jsonrpc":"2.0","id":"7","method":"ping"}\r') == JSONRPCRequest(
        jsonrpc="2.0", id="7", method="ping"
    )
    assert parse_line(b'{"jsonrpc":"2.0","method":"x","params":{}}') == JSONRPCNotification(
        jsonrpc="2.0", method="x", params={}
    )
    assert [parse_line(line) for line in (b"", b"  \r")] == [None, None]


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"hello", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,', PARSE_ERROR, None),
        (b'{"a":NaN}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","method":"ping","params":{"x":"\\ud800"}}', PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":"a","method":5}', INVALID_REQUEST, "a"),
        (b'{"jsonrpc":"2.0","id":true,"method":5}', INVALID_REQUEST, None),
    ],
)
def test_a_line_that_is_no_message_is_answered_with_its_id_where_it_has_one(
    line: bytes, code: int, id: int | str | None
) -> None:
    bad = parse_line(line)
    assert isinstance(bad, BadLine)
    answer = json.loads(bad.error.model_dump_json())
    assert (answer["id"], answer["error"]["code"]) == (id, code)
    assert "Send one message a line." in answer["error"]["message"]


@pytest.mark.behaviour("http.unpassable_is_answered")
@pytest.mark.parametrize(
    ("argument", "why"),
    [
        (b'"\\ud800"', "half of a surrogate pair is no character (line 1 column 64)"),
        (b"1e999", "a number is too large"),
        (b"[" * 250 + b"]" * 250, "it is nested more than 200 levels deep (line 1 column 256)"),
        (b"[" * 2_000 + b"]" * 2_000, "it is nested more than 200 levels deep (line 1 column 256)"),
        (b"[" * 50_000 + b"]" * 50_000, "it is nested more than 200 levels deep (line 1 column 256)"),
    ],
    ids=["half a pair", "infinite", "250 levels", "2,000 levels", "50,000 levels"],
)
def test_a_line_that_not_every_reader_could_be_given_is_answered_with_its_id(argument: bytes, why: str) -> None:
    bad = parse_line(b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":' + argument + b"}}")
    assert isinstance(bad, BadLine)
    assert json.loads(bad.error.model_dump_json(exclude_none=True)) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {
            "code": INVALID_PARAMS,
            "message": f"The request is JSON that not every reader could be given: {why}. Correct it.",
        },
    }
