"""Calls over stdio, written straight to the server's input."""

import json
from datetime import UTC, datetime

import anyio
import pytest
from tests.providers.mcp.running import KEY, PATIENCE, Watched, program, running, server
from tests.providers.mcp.test_misbehaviour import peer

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolCall, ToolSuccess
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, ToolId, WireName
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.providers.mcp.fast import stdio as pipe

pytestmark = pytest.mark.anyio


def text(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolSuccess), outcome
    said = json.loads(outcome.body)["content"][0]["text"]
    assert isinstance(said, str)
    return said


async def call_raw(watched: Watched, tool: str, raw: bytes) -> Outcome:
    call = ToolCall(CallId("1"), WireName(tool), {}, LOCAL_PRINCIPAL, datetime(2026, 1, 1, tzinfo=UTC), raw=raw)
    with anyio.fail_after(PATIENCE):
        return await watched.provider.call(AdmittedCall(call, Tool(ToolId(KEY, tool), ToolSpec(tool))))


@pytest.mark.behaviour("mcp.in.raw_path")
async def test_arguments_as_they_came_reach_the_server_on_one_line() -> None:
    async with running(program("everyday")) as watched:
        await watched.up()
        assert text(await call_raw(watched, "echo", b'{\n  "text": "gr\\u00fc\xc3\x9fe\\n"\r\n}')) == "grüße\n"


async def test_a_long_argument_and_a_long_result_pass_whole() -> None:
    async with running(program("everyday")) as watched:
        await watched.up()
        assert text(await watched.call("echo", text="x" * 5_000_000)) == "x" * 5_000_000
        assert text(await watched.call("big", bytes=20_000_000)) == "x" * 20_000_000


async def test_calls_of_the_same_id_at_the_same_time_are_told_apart() -> None:
    answers: dict[str, str] = {}
    async with running(program("everyday")) as watched:
        await watched.up()

        async def call(who: str) -> None:
            answers[who] = text(await watched.call("echo", text=who))

        async with anyio.create_task_group() as tasks:
            for who in ("one", "other"):
                tasks.start_soon(call, who)
    assert answers == {"one": "one", "other": "other"}


async def test_a_call_that_finds_the_pipe_full_is_not_sent_and_did_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "_MAX_UNREAD_BYTES", 100_000)
    async with running(server(peer("odd", "--deaf"), call=0.3, stop=0.5)) as watched:
        await watched.up()
        assert await watched.call("listens", much="x" * 1_000_000) == ProviderFailure(
            "dev~peer did not answer within 0.3 s", may_have_run=True
        )
        assert await watched.call("listens") == ProviderFailure(
            "dev~peer does not read what it is sent, so the call was not sent in time", may_have_run=False
        )
