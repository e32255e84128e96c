"""Any server that speaks OpenAI's chat API: asked as it wants, and every way in which it fails told as one sentence."""

import json
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import anyio
import pytest
from tests.servers.model import Character, ModelServer, Raw, Turn, echo, script

from pegboard.config.keys.features import ModelServerSettings
from pegboard.config.references import expander
from pegboard.core.json.values import JsonObject
from pegboard.http_parsing import EventStreamParser, ServerSentEvent
from pegboard.ports.models import (
    ModelFault,
    ModelServerError,
    Piece,
    StopPiece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from pegboard.providers.model_servers.openai import OpenAiServer, PieceParser, is_whole_event

pytestmark = pytest.mark.anyio
PATIENCE = 30.0
ASKED: JsonObject = {"model": "m", "messages": [{"role": "user", "content": "Grüße 👋"}]}


@asynccontextmanager
async def speaking(server: ModelServer, **said: Any) -> AsyncIterator[OpenAiServer]:
    settings = ModelServerSettings("local", said.pop("url", server.url), **{"timeout": 20.0, **said})
    client = OpenAiServer(settings, expander({"KEY": "hush-hush", "LONG_KEY": KEY}, Path()))
    try:
        with anyio.fail_after(PATIENCE):
            yield client
    finally:
        await client.aclose()


async def said(client: OpenAiServer, body: JsonObject = ASKED) -> list[Piece]:
    async with client.chat(body) as pieces:
        return joined([piece async for piece in pieces])


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Without the seams between pieces."""
    out: list[Piece] = []
    for piece in pieces:
        match (out[-1] if out else None), piece:
            case TextPiece(before), TextPiece(more):
                out[-1] = TextPiece(before + more)
            case ThinkingPiece(before), ThinkingPiece(more):
                out[-1] = ThinkingPiece(before + more)
            case ToolCallPiece(at, id, name, before), ToolCallPiece(same, _, _, more) if at == same:
                out[-1] = ToolCallPiece(at, id, name, before + more)
            case _:
                out.append(piece)
    return out


async def trouble(character: Character, **more: Any) -> ModelServerError:
    with ModelServer({"m": character}) as server:
        async with speaking(server, **more) as client:
            with pytest.raises(ModelServerError) as caught:
                await said(client)
    return caught.value


@pytest.mark.behaviour("chat.any_model_server")
@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "at once"])
async def test_a_message_comes_in_pieces_with_thinking_calls_and_usage_told_apart(streams: bool) -> None:
    turn = Turn("Ich höre 👋.", "Hm, hm.", [("add", {"a": 2, "b": 3}), ("now", {})], streams=streams)
    with ModelServer({"m": script(turn)}) as server:
        async with speaking(server, api_key="${KEY}") as client:
            pieces = await said(client)
    told = [piece for piece in pieces if not isinstance(piece, ToolCallPiece)]
    assert told == [ThinkingPiece("Hm, hm."), TextPiece("Ich höre 👋."), StopPiece("tool_calls"), UsagePiece(100, 10)]
    calls = [(piece.name, piece.arguments) for piece in pieces if isinstance(piece, ToolCallPiece)]
    assert calls == [("add", '{"a": 2, "b": 3}'), ("now", "{}")]
    (asked,) = server.asked
    assert asked == {**ASKED, "stream": True, "stream_options": {"include_usage": True}}
    assert server.headers[0]["authorization"] == "Bearer hush-hush"


async def test_calls_that_a_server_numbers_alike_stay_apart() -> None:
    turn = Turn(calls=[("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})], numbered=False)
    with ModelServer({"m": script(turn)}) as server:
        async with speaking(server) as client:
            pieces = await said(client)
    calls = [(piece.index, piece.arguments) for piece in pieces if isinstance(piece, ToolCallPiece)]
    assert calls == [(0, '{"a": 1, "b": 1}'), (1, '{"a": 2, "b": 2}')]


@pytest.mark.behaviour("chat.models_listed")
async def test_the_models_are_those_that_the_server_lists_or_the_operator_names() -> None:
    with ModelServer({"small:1b": echo, "large:70b": echo}) as server:
        async with speaking(server) as client:
            assert await client.models() == ("small:1b", "large:70b")
        async with speaking(server, models=("large:70b",)) as client:
            assert await client.models() == ("large:70b",)


@pytest.mark.behaviour("chat.model_server_trouble")
@pytest.mark.parametrize(
    ("answer", "fault", "words"),
    [
        (
            Raw(401, b'{"error": {"message": "Incorrect API key"}}'),
            ModelFault.BAD_KEY,
            "401: Incorrect API key. See chat.model_servers",
        ),
        (Raw(403, b"<html>"), ModelFault.BAD_KEY, "answers with 403. See chat.model_servers.local.api_key"),
        (Raw(404, b'{"error": "no m"}'), ModelFault.NO_MODEL, "404: no m. Either it has not the model 'm', or"),
        (Raw(429, b"{}", headers={"retry-after": "7"}), ModelFault.BUSY, "answers with 429. Try again later."),
        (Raw(503, b'{"detail": "loading"}'), ModelFault.BUSY, "503: loading. Try again later."),
        (Raw(500, b"\xff\xfe"), ModelFault.UNREACHABLE, "answers with 500. See its own log."),
        (
            Raw(400, b'{"error": {"message": "m does not support tools"}}'),
            ModelFault.REFUSED,
            "400: m does not support tools.",
        ),
        (
            Raw(307, b"", headers={"location": "http://127.0.0.1:9"}),
            ModelFault.UNREACHABLE,
            "Write the address that it sends on to",
        ),
        (Raw(200, b"<html>hello</html>"), ModelFault.MALFORMED, "with something that is no JSON"),
        (Raw(200, b'{"choices": []}'), ModelFault.MALFORMED, "with something else than a message"),
        (Raw(200, b"data: nonsense\n\n", "text/event-stream"), ModelFault.MALFORMED, "with something that is no JSON"),
        (Raw(200, b"data: [1]\n\n", "text/event-stream"), ModelFault.MALFORMED, "with an event that is no object"),
        (Raw(200, b"data: [DONE]\n\n", "text/event-stream"), ModelFault.TRUNCATED, "it is done and has said nothing"),
        (Raw(200, b"", "text/event-stream"), ModelFault.TRUNCATED, "the stream ended in the middle"),
        (
            Raw(200, b'data: {"error": {"message": "out of memory"}}\n\n', "text/event-stream"),
            ModelFault.TRUNCATED,
            "out of memory",
        ),
        (Raw(200, b"[" * 100_000, "application/json"), ModelFault.MALFORMED, "with something that is no JSON"),
        (Turn("half of it", cut=2), ModelFault.TRUNCATED, "broke off"),
    ],
    ids=lambda value: value.name if isinstance(value, ModelFault) else None,
)
async def test_each_way_to_fail_is_told_with_what_to_do(answer: Turn | Raw, fault: ModelFault, words: str) -> None:
    found = await trouble(script(answer))
    assert (found.fault, words in found.why) == (fault, True), found.why
    assert found.retry_after == ("7" if isinstance(answer, Raw) and answer.status == 429 else None)


@pytest.mark.behaviour("chat.model_server_trouble")
async def test_a_server_that_is_not_there_is_told_with_its_place_in_the_settings() -> None:
    with ModelServer({"m": echo}) as server:
        url = server.url
    async with speaking(server, url=url) as client:
        with pytest.raises(ModelServerError) as caught:
            await said(client)
    assert caught.value.fault is ModelFault.UNREACHABLE
    assert "Start it, or correct chat.model_servers.local.url in pegboard.yaml." in caught.value.why


@pytest.mark.behaviour("chat.model_server_trouble")
async def test_a_server_that_says_nothing_is_given_up() -> None:
    hold = threading.Event()
    found = await trouble(script(Turn("late", hold=hold)), timeout=0.3)
    assert (found.fault, "said nothing for 0.3 seconds" in found.why) == (ModelFault.TIMEOUT, True)


async def test_a_key_that_is_not_to_be_had_is_told_without_asking_anybody() -> None:
    with ModelServer({"m": echo}) as server:
        async with speaking(server, api_key="${NOWHERE}") as client:
            with pytest.raises(ModelServerError) as caught:
                await said(client)
    assert (caught.value.fault, server.asked) == (ModelFault.BAD_KEY, [])
    assert caught.value.why.startswith("chat.model_servers.local.api_key: ")


@pytest.mark.parametrize(
    ("calls", "ended"), [((), "stop"), ((("add", {"a": 1, "b": 1}),), "tool_calls")], ids=["text", "call"]
)
async def test_a_server_that_says_only_that_it_is_done_has_ended_its_message(calls: Any, ended: str) -> None:
    with ModelServer({"m": script(Turn("All of it.", calls=calls, unended=True, usage=None))}) as server:
        async with speaking(server) as client:
            pieces = await said(client)
    assert (pieces[0], pieces[-1]) == (TextPiece("All of it."), StopPiece(ended))


KEY = "sk-ks-0123456789-hush"
QUOTED = f"Incorrect key Bearer {KEY}, see {quote_plus(KEY)}."


@pytest.mark.behaviour("chat.no_key_told")
@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 418, 429, 500, 503, 529])
async def test_no_status_of_a_server_tells_the_key_that_it_quotes(status: int) -> None:
    content = json.dumps({"error": {"message": "x" * 470 + QUOTED}}).encode()
    found = await trouble(script(Raw(status, content, headers={"retry-after": KEY})), api_key="${LONG_KEY}")
    assert "sk-ks" not in f"{found.why}{found.retry_after}{found!r}"
    assert "•••" in found.why


@pytest.mark.behaviour("chat.no_key_told")
async def test_no_piece_of_a_message_tells_the_key_however_it_is_cut() -> None:
    bare = Turn(QUOTED, f"hm {KEY}", [("add", {"a": KEY})], finish=KEY)
    for size in (1, 3, 10, 1000):
        with ModelServer({"m": script(replace(bare, size=size), replace(bare, streams=False))}) as server:
            async with speaking(server, api_key="${LONG_KEY}") as client:
                told = [await said(client), await said(client)]
        for pieces in told:
            assert "sk-ks" not in repr(pieces)
            assert [*pieces[:2], *pieces[3:]] == [
                ThinkingPiece("hm •••"),
                TextPiece("Incorrect key Bearer •••, see •••."),
                StopPiece("•••"),
                UsagePiece(100, 10),
            ]
            assert isinstance(pieces[2], ToolCallPiece)
            assert (pieces[2].name, pieces[2].arguments) == ("add", '{"a": "•••"}')


@pytest.mark.behaviour("chat.no_key_told")
async def test_no_error_in_a_stream_and_no_name_of_a_model_tells_the_key() -> None:
    event = b'data: {"error": {"message": "out of memory for ' + KEY.encode() + b'"}}\n\n'
    found = await trouble(script(Raw(200, event, "text/event-stream")), api_key="${LONG_KEY}")
    assert found.why.endswith("broke off: out of memory for •••")
    with ModelServer({f"m-{KEY}": echo}) as server:
        async with speaking(server, api_key="${LONG_KEY}") as client:
            assert await client.models() == ("m-•••",)


@pytest.mark.behaviour("chat.no_key_told")
async def test_the_password_of_an_address_is_not_told_when_the_server_quotes_it() -> None:
    basic = b64encode(b"me:open-sesame-1").decode()
    answers = [
        Raw(500, f'{{"error": "{said}"}}'.encode()) for said in ("open-sesame-1", f"Basic {basic}", "a-query-key")
    ]
    with ModelServer({"m": script(*answers)}) as server:
        url = f"http://me:open-sesame-1@127.0.0.1:{server.port}/v1"
        for each in (url, url, "http://127.0.0.1:9/v1?key=a-query-key"):
            async with speaking(server, url=each) as client:
                with pytest.raises(ModelServerError) as caught:
                    await said(client)
            assert not {"open-sesame-1", basic, "a-query-key"} & {*caught.value.why.replace(":", " ").split()}


async def test_a_key_that_is_no_secret_is_a_word_like_any_other_in_an_answer() -> None:
    with ModelServer({"m": script(Turn("hush-hush, said ollama."))}) as server:
        async with speaking(server, api_key="${KEY}") as client:
            assert (await said(client))[0] == TextPiece("hush-hush, said ollama.")


@pytest.mark.parametrize("key", ["sk-ü", "sk-1\nx: y"], ids=["no ASCII", "line break"])
async def test_a_key_that_no_header_can_carry_is_told_without_it(key: str) -> None:
    with ModelServer({"m": echo}) as server:
        client = OpenAiServer(ModelServerSettings("local", server.url, "${KEY}"), expander({"KEY": key}, Path()))
        with pytest.raises(ModelServerError) as caught:
            await said(client)
    assert (caught.value.fault, server.asked, "sk-" in caught.value.why) == (ModelFault.BAD_KEY, [], False)


async def test_halves_of_characters_are_put_together_and_a_lone_one_is_replaced() -> None:
    deltas = [
        {"content": "a \ud83d"},
        {"content": "\udc4b b \ud83d"},
        {"content": " c"},
        {"reasoning_content": "\ud83d"},
    ]
    events = "".join(f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n" for delta in deltas)
    with ModelServer({"m": script(Raw(200, f"{events}data: [DONE]\n\n".encode(), "text/event-stream"))}) as server:
        async with speaking(server) as client:
            pieces = await said(client)
    assert pieces == [TextPiece("a 👋 b \ufffd c"), ThinkingPiece("\ufffd"), StopPiece("stop")]


async def test_no_secret_of_an_address_is_told() -> None:
    with ModelServer({"m": echo}) as server:
        port = server.port
    async with speaking(server, url=f"http://me:hush-hush@127.0.0.1:{port}/v1?key=hush-hush") as client:
        with pytest.raises(ModelServerError) as caught:
            await said(client)
    assert "hush" not in caught.value.why


@pytest.mark.behaviour("chat.gone_clients")
async def test_to_leave_midway_is_to_hang_up_at_the_server() -> None:
    with ModelServer({"m": script(Turn("never ending", hold=threading.Event()))}) as server:
        async with speaking(server) as client:
            async with client.chat(ASKED) as pieces:
                assert await anext(pieces) == TextPiece("never e")
                await anyio.to_thread.run_sync(server.begun.wait, PATIENCE)
            assert await anyio.to_thread.run_sync(server.left.wait, PATIENCE)


def test_events_are_the_same_however_they_are_cut() -> None:
    text = b': hello\r\ndata: {"a": 1}\r\n\r\ndata:{"b": 2}\n\nevent: x\ndata: [DONE]\n\n'
    whole = [event.text for event in EventStreamParser(1_000, is_whole_event).feed(text)]
    assert whole == [b'{"a": 1}', b'{"b": 2}', b"[DONE]"]
    for size in range(1, len(text)):
        events = EventStreamParser(1_000, is_whole_event)
        cut = [text[start : start + size] for start in range(0, len(text), size)]
        assert [event.text for chunk in cut for event in events.feed(chunk)] == whole


def test_a_blank_line_before_the_first_event_is_left_out() -> None:
    assert EventStreamParser(1_000, is_whole_event).feed(b"\ndata: {}\n") == [ServerSentEvent(b"message", b"{}")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_an_event_of_several_lines_a_mark_before_the_first_and_any_line_end_are_read(end: bytes) -> None:
    lines = [b"\xef\xbb\xbfdata: {", b'data: "a": {"b":', b"data: 1}}", b"", b'data: {"c": "}"}', b"data: [DONE]", b""]
    text = end.join(lines) + end
    for size in (1, 2, 3, 1000):
        events = EventStreamParser(1_000, is_whole_event)
        cut = [text[start : start + size] for start in range(0, len(text), size)]
        found = [event.text for chunk in cut for event in events.feed(chunk)]
        assert found == [b'{\n"a": {"b":\n1}}', b'{"c": "}"}', b"[DONE]"]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (
            [{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}],
            [TextPiece("hi"), StopPiece("stop")],
        ),
        ([{"choices": None}, {"choices": [None, 5, {"delta": None}]}, {"usage": None}], []),
        ([{"choices": [{"delta": {"content": 5, "tool_calls": [None, {"function": None}, {}]}}]}], []),
        (
            [{"choices": [{"delta": {"content": [{"type": "text", "text": "hi"}, {"type": "image"}]}}]}],
            [TextPiece("hi")],
        ),
        ([{"choices": [{"index": 1, "delta": {"content": "another"}}]}], []),
        ([{"usage": {"prompt_tokens": True, "completion_tokens": -1}}], []),
        (
            [{"choices": [{"delta": {"reasoning": "hm"}, "finish_reason": "stop"}]}],
            [ThinkingPiece("hm"), StopPiece("stop")],
        ),
        (
            [{"choices": [{"delta": {"tool_calls": [{"function": {"name": "a", "arguments": {"x": 1}}}]}}]}] * 2,
            [ToolCallPiece(0, "", "a", '{"x": 1}'), ToolCallPiece(1, "", "a", '{"x": 1}')],
        ),
        (
            [{"choices": [{"delta": {"function_call": each}}]} for each in ({"name": "a"}, {"arguments": "{}"})],
            [ToolCallPiece(0, "", "a", ""), ToolCallPiece(0, "", "", "{}")],
        ),
    ],
)
def test_what_careless_servers_write_is_read_as_far_as_it_says_something(events: Any, told: list[Piece]) -> None:
    pieces = PieceParser()
    assert [piece for event in events for piece in pieces.parse_event(event)] == told


async def test_a_server_that_does_not_know_the_wish_for_usage_is_asked_without_it_from_then_on() -> None:
    def strict(body: Any) -> Turn | Raw:
        if "stream_options" in body:
            return Raw(400, b'{"error": {"message": "Extra inputs are not permitted: stream_options"}}')
        return Turn("hi")

    with ModelServer({"m": strict}) as server:
        async with speaking(server) as client:
            assert [await said(client), await said(client)] == [[TextPiece("hi"), StopPiece("stop")]] * 2
    assert ["stream_options" in body for body in server.asked] == [True, False, False]


@pytest.mark.behaviour("config.references_not_quoted")
@pytest.mark.parametrize("url", ["MARKER", "ftp://MARKER/v1", "http://127.0.0.1:MARKER/v1", "http://[MARKER/v1"])
async def test_an_address_that_cannot_be_used_is_not_quoted(url: str) -> None:
    client = OpenAiServer(ModelServerSettings("local", "${URL}", None), expander({"URL": url}, Path()))
    with pytest.raises(ModelServerError) as trouble:
        await client.models()
    await client.aclose()
    assert "MARKER" not in str(trouble.value)
