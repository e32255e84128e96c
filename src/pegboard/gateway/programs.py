"""A program of a caller whose surface takes programs by itself: admitted as the tool that runs them is, on the board or
not, and run."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from pegboard.core.call import Call, CallRecord, Outcome, Refusal, ToolFailed, ToolIsLocked
from pegboard.core.catalogue import Up
from pegboard.core.code import PYTHON_ID
from pegboard.core.launch import barring
from pegboard.core.resolve import Locked, verdict_on
from pegboard.core.view import View
from pegboard.ports import Peer, Progress
from pegboard.ports.sandbox import SandboxAway

if TYPE_CHECKING:
    from .gateway import Gateway

UNCONFIRMED = (
    "A person must confirm every program here, and can only be asked about a tool that hangs on the board. Ask the "
    "operator to write code: {listed: true} into pegboard.yaml."
)


async def program(
    gateway: "Gateway", call: Call, view: View, progress: Progress | None = None, peer: Peer | None = None
) -> Outcome | Refusal:
    """The call of `python_execution`. Where that hangs on the board it is a call like any other."""
    if PYTHON_ID in gateway.board.resolution(view).verdicts:
        return await gateway.caller.call(call, view, progress, peer)
    refused = refusal(gateway, view)
    if refused is None:
        return await gateway.code.run(call, view, progress, peer)
    gateway.audit.record(CallRecord(call, PYTHON_ID, refused, timedelta(), gateway.board.policy.decided.version))
    return refused


def refusal(gateway: "Gateway", view: View) -> Refusal | ToolFailed | None:
    """What keeps this caller from running programs where the tool does not hang on the board: the same rules."""
    tool = gateway.code.tool()
    if tool is None:
        return None
    if (barred := barring(view.filters, PYTHON_ID)) is not None:
        return _failed(f"No programs can be run here: {barred}.")
    verdict = verdict_on(tool, Up(gateway.clock()), gateway.board.policy)
    if isinstance(verdict, Locked):
        return ToolIsLocked(PYTHON_ID, verdict.reason)
    return _failed(UNCONFIRMED) if verdict.confirm else None


def dialect(gateway: "Gateway") -> str | None:
    """Which Python runs programs, in words for the model that writes them; `None` where none runs now."""
    means = gateway.code.means
    if means is None:
        return None
    try:
        return means.sandbox(gateway.board.policy.declared.code.python).dialect
    except SandboxAway:
        return None


def _failed(text: str) -> ToolFailed:
    return ToolFailed(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())
