"""Answers of the chat endpoint as they go over the wire."""

from collections.abc import MutableMapping
from typing import Any

import anyio
import pytest

from pegboard.gateway.chat.report import ChatReport
from pegboard.gateway.chat.turn import TurnText
from pegboard.surfaces.chat.response import PING_INTERVAL_S, ChatStream, CompletionEnvelope

pytestmark = pytest.mark.anyio

PING = b": still there\n\n"


@pytest.mark.behaviour("chat.streams")
async def test_a_stream_that_has_started_and_is_silent_says_that_it_is_still_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[MutableMapping[str, Any]] = []
    slept: list[float] = []
    second_look, pinged = anyio.Event(), anyio.Event()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)
        if message.get("body") == PING:
            pinged.set()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            second_look.set()
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(anyio, "sleep", sleep)
    stream = ChatStream(send, CompletionEnvelope("answer-1", 0), ChatReport(model="m"))
    with anyio.fail_after(60):
        async with stream.keep_alive():
            await second_look.wait()
            assert sent == [], "there is no status yet that a ping could follow"
            await stream.send_event(TurnText("Hello"))
            await pinged.wait()
    assert set(slept) == {PING_INTERVAL_S}
    assert [message["type"] for message in sent[:2]] == ["http.response.start", "http.response.body"]
    assert b'"content":"Hello"' in sent[2]["body"]
    assert sent[3]["body"] == PING
