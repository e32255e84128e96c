"""Requests that are wrong, huge or strange, and model servers that fail: each has an answer, and nothing breaks."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.surfaces.chat.place import KEY, Place, Raw, Turn, calls, opened, text

USER = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.behaviour("chat.bad_requests")
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": ["hello"]}, "messages[0]"),
        ({"messages": [{"role": "robot", "content": ""}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "tool", "content": ""}]}, "messages[0].tool_call_id"),
        ({"messages": [{"role": "assistant", "tool_calls": {}}]}, "messages[0].tool_calls"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": 1}]}]}, "messages[0].tool_calls[0]"),
        ({"messages": USER, "model": 5}, "model"),
        ({"messages": USER, "model": " "}, "model"),
        ({"messages": USER, "n": 2}, "n"),
        ({"messages": USER, "n": True}, "n"),
        ({"messages": USER, "stream": "yes"}, "stream"),
        ({"messages": USER, "stream_options": 5}, "stream_options"),
        ({"messages": USER, "functions": []}, "functions"),
        ({"messages": USER, "tools": {}}, "tools"),
        ({"messages": USER, "tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"messages": USER, "tools": [{"type": "function", "function": {"name": "ü"}}]}, "tools[0].function.name"),
        ({"messages": USER, "tools": [TOOL, TOOL]}, "tools[1].function.name"),
        ({"messages": USER, "tool_choice": "maybe"}, "tool_choice"),
        ({"messages": USER, "tool_choice": {"type": "function"}}, "tool_choice"),
        ({"messages": USER, "parallel_tool_calls": 1}, "parallel_tool_calls"),
        ({"messages": USER, "pegboard": True}, "pegboard"),
        ({"messages": USER, "pegboard": {"approve": True}}, "pegboard.approve"),
        ({"messages": USER, "pegboard": {"filter": {"x" * 200: []}}}, f"pegboard.filter.{'x' * 100}…"),
        ({"messages": USER, "pegboard": {"wait": -1}}, "pegboard.wait"),
        ({"messages": USER, "pegboard": {"run": "yes"}}, "run"),
        ({"messages": USER * 10_001}, "messages"),
    ],
)
def test_a_member_of_the_wrong_kind_is_told_by_its_place(place: Place, body: Any, param: str) -> None:
    answer = place.post(body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), answer.text
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.behaviour("chat.bad_requests")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"nonsense", 400),
        (b"[]", 400),
        (b"\xff\xfe", 400),
        (b'{"messages": "\\ud800"}', 400),
        (b'{"temperature": NaN}', 400),
        (b'{"a": ' + b"[" * 100_000, 400),
        (b'{"a": [' + b"1," * 1_000_001 + b"1]}", 413),
        (b'{"a": "' + b"x" * (10 * 1024 * 1024) + b'"}', 413),
    ],
    ids=["empty", "no JSON", "a list", "no UTF-8", "half a character", "NaN", "deep", "many values", "large"],
)
def test_a_body_that_cannot_be_read_is_refused_in_a_sentence(place: Place, body: bytes, status: int) -> None:
    answer = place.post(body)
    assert (answer.status_code, bool(answer.json()["error"]["message"])) == (status, True), answer.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/chat/completions", 405), ("POST", "/v1/models", 405), ("POST", "/v1/chat/completion", 404)],
)
def test_another_method_or_path_is_told_what_there_is(place: Place, method: str, path: str, status: int) -> None:
    with place.http as http:
        answer = http.request(method, path, json={})
    assert answer.status_code == status
    assert status == 405 or "Did you mean /v1/chat/completions?" in answer.json()["error"]["message"]


def test_every_script_and_a_megabyte_go_through_unharmed(place: Place) -> None:
    said = "Grüße 👩‍👩‍👧 \u202eabc\u202c \x00 " + "ש" * 500_000
    model = place.character(lambda body: Turn(body["messages"][-1]["content"], size=4096))
    assert text(place.say(model, said)) == said


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_half_a_character_breaks_neither_the_answer_nor_the_next_turn(place: Place, streams: bool) -> None:
    """Of a model's words, of its thinking, of its arguments, and of what a tool gives back."""
    turn = Turn("Half: \ud83d.", thinking="\udc00", calls=[("echo", '{"text": "\\ud800 and more"}'), ("\ud83d", {})])
    model = place.model(turn, Turn("Whole."))
    answer = place.post({"model": model, "messages": USER, "stream": streams})
    assert (answer.status_code, "\\ud8" in answer.text, "gateway_failed" in answer.text) == (200, False, False)
    assert "Whole." in answer.text if not streams else answer.text.rstrip().endswith("[DONE]")
    first, second = place.asked_of(model)
    assert [message["role"] for message in second["messages"][len(first["messages"]) :]] == [
        "assistant",
        "tool",
        "tool",
    ]


def test_a_model_that_writes_a_book_for_a_name_fills_no_report(place: Place) -> None:
    model = place.model(Turn(calls=[("x" * 200_000, {"y": "z" * 200_000})]), Turn("Oh."))
    answer = place.post({"model": model, "messages": USER})
    assert (answer.status_code, len(answer.text) < 20_000) == (200, True)
    assert [ended for _, ended in calls(answer.json())] == ["unknown_tool"]


@pytest.mark.behaviour("chat.model_server_trouble")
@pytest.mark.parametrize(
    ("turn", "status", "code"),
    [
        (Raw(401, b'{"error": {"message": "bad key"}}'), 502, "model_server_key"),
        (Raw(404, b"{}"), 404, "model_not_found"),
        (Raw(429, b"{}", headers={"retry-after": "7"}), 503, "model_server_busy"),
        (Raw(302, b"", headers={"location": "/"}), 502, "model_server_away"),
        (Raw(400, b'{"error": {"message": "too long"}}'), 400, "model_server_refused"),
        (Raw(200, b"<html>"), 502, "model_server_garbled"),
        (Turn("half", cut=2), 502, "model_server_cut"),
    ],
    ids=["key", "no model", "busy", "sent on", "refused", "garbled", "cut"],
)
def test_a_model_server_that_fails_is_told_by_a_status_and_a_code(
    place: Place, turn: Turn | Raw, status: int, code: str
) -> None:
    answer = place.post({"model": place.model(turn), "messages": USER})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers.get("retry-after") == ("7" if status == 503 else None)
    assert "x-should-retry" not in answer.headers


@pytest.mark.behaviour("chat.models_listed")
def test_a_model_with_a_slash_in_its_name_is_found_as_clients_write_it(place: Place) -> None:
    model = place.model(Turn("hi"), name="house/model")
    assert place.client.models.retrieve(model).id == model
    with place.http as http:
        answer = http.get("/v1/models/none%2Fsuch")
    assert (answer.status_code, "'none/such'" in answer.json()["error"]["message"]) == (404, True)


@pytest.mark.behaviour("chat.client_tools")
def test_no_two_tools_have_one_name_whatever_the_client_brings(place: Place) -> None:
    """The board's own has another name where the client has its name, and where it has the next one too."""
    names = ["add", "everyday__add", "tool_search"]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    model = place.model(Turn("hi"))
    body = place.say(model, "Add two whole numbers", tools=tools)
    (asked,) = place.asked_of(model)
    told = [tool["function"]["name"] for tool in asked["tools"]]
    assert len({*told}) == len(told)
    assert [tool["name"] for tool in body["pegboard"]["tools"] if tool["tool"] is None] == names


@pytest.mark.behaviour("chat.no_key_told")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_key_that_the_model_server_quotes_reaches_no_client_and_no_audit(place: Place, streams: bool) -> None:
    quoted = f"Incorrect key Bearer {KEY}."
    error = json.dumps({"error": {"message": quoted}})
    event = f"data: {json.dumps({'choices': [{'delta': {'content': 'hm'}}]})}\n\ndata: {error}\n\n".encode()
    turns: list[Turn | Raw] = [Raw(status, error.encode()) for status in (302, 400, 401, 404, 429, 500, 503)]
    turns += [Raw(200, event, "text/event-stream"), Turn(quoted, calls=[("echo", {"text": KEY})]), Turn(quoted, KEY)]
    for turn in turns:
        answer = place.post({"model": place.model(turn, Turn("Done.")), "messages": USER, "stream": streams})
        assert (KEY in answer.text, "•••" in answer.text) == (False, True), answer.text
    assert KEY not in json.dumps(place.activity())


@pytest.mark.behaviour("chat.model_server_trouble")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_trouble_after_tools_have_run_says_so_and_asks_not_to_be_repeated(place: Place, streams: bool) -> None:
    model = place.model(Turn("One moment.", calls=[("add", {"a": 1, "b": 1})]), Turn("The su", cut=2))
    answer = place.post({"model": model, "messages": USER, "stream": streams})
    if streams:
        *_, last, done = [line for line in answer.text.split("\n") if line.startswith("data: ")]
        assert (answer.status_code, done) == (200, "data: [DONE]")
        body = json.loads(last.removeprefix("data: "))
    else:
        assert (answer.status_code, answer.headers["x-should-retry"]) == (502, "false")
        body = answer.json()
    assert body["error"]["message"].startswith("Tools have been called before that: see pegboard.calls.")
    assert calls(body) == [("add", "returned")]


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with opened(tmp_path_factory.mktemp("narrow"), chat={"limits": {"time": "2s"}}) as place:
        yield place


@pytest.mark.behaviour("chat.limits")
def test_an_answer_that_takes_too_long_ends_with_what_there_is(narrow: Place) -> None:
    body = narrow.say(narrow.model(Turn("never ending words", hold=threading.Event())))
    assert body["choices"][0]["finish_reason"] == "length"
    assert "never ending words".startswith(text(body))
    assert body["pegboard"]["stopped"]["limit"] == "time"


@pytest.mark.behaviour("chat.models_listed", "chat.no_key_told")
@pytest.mark.parametrize(("status", "code"), [(404, "no_model"), (400, "refused"), (401, "key")])
def test_a_list_that_the_only_server_does_not_give_is_no_fault_of_the_clients(
    place: Place, status: int, code: str
) -> None:
    place.models.listing = Raw(status, json.dumps({"error": {"message": f"no list for {KEY}"}}).encode())
    try:
        with place.http as http:
            answer = http.get("/v1/models")
    finally:
        place.models.listing = None
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, f"model_server_{code}")
    assert (KEY in answer.text, "•••" in answer.text) == (False, True)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with opened(tmp_path_factory.mktemp("single"), chat={"limits": {"concurrency": 1}}) as place:
        yield place


@pytest.mark.behaviour("chat.limits")
def test_more_requests_at_once_than_are_answered_are_told_to_come_again(single: Place) -> None:
    hold = threading.Event()
    model = single.model(Turn("never ending words", hold=hold))
    asked = {"model": model, "messages": USER, "stream": True}
    with single.http as http, http.stream("POST", "/v1/chat/completions", json=asked) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if "never" in line)
        second = single.post({"model": model, "messages": USER})
        hold.set()
    assert (second.status_code, second.json()["error"]["code"]) == (429, "too_many_at_once")


@pytest.mark.behaviour("chat.model_server_trouble")
def test_a_model_server_that_is_killed_midway_ends_the_stream_with_an_error(
    single: Place,
) -> None:
    model = single.model(Turn("never ending words", hold=threading.Event()))
    asked = {"model": model, "messages": USER, "stream": True}
    with single.http as http, http.stream("POST", "/v1/chat/completions", json=asked) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if "never" in line)
        single.models.end()
        rest = [line for line in lines if line.startswith("data: ")]
    assert json.loads(rest[-2].removeprefix("data: "))["error"]["code"] == "model_server_cut"
    gone = single.post({"model": model, "messages": USER})
    assert (gone.status_code, gone.json()["error"]["code"]) == (502, "model_server_away")
    listed = httpx2.get(f"{single.gateway.url}/v1/models")
    assert (listed.status_code, listed.json()["error"]["code"]) == (502, "model_server_away")
