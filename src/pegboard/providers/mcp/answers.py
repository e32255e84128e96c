"""From what a server answers to `tools/call` to an outcome."""

import json
from collections.abc import Callable
from typing import Final

import msgspec
from mcp import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
)

from pegboard.core.call import Arguments, Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.tool import JsonObject

from .lines import one_line
from .trouble import LONGEST_WHY, MOST_READ, NONSENSE, STATUS, UNSENT, closed

_REFUSALS: Final = frozenset(
    {
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        INVALID_PARAMS,
        HEADER_MISMATCH,
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        UNSUPPORTED_PROTOCOL_VERSION,
        URL_ELICITATION_REQUIRED,
    }
)
"""Errors that a server answers with instead of running the tool. After any other it may have run in part."""


def outcome(result: JsonObject, server: str) -> Outcome:
    """The result as it came. Only what a client could not read at all is taken for a failure."""
    kind = result.get("resultType", "complete")
    if kind == "input_required":
        return ProviderFailed(
            f"{server} asks for further input before it goes on, and that cannot be passed on yet", may_have_run=True
        )
    content = result.get("content")
    if kind != "complete" or not isinstance(content, list) or not all(_is_content(block) for block in content):
        return ProviderFailed(f"{server} answered with something that is no tool result", may_have_run=True)
    return (ToolFailed if result.get("isError") is True else Returned)(_text(result))


def failure(error: MCPError, server: str, lost: str | None, erase: Callable[[str], str]) -> ProviderFailed:
    """An error in place of a result: the server's own, or one that a transport put there."""
    code = error.code
    if closed(error):
        why = one_line(erase(lost or "closed the connection"), LONGEST_WHY)
        return ProviderFailed(f"{server} {why} before it answered", may_have_run=True)
    message = one_line(erase(error.message.strip().rstrip(".")[:MOST_READ]), LONGEST_WHY)
    if code == NONSENSE:
        return ProviderFailed(f"{server} answered, but {message}", may_have_run=True)
    if code <= UNSENT:
        return ProviderFailed(f"{server} {message}", may_have_run=code != UNSENT and not _refused(STATUS - code))
    return ProviderFailed(f"{server} refused the call: {message} (error {code})", may_have_run=code not in _REFUSALS)


def problem_with(arguments: Arguments) -> str | None:
    """What keeps these arguments from being sent: asked beforehand, because the SDK would drop the connection."""
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "the arguments hold half a character, which no JSON text can carry"
    except (ValueError, RecursionError):
        return "the arguments hold a number that is not finite, or are nested too deep"
    return None


def _refused(status: int) -> bool:
    """A status that says the request was turned away. A timeout was not: the work may go on behind it."""
    return 300 <= status < 500 and status != 408


def _is_content(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def _text(result: JsonObject) -> bytes:
    try:
        return msgspec.json.encode(result)
    except UnicodeEncodeError:
        # Half a character cannot stand in UTF-8, but its escape can stand in JSON.
        return json.dumps(result, separators=(",", ":")).encode()
