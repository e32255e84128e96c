"""What a server writes that nobody waits for, and what is let go of it."""

import json

import pytest
from tests.providers.mcp.running import running
from tests.providers.mcp.test_misbehaviour import peer

from pegboard.core.calls.call import ToolSuccess
from pegboard.providers.mcp.messages import UnsolicitedFilter, is_not_json
from pegboard.providers.mcp.rate import PROGRESS_BURST

CHANGED = b'{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'
STEP = b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}'


@pytest.mark.parametrize("line", [b"", b"noise", b"[1]", b" \t", b'"{"', b"\xef\xbb\xbf{}"])
def test_what_does_not_begin_as_an_object_is_noise(line: bytes) -> None:
    assert is_not_json(line)


@pytest.mark.parametrize("line", [b"{}", b" {", b"\r{}", b'{"jsonrpc": "2.0", "id": 1, "result": {}}'])
def test_what_begins_as_an_object_is_looked_at(line: bytes) -> None:
    assert not is_not_json(line)


@pytest.mark.parametrize(
    "line",
    [
        {"level": "info"},
        {"method": "notifications/tools/list_changed"},
        {"jsonrpc": "1.0", "id": 4, "method": "ping"},
        {"jsonrpc": "2.0", "id": "nobody", "result": {}},
    ],
)
def test_what_is_no_message_or_answers_nobody_is_let_go(line: object) -> None:
    assert UnsolicitedFilter().can_drop(json.dumps(line).encode())


@pytest.mark.parametrize(
    "line",
    [
        CHANGED,
        STEP,
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": "1", "result": {}}',
        b'{"id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "\\ud800 half a character"}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "cut o',
        b'{"jsonrpc": "2.0", "id": "peg-1", "result": {"text": "no UTF-8: \xff"}}',
    ],
)
def test_what_somebody_may_wait_for_is_kept(line: bytes) -> None:
    sieve = UnsolicitedFilter()
    sieve.expect(1)
    assert not sieve.can_drop(line)


def test_a_bell_rings_once_in_a_chunk_and_again_in_the_next() -> None:
    sieve = UnsolicitedFilter()
    sieve.begin_chunk()
    assert [sieve.can_drop(CHANGED) for _ in range(3)] == [False, True, True]
    sieve.begin_chunk()
    assert not sieve.can_drop(CHANGED)


def test_log_messages_are_never_taken_for_one_another() -> None:
    sieve, line = (
        UnsolicitedFilter(),
        b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "tick"}}',
    )
    assert [sieve.can_drop(line) for _ in range(3)] == [False, False, False]


def test_steps_faster_than_anyone_can_look_are_let_go() -> None:
    sieve = UnsolicitedFilter()
    kept = sum(not sieve.can_drop(STEP) for _ in range(10_000))
    assert PROGRESS_BURST <= kept < 1_000


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.behaviour("mcp.in.floods_end")
async def test_a_server_answers_again_soon_after_megabytes_that_nobody_waits_for() -> None:
    """Read message by message, they would take minutes."""
    async with running(peer("outburst")) as watched:
        await watched.up()
        assert isinstance(await watched.call("burst"), ToolSuccess)
        assert isinstance(await watched.call("echo"), ToolSuccess)
