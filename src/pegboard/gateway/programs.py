"""A program of a caller whose surface takes programs by itself: admitted as `python_execution` is, on the board or not,
and run."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from pegboard.core.call import (
    Admitted,
    Arguments,
    Call,
    CallRecord,
    Cancelled,
    Confirmed,
    Outcome,
    Refusal,
    ToolFailed,
    admit,
)
from pegboard.core.code import PYTHON_ID
from pegboard.core.passage import FilteredAway
from pegboard.core.removal import removal_clause
from pegboard.core.resolve import Absent, Open, Verdict, alone
from pegboard.core.tool import Tool
from pegboard.core.view import View
from pegboard.ports import Peer, Progress

from .builtin_verdicts import verdict_on_builtin

if TYPE_CHECKING:
    from .gateway import Gateway

_UNENDED = Cancelled()


async def program(
    gateway: "Gateway",
    call: Call,
    view: View,
    progress: Progress | None = None,
    peer: Peer | None = None,
    confirmed: Confirmed | None = None,
) -> Outcome | Refusal:
    """The call of `python_execution`. Where that is on the board it is a call like any other."""
    resolution = gateway.board.resolution(view)
    if PYTHON_ID in resolution.names:
        # By whatever name it came: it means this tool and no other.
        call = replace(call, name=resolution.names[PYTHON_ID])
        return await gateway.caller.call(call, view, progress, peer, confirmed)
    asked = _admitted(gateway, call, view)
    if isinstance(asked, Admitted) and asked.lacks(confirmed):
        yes = await gateway.caller.confirmation.answer(asked, peer)
        if isinstance(yes, Confirmed):
            return await _confirmed(gateway, asked, view, progress, peer, yes)
        asked = yes
    if asked is None or isinstance(asked, Admitted):
        return await gateway.code.run(call, view, progress, peer)
    gateway.audit.record(CallRecord(call, PYTHON_ID, asked, timedelta(), gateway.board.policy.decided.version))
    return asked


async def _confirmed(
    gateway: "Gateway",
    asked: Admitted,
    view: View,
    progress: Progress | None,
    peer: Peer | None,
    yes: Confirmed,
) -> Outcome | Refusal:
    """Decided again from the top: much may have changed while a person thought."""
    ended: Outcome | Refusal = _UNENDED
    try:
        ended = await program(gateway, asked.call, view, progress, peer, yes)
    finally:
        await gateway.caller.confirmation.settle(asked, yes, ended)
    return ended


def _admitted(gateway: "Gateway", call: Call, view: View) -> Admitted | Refusal | ToolFailed | None:
    """`None` where there is no tool to decide about: whoever runs programs says so."""
    verdict = verdict_on_programs(gateway, view)
    if verdict is None:
        return None
    if isinstance(verdict, Absent):
        return _failed(verdict)
    # Nobody is asked about what cannot run. Otherwise whoever runs the program reads its arguments.
    validate = gateway.caller.validators.of(call) if isinstance(verdict, Open) and verdict.confirm else _unread
    return admit(call, alone(verdict, call.name, gateway.board.policy, view), validate)


def _unread(_tool: Tool, _arguments: Arguments) -> tuple[str, ...]:
    return ()


def must_be_confirmed(gateway: "Gateway", view: View) -> bool:
    """Whether a person is asked about each program of this caller."""
    verdict = verdict_on_programs(gateway, view)
    return isinstance(verdict, Open) and verdict.confirm


def verdict_on_programs(gateway: "Gateway", view: View) -> Verdict | None:
    """On the tool that runs programs, on the board or not; `None` where this gateway runs none."""
    tool = gateway.code.tool()
    if tool is None:
        return None
    verdict = verdict_on_builtin(gateway.board, gateway.clock(), tool, view)
    # What overrides make of its parameters is for callers who are shown the tool itself.
    return replace(verdict, shape=None) if isinstance(verdict, Open) else verdict


def _failed(absent: Absent) -> ToolFailed:
    removed = absent.removed
    why = str(removed.why) if isinstance(removed, FilteredAway) else removal_clause(removed)
    text = f"No programs can be run here: {why}."
    return ToolFailed(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())
