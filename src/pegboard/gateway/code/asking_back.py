"""A call of a program whose tool asks its caller something first: the client is asked, and the call goes on."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import anyio

from pegboard.core.call import Call, NeedsInput, Outcome, Refusal
from pegboard.core.question import unaskable
from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.confirmation import CONTINUING
from pegboard.gateway.ticket_tool import fresh_call
from pegboard.ports import CannotAsk, Peer

MOST_ROUNDS: Final = 10
PAUSE: Final = 0.1
"""Seconds before a tool is called again that asked for nothing else."""

Ended: TypeAlias = Outcome | Refusal
Carry: TypeAlias = Callable[[Call], Awaitable[Ended]]


@dataclass(frozen=True)
class _Needed:
    asked: Mapping[str, tuple[str, JsonObject]]
    """Method and parameters of each question, by its key."""
    state: str | None


async def answered(ended: Ended, call: Call, carry: Carry, peer: Peer | None) -> Ended:
    """The call's end, after as many rounds as its tool needs. Where its client cannot be asked, it stays as it is."""
    for _ in range(MOST_ROUNDS):
        if not isinstance(ended, NeedsInput) or peer is None:
            return ended
        needed = _needed(ended.body)
        if needed is None or any(unaskable(peer.can, *question) is not None for question in needed.asked.values()):
            return ended
        said = {name: text for name, text in call.beside.items() if name not in CONTINUING}
        if needed.asked:
            try:
                answers = {key: dict(await peer.ask(*question)) for key, question in needed.asked.items()}
            except CannotAsk:
                return ended
            said["inputResponses"] = json.dumps(answers).encode()
        else:
            await anyio.sleep(PAUSE)
        if needed.state is not None:
            said["requestState"] = json.dumps(needed.state).encode()
        ended = await carry(replace(call, id=fresh_call(), beside=said))
    return ended


def _needed(body: bytes) -> _Needed | None:
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
    return _Needed(asked, state)
