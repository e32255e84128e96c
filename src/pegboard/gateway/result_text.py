"""The outcome of a call as text for a model."""

import json
from typing import assert_never

from pegboard.core.calls.call import (
    BadArguments,
    CallCancellation,
    ConfirmationRefusal,
    LockedToolRefusal,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    Refusal,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    refusal_text,
)
from pegboard.core.decision.status import status_of
from pegboard.prompts.stubs.values import describe_part


def describe_outcome(ended: Outcome | Refusal, name: str, search: str | None) -> str:
    """`search` is the tool by which the model finds others, where it has one."""
    match ended:
        case ToolSuccess(body) | ToolFailure(body):
            return _result(body)
        case NeedsInput() | ProtocolErrorReply():
            return (
                f"{name!r} asks something of the user before it goes on, and that cannot be answered in this chat. It "
                "did not finish. Tell the user."
            )
        case ProviderFailure(why, may_have_run):
            what = f"The call of {name!r} failed: {why.strip().rstrip('.')}."
            if may_have_run:
                return f"{what} It may have run all the same: check what it did before you call it again."
            return f"{what} It did not run, so you can call it again."
        case CallCancellation():
            return f"The call of {name!r} was given up before there was an answer."
        case UnknownTool():
            return refusal_text(ended, search)
        case BadArguments() | LockedToolRefusal() | ConfirmationRefusal():
            return refusal_text(ended)
        case _:
            assert_never(ended)


def program_output(ended: Outcome | Refusal) -> str | None:
    """Of a program: what it printed, the value of its last line, and what ended it. `None` for any other answer."""
    if not isinstance(ended, ToolSuccess | ToolFailure):
        return None
    try:
        said = json.loads(ended.body).get("structuredContent")
    except (ValueError, RecursionError, AttributeError):
        return None
    if not isinstance(said, dict):
        return None
    parts = [str(said.get("stdout", "")).rstrip("\n")]
    if said.get("truncated"):
        parts.append("[what it printed after that is cut off]")
    if (result := said.get("result")) is not None:
        parts.append(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))
    if isinstance(error := said.get("error"), dict):
        where = "" if error.get("line") is None else f" in line {error['line']}"
        parts.append(f"{error.get('type')}{where}: {error.get('message')}")
    parts.append(str(said.get("note", "")))
    return "\n".join(filter(None, parts)) or NOTHING_PRINTED


NOTHING_PRINTED = "The program ran to its end. It printed nothing, and its last line has no value."


def outcome_word(ended: Outcome | Refusal) -> str:
    """By the words of the API for calls."""
    match ended:
        case ToolSuccess():
            return "returned"
        case ToolFailure():
            return "tool_failed"
        case NeedsInput():
            return "needs_input"
        case ProtocolErrorReply():
            return "demanded"
        case ProviderFailure():
            return "provider_failed"
        case CallCancellation():
            return "cancelled"
        case UnknownTool():
            return "unknown_tool"
        case BadArguments():
            return "bad_arguments"
        case ConfirmationRefusal(_, how):
            return how.value
        case LockedToolRefusal(_, reason):
            return status_of(reason).value
        case _:
            assert_never(ended)


def _result(body: bytes) -> str:
    try:
        result = json.loads(body)
    except (ValueError, RecursionError):
        return "The tool's answer cannot be read."
    if not isinstance(result, dict):
        return "The tool's answer cannot be read."
    content = result.get("content")
    parts = [describe_part(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    if parts:
        return "\n".join(parts)
    structured = result.get("structuredContent")
    return "" if structured is None else json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
