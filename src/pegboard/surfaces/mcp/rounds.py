"""A tool of the 2026-07-28 era for a client of the handshake era: what it needs is asked, then it is called again."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from uuid import uuid4

import anyio
import msgspec

from pegboard.core.call import NeedsInput, ToolCall, ToolFailure
from pegboard.core.ids import CallId
from pegboard.core.question import ELICITATION, ROOTS, SAMPLING, refuse_question
from pegboard.core.tool import Json, JsonObject
from pegboard.core.view import View
from pegboard.ports import ClientPeer, PeerRequestError, Progress

from .answer import CallOutcome, error_result
from .wire import UnreadableJson, parse_result, sanitize_object

MAX_ROUNDS: Final = 10
ANSWER_TIMEOUT_S: Final = 600.0
"""Seconds for the answers of one round: it is a person who gives them."""
RETRY_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.25)
"""Seconds before a tool is called again that only asked for that; the last one for all further times."""
MAX_MESSAGE_CHARS: Final = 300

RESPONSES_KEY: Final = "inputResponses"
STATE_KEY: Final = "requestState"

ExecuteCall: TypeAlias = Callable[[ToolCall, View, Progress | None, ClientPeer | None], Awaitable[CallOutcome]]
"""One call from the gate to its end: `Caller.call`."""

_TITLES: Final = {
    ELICITATION: "an answer from the user",
    SAMPLING: "a text from the client's model",
    ROOTS: "the folders that the client works in",
}


@dataclass(frozen=True)
class _InputRequest:
    method: str
    params: JsonObject


@dataclass(frozen=True)
class _RequiredInput:
    requests: Mapping[str, _InputRequest]
    state: str | None


async def call_with_input_rounds(
    call: ToolCall, view: View, carry: ExecuteCall, progress: Progress | None = None, peer: ClientPeer | None = None
) -> CallOutcome:
    """The call's end, after as many rounds as the tool needs."""
    return await continue_with_input(await carry(call, view, progress, peer), call, view, carry, progress, peer)


async def continue_with_input(
    ended: CallOutcome,
    call: ToolCall,
    view: View,
    carry: ExecuteCall,
    progress: Progress | None,
    peer: ClientPeer | None,
) -> CallOutcome:
    """The same from the end of the first round on. Every round passes the gate and is recorded."""
    pauses = 0
    for _ in range(MAX_ROUNDS):
        if not isinstance(ended, NeedsInput):
            return ended
        needed = _parse_required_input(ended.body)
        if needed is None:
            return _tool_failure(f"The call of {call.name!r} failed: its tool asked for something that cannot be read.")
        said = {name: text for name, text in call.beside.items() if name not in (RESPONSES_KEY, STATE_KEY)}
        if needed.requests:
            answers = await _collect_answers(call, needed.requests, peer)
            if isinstance(answers, ToolFailure):
                return answers
            said[RESPONSES_KEY] = msgspec.json.encode(answers)
            pauses = 0
        else:
            await anyio.sleep(RETRY_PAUSES_S[min(pauses, len(RETRY_PAUSES_S) - 1)])
            pauses += 1
        if needed.state is not None:
            said[STATE_KEY] = msgspec.json.encode(needed.state)
        again = replace(call, id=CallId(uuid4().hex), parent=call.id, beside=said)
        ended = await carry(again, view, progress, peer)
    if not isinstance(ended, NeedsInput):
        return ended
    return _tool_failure(f"The call of {call.name!r} was given up: its tool asked back more than {MAX_ROUNDS} times.")


async def _collect_answers(
    call: ToolCall, asked: Mapping[str, _InputRequest], peer: ClientPeer | None
) -> JsonObject | ToolFailure:
    """What the client says to each of the questions, or why the call cannot go on."""
    for question in asked.values():
        can = {} if peer is None else peer.capabilities
        if (reason := refuse_question(can, question.method, question.params)) is not None:
            return _cannot_continue(call, question, reason.why)
    assert peer is not None
    answers: dict[str, Json] = {}
    refused: list[tuple[_InputRequest, str]] = []

    async def ask(key: str, question: _InputRequest) -> None:
        try:
            answers[key] = sanitize_object(dict(await peer.request(question.method, question.params)))
        except PeerRequestError as error:
            refused.append((question, f"The client answered with an error: {error.message} ({error.code})."))
            tasks.cancel_scope.cancel()

    with anyio.move_on_after(ANSWER_TIMEOUT_S) as waiting:
        async with anyio.create_task_group() as tasks:
            for key, question in asked.items():
                tasks.start_soon(ask, key, question, name="question")
    if refused:
        return _cannot_continue(call, *refused[0])
    if waiting.cancelled_caught:
        open_one = next(question for key, question in asked.items() if key not in answers)
        return _cannot_continue(call, open_one, f"There was no answer within {ANSWER_TIMEOUT_S:g} seconds.")
    return answers


def _parse_required_input(body: bytes) -> _RequiredInput | None:
    result = parse_result(body)
    if isinstance(result, UnreadableJson):
        return None
    requests, state = result.get("inputRequests") or {}, result.get(STATE_KEY)
    if not isinstance(requests, dict) or not isinstance(state, str | None) or (not requests and state is None):
        return None
    asked: dict[str, _InputRequest] = {}
    for key, request in requests.items():
        method = request.get("method") if isinstance(request, dict) else None
        params = request.get("params", {}) if isinstance(request, dict) else None
        if not isinstance(method, str) or not isinstance(params, dict):
            return None
        if method == ELICITATION and params.get("mode") == "url":
            # The handshake era cannot do without, and the later one has it no more.
            params = {"elicitationId": uuid4().hex, **params}
        asked[key] = _InputRequest(method, params)
    return _RequiredInput(asked, state)


def _cannot_continue(call: ToolCall, question: _InputRequest, why: str) -> ToolFailure:
    what = _TITLES.get(question.method, f"an answer to {question.method[:128]!r}")
    message = question.params.get("message")
    told = f' ("{" ".join(message.split())[:MAX_MESSAGE_CHARS]}")' if isinstance(message, str) else ""
    return _tool_failure(f"The call of {call.name!r} cannot go on: its tool needs {what}{told}. {why}")


def _tool_failure(text: str) -> ToolFailure:
    return ToolFailure(msgspec.json.encode(error_result(text)))
