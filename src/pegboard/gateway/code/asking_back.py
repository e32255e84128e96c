"""A call of a program whose tool asks its caller something first: the client is asked, and the call goes on."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import anyio

from pegboard.core.call import NeedsInput, Outcome, Refusal, ToolCall
from pegboard.core.question import refuse_question
from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.confirmation import CONTINUATION_FIELDS
from pegboard.gateway.ticket_tool import new_call_id
from pegboard.ports import ClientPeer, PeerRequestError

MAX_ROUNDS: Final = 10
RETRY_PAUSE_S: Final = 0.1
"""Seconds before a tool is called again that asked for nothing else."""

CallOutcome: TypeAlias = Outcome | Refusal
ExecuteCall: TypeAlias = Callable[[ToolCall], Awaitable[CallOutcome]]


@dataclass(frozen=True)
class _InputRound:
    questions: Mapping[str, tuple[str, JsonObject]]
    """Method and parameters of each question, by its key."""
    state: str | None


async def resolve_input_requests(
    ended: CallOutcome, call: ToolCall, carry: ExecuteCall, peer: ClientPeer | None
) -> CallOutcome:
    """The call's end, after as many rounds as its tool needs. Where its client cannot be asked, it stays as it is."""
    for _ in range(MAX_ROUNDS):
        if not isinstance(ended, NeedsInput) or peer is None:
            return ended
        needed = _parse_input_round(ended.body)
        if needed is None or any(
            refuse_question(peer.capabilities, *question) is not None for question in needed.questions.values()
        ):
            return ended
        said = {name: text for name, text in call.beside.items() if name not in CONTINUATION_FIELDS}
        if needed.questions:
            try:
                answers = {key: dict(await peer.request(*question)) for key, question in needed.questions.items()}
            except PeerRequestError:
                return ended
            said["inputResponses"] = json.dumps(answers).encode()
        else:
            await anyio.sleep(RETRY_PAUSE_S)
        if needed.state is not None:
            said["requestState"] = json.dumps(needed.state).encode()
        ended = await carry(replace(call, id=new_call_id(), beside=said))
    return ended


def _parse_input_round(body: bytes) -> _InputRound | None:
    """`None` for what cannot be read."""
    try:
        result: Json = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    requests, state = result.get("inputRequests") or {}, result.get("requestState")
    if not isinstance(requests, dict) or not isinstance(state, str | None) or (not requests and state is None):
        return None
    asked: dict[str, tuple[str, JsonObject]] = {}
    for key, request in requests.items():
        method, params = (request.get("method"), request.get("params", {})) if isinstance(request, dict) else (None, {})
        if not isinstance(method, str) or not isinstance(params, dict):
            return None
        asked[key] = method, params
    return _InputRound(asked, state)
