"""A tool of the 2026-07-28 era for a client of the handshake era: what it needs is asked, then it is called again."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from uuid import uuid4

import anyio
import msgspec

from pegboard.core.call import Call, NeedsInput, ToolFailed
from pegboard.core.ids import CallId
from pegboard.core.question import ELICITATION, ROOTS, SAMPLING, unaskable
from pegboard.core.tool import Json, JsonObject
from pegboard.core.view import View
from pegboard.ports import CannotAsk, Peer, Progress

from .answer import Ended, error_result
from .wire import Unreadable, result_object, sound_object

MOST_ROUNDS: Final = 10
PATIENCE: Final = 600.0
"""Seconds for the answers of one round: it is a person who gives them."""
PAUSES: Final = (0.05, 0.1, 0.2, 0.25)
"""Seconds before a tool is called again that only asked for that; the last one for all further times."""
LONGEST_MESSAGE: Final = 300

RESPONSES: Final = "inputResponses"
STATE: Final = "requestState"

Carry: TypeAlias = Callable[[Call, View, Progress | None, Peer | None], Awaitable[Ended]]
"""One call from the gate to its end: `Caller.call`."""

_TITLES: Final = {
    ELICITATION: "an answer from the user",
    SAMPLING: "a text from the client's model",
    ROOTS: "the folders that the client works in",
}


@dataclass(frozen=True)
class _Asked:
    method: str
    params: JsonObject


@dataclass(frozen=True)
class _Needed:
    asked: Mapping[str, _Asked]
    state: str | None


async def carried(
    call: Call, view: View, carry: Carry, progress: Progress | None = None, peer: Peer | None = None
) -> Ended:
    """The call's end, after as many rounds as the tool needs."""
    return await answered(await carry(call, view, progress, peer), call, view, carry, progress, peer)


async def answered(
    ended: Ended, call: Call, view: View, carry: Carry, progress: Progress | None, peer: Peer | None
) -> Ended:
    """The same from the end of the first round on. Every round passes the gate and is recorded."""
    pauses = 0
    for _ in range(MOST_ROUNDS):
        if not isinstance(ended, NeedsInput):
            return ended
        needed = _needed(ended.body)
        if needed is None:
            return _failed(f"The call of {call.name!r} failed: its tool asked for something that cannot be read.")
        said = {name: text for name, text in call.beside.items() if name not in (RESPONSES, STATE)}
        if needed.asked:
            answers = await _answers(call, needed.asked, peer)
            if isinstance(answers, ToolFailed):
                return answers
            said[RESPONSES] = msgspec.json.encode(answers)
            pauses = 0
        else:
            await anyio.sleep(PAUSES[min(pauses, len(PAUSES) - 1)])
            pauses += 1
        if needed.state is not None:
            said[STATE] = msgspec.json.encode(needed.state)
        again = replace(call, id=CallId(uuid4().hex), parent=call.id, beside=said)
        ended = await carry(again, view, progress, peer)
    if not isinstance(ended, NeedsInput):
        return ended
    return _failed(f"The call of {call.name!r} was given up: its tool asked back more than {MOST_ROUNDS} times.")


async def _answers(call: Call, asked: Mapping[str, _Asked], peer: Peer | None) -> JsonObject | ToolFailed:
    """What the client says to each of the questions, or why the call cannot go on."""
    for question in asked.values():
        can = {} if peer is None else peer.can
        if (reason := unaskable(can, question.method, question.params)) is not None:
            return _stuck(call, question, reason.why)
    assert peer is not None
    answers: dict[str, Json] = {}
    refused: list[tuple[_Asked, str]] = []

    async def ask(key: str, question: _Asked) -> None:
        try:
            answers[key] = sound_object(dict(await peer.ask(question.method, question.params)))
        except CannotAsk as error:
            refused.append((question, f"The client answered with an error: {error.message} ({error.code})."))
            tasks.cancel_scope.cancel()

    with anyio.move_on_after(PATIENCE) as waiting:
        async with anyio.create_task_group() as tasks:
            for key, question in asked.items():
                tasks.start_soon(ask, key, question, name="question")
    if refused:
        return _stuck(call, *refused[0])
    if waiting.cancelled_caught:
        open_one = next(question for key, question in asked.items() if key not in answers)
        return _stuck(call, open_one, f"There was no answer within {PATIENCE:g} seconds.")
    return answers


def _needed(body: bytes) -> _Needed | None:
    result = result_object(body)
    if isinstance(result, Unreadable):
        return None
    requests, state = result.get("inputRequests") or {}, result.get(STATE)
    if not isinstance(requests, dict) or not isinstance(state, str | None) or (not requests and state is None):
        return None
    asked: dict[str, _Asked] = {}
    for key, request in requests.items():
        method = request.get("method") if isinstance(request, dict) else None
        params = request.get("params", {}) if isinstance(request, dict) else None
        if not isinstance(method, str) or not isinstance(params, dict):
            return None
        if method == ELICITATION and params.get("mode") == "url":
            # The handshake era cannot do without, and the later one has it no more.
            params = {"elicitationId": uuid4().hex, **params}
        asked[key] = _Asked(method, params)
    return _Needed(asked, state)


def _stuck(call: Call, question: _Asked, why: str) -> ToolFailed:
    what = _TITLES.get(question.method, f"an answer to {question.method[:128]!r}")
    message = question.params.get("message")
    told = f' ("{" ".join(message.split())[:LONGEST_MESSAGE]}")' if isinstance(message, str) else ""
    return _failed(f"The call of {call.name!r} cannot go on: its tool needs {what}{told}. {why}")


def _failed(text: str) -> ToolFailed:
    return ToolFailed(msgspec.json.encode(error_result(text)))
