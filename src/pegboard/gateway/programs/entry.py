"""Runs a program for surfaces that accept programs directly; admitted like `python_execution`."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from pegboard.core.calls.call import (
    AdmittedCall,
    Arguments,
    CallCancellation,
    CallConfirmation,
    CallRecord,
    Outcome,
    Refusal,
    ToolCall,
    ToolFailure,
    admit,
)
from pegboard.core.decision.resolve import HiddenTool, OpenTool, Verdict, resolve_single
from pegboard.core.decision.visibility import HiddenByLaunchFilter, explain_hidden_clause
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.model.tool import Tool
from pegboard.gateway.builtins import verdict_on_builtin
from pegboard.ports.providers import ClientPeer, Progress

if TYPE_CHECKING:
    from pegboard.gateway.gateway import Gateway


_CANCELLED = CallCancellation()


async def execute_program(
    gateway: "Gateway",
    call: ToolCall,
    view: View,
    progress: Progress | None = None,
    peer: ClientPeer | None = None,
    confirmed: CallConfirmation | None = None,
) -> Outcome | Refusal:
    """The call of `python_execution`. Where that is on the board it is a call like any other."""
    resolution = gateway.board.resolution(view)
    if PYTHON_ID in resolution.names:
        # By whatever name it came: it means this tool and no other.
        call = replace(call, name=resolution.names[PYTHON_ID])
        return await gateway.caller.call(call, view, progress, peer, confirmed)
    asked = _admit_program(gateway, call, view)
    if isinstance(asked, AdmittedCall) and asked.lacks_confirmation(confirmed):
        yes = await gateway.caller.confirmation.confirm(asked, peer)
        if isinstance(yes, CallConfirmation):
            return await _run_after_confirmation(gateway, asked, view, progress, peer, yes)
        asked = yes
    if asked is None or isinstance(asked, AdmittedCall):
        return await gateway.code_mode.run(call, view, progress, peer)
    gateway.audit.record(CallRecord(call, PYTHON_ID, asked, timedelta(), gateway.board.policy.decisions.version))
    return asked


async def _run_after_confirmation(
    gateway: "Gateway",
    asked: AdmittedCall,
    view: View,
    progress: Progress | None,
    peer: ClientPeer | None,
    yes: CallConfirmation,
) -> Outcome | Refusal:
    """Decided again from the top: much may have changed while a person thought."""
    ended: Outcome | Refusal = _CANCELLED
    try:
        ended = await execute_program(gateway, asked.call, view, progress, peer, yes)
    finally:
        await gateway.caller.confirmation.finish(asked, yes, ended)
    return ended


def _admit_program(gateway: "Gateway", call: ToolCall, view: View) -> AdmittedCall | Refusal | ToolFailure | None:
    """`None` where there is no tool to decide about: whoever runs programs says so."""
    verdict = verdict_on_programs(gateway, view)
    if verdict is None:
        return None
    if isinstance(verdict, HiddenTool):
        return _absence_failure(verdict)
    # Nobody is asked about what cannot run. Otherwise whoever runs the program reads its arguments.
    validate = (
        gateway.caller.validators.for_call(call)
        if isinstance(verdict, OpenTool) and verdict.confirm
        else _skip_validation
    )
    return admit(call, resolve_single(verdict, call.name, gateway.board.policy, view), validate)


def _skip_validation(_tool: Tool, _arguments: Arguments) -> tuple[str, ...]:
    return ()


def needs_confirmation(gateway: "Gateway", view: View) -> bool:
    """Whether a person is asked about each program of this caller."""
    verdict = verdict_on_programs(gateway, view)
    return isinstance(verdict, OpenTool) and verdict.confirm


def verdict_on_programs(gateway: "Gateway", view: View) -> Verdict | None:
    """On the tool that runs programs, on the board or not; `None` where this gateway runs none."""
    tool = gateway.code_mode.tool()
    if tool is None:
        return None
    verdict = verdict_on_builtin(gateway.board, gateway.clock(), tool, view)
    # What overrides make of its parameters is for callers who are shown the tool itself.
    return replace(verdict, overridden_tool=None) if isinstance(verdict, OpenTool) else verdict


def _absence_failure(absent: HiddenTool) -> ToolFailure:
    removed = absent.reason
    why = str(removed.block) if isinstance(removed, HiddenByLaunchFilter) else explain_hidden_clause(removed)
    text = f"No programs can be run here: {why}."
    return ToolFailure(json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode())
