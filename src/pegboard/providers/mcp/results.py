"""From the result of `tools/call` to an outcome."""

import json
from collections.abc import Callable, Mapping
from typing import Final, get_args

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    LOG_LEVEL_META_KEY,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
    Implementation,
    LoggingLevel,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard import __version__
from pegboard.core.calls.call import (
    Arguments,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    ToolCall,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.json.values import MAX_TEXT_DEPTH, Json, JsonObject, is_deeper_than
from pegboard.processes.output import one_line
from pegboard.providers.mcp.errors import (
    HTTP_STATUS_BASE,
    MAX_ERROR_TEXT,
    MAX_REASON_LENGTH,
    NOT_SENT,
    UNUSABLE_ANSWER,
    is_connection_closed,
)

_REJECTION_CODES: Final = frozenset({HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION})
"""Errors that a server answers with instead of running the tool. After any other it may have run, at least in part: a
tool's own code may well raise what the protocol has for a request that is wrong."""

_CLIENT_ERROR_CODES: Final = frozenset({MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED})
"""Errors that are meant for the client: its code and data tell it what to do before it calls again."""


MAX_ERROR_BYTES: Final = 65_536
"""Bytes of an error that is passed on whole; the data of a larger one, or of a deeper one, is left out."""

_RESUME_MEMBERS: Final = frozenset({"inputResponses", "requestState"})


def outcome_of_result(result: JsonObject, server: str) -> Outcome:
    """The result as it came. Only what a client could not read at all is taken for a failure."""
    kind = result.get("resultType", "complete")
    if kind == "input_required":
        return NeedsInput(_encode_json(result)) if _has_questions(result) else _not_a_result(server)
    content = result.get("content")
    if kind != "complete" or not isinstance(content, list) or not all(_is_content(block) for block in content):
        return _not_a_result(server)
    return (ToolFailure if result.get("isError") is True else ToolSuccess)(_encode_json(result))


def outcome_of_error(
    error: MCPError, server: str, lost: str | None, erase: Callable[[str], str], *, resumed: bool = False
) -> ProviderFailure | ProtocolErrorReply:
    """An error in place of a result: the server's own, or one that a transport put there.

    `resumed` says that the call went on where an earlier one had ended with questions: what is invalid then are the
    answers or the state that the client's own program put in, and no model can mend those.
    """
    code = error.code
    if code in _CLIENT_ERROR_CODES or (resumed and code == INVALID_PARAMS):
        told: JsonObject = {"code": code, "message": erase(error.message)}
        return ProtocolErrorReply(
            _encode_json(told if error.data is None else told | {"data": filter_secrets(error.data, erase)})
        )
    if is_connection_closed(error):
        why = one_line(erase(lost or "closed the connection"), MAX_REASON_LENGTH)
        return ProviderFailure(f"{server} {why} before it answered", may_have_run=True)
    message = one_line(erase(error.message.strip().rstrip(".")[:MAX_ERROR_TEXT]), MAX_REASON_LENGTH)
    if code == UNUSABLE_ANSWER:
        return ProviderFailure(f"{server} answered, but {message}", may_have_run=True)
    if code <= NOT_SENT:
        return ProviderFailure(
            f"{server} {message}", may_have_run=code != NOT_SENT and not _is_rejection(HTTP_STATUS_BASE - code)
        )
    why = (
        f"{server} answered with the error {code}: {message}" if message else f"{server} answered with the error {code}"
    )
    return ProviderFailure(why, code not in _REJECTION_CODES, _encode_error(error, erase))


def _encode_error(error: MCPError, erase: Callable[[str], str]) -> bytes:
    """With its data, as long as a client can be expected to take it."""
    told: JsonObject = {"code": error.code, "message": erase(error.message[:MAX_ERROR_TEXT])}
    if error.data is None:
        return _encode_json(told)
    try:
        whole = _encode_json(told | {"data": filter_secrets(error.data, erase)})
    except (RecursionError, ValueError, TypeError, OverflowError):
        return _encode_json(told)
    return whole if len(whole) <= MAX_ERROR_BYTES and not is_deeper_than(MAX_TEXT_DEPTH, whole) else _encode_json(told)


def is_resumption(call: ToolCall) -> bool:
    return not _RESUME_MEMBERS.isdisjoint(call.beside)


class UnsendableArgumentsError(Exception):
    """Arguments that no message can carry."""


def encode_arguments(arguments: Arguments) -> bytes:
    """As JSON on one line. Raises `UnsendableArgumentsError`."""
    try:
        # Not msgspec, which would send a number that is none as null.
        text = json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except UnicodeEncodeError:
        raise UnsendableArgumentsError("the arguments hold half a character, which no JSON text can carry") from None
    except (ValueError, RecursionError):
        raise UnsendableArgumentsError(
            "the arguments hold a number that is not finite, or are nested too deep"
        ) from None


def _is_rejection(status: int) -> bool:
    """A status that says the request was turned away. A timeout was not: the work may go on behind it."""
    return 300 <= status < 500 and status != 408


def _is_content(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def _has_questions(result: JsonObject) -> bool:
    """Whether it says what it asks for, or at least gives a state to come back with."""
    requests, state = result.get("inputRequests"), result.get("requestState")
    if not isinstance(state, str | None) or not isinstance(requests, dict | None) or (not requests and state is None):
        return False
    return all(isinstance(asked, dict) and isinstance(asked.get("method"), str) for asked in (requests or {}).values())


def _not_a_result(server: str) -> ProviderFailure:
    return ProviderFailure(f"{server} answered with something that is no tool result", may_have_run=True)


def filter_secrets(value: Json, erase: Callable[[str], str]) -> Json:
    """A server that repeats a credential of ours to clients that must not have it says it without."""
    match value:
        case str():
            return erase(value)
        case list():
            return [filter_secrets(member, erase) for member in value]
        case dict():
            return {erase(key): filter_secrets(member, erase) for key, member in value.items()}
        case _:
            return value


def _encode_json(result: JsonObject) -> bytes:
    try:
        return msgspec.json.encode(result)
    except UnicodeEncodeError:
        # Half a character cannot stand in UTF-8, but its escape can stand in JSON.
        return json.dumps(result, separators=(",", ":")).encode()


# What a request says beside the name and the arguments of a tool: what the client said, in the words of the era.

CLIENT_INFO: Final = Implementation(name="pegboard", version=__version__)

META_MEMBER: Final = "_meta"
_CONNECTION_META_KEYS: Final = frozenset(
    {
        "progressToken",
        PROTOCOL_VERSION_META_KEY,
        CLIENT_INFO_META_KEY,
        CLIENT_CAPABILITIES_META_KEY,
        LOG_LEVEL_META_KEY,
    }
)
"""Said between a client and us. To the server we say it anew, where its era has it."""

LOG_LEVELS: Final[tuple[str, ...]] = get_args(LoggingLevel)
"""Of log messages, from the least important on."""

_FORWARDED_CAPABILITIES: Final = ("elicitation", "sampling", "roots")
"""The capabilities that we can pass on: questions. Whatever else a client can do, it does not do through us."""


def extra_params(said: Mapping[str, bytes], version: str, can: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """The further members of the parameters, for a server of this version, on behalf of a client that can do that.

    A server of the handshake era has no use for answers and states, and reads other members than we mean.
    """
    modern = version in MODERN_PROTOCOL_VERSIONS
    members = {name: msgspec.json.decode(text) for name, text in said.items() if modern and name != META_MEMBER}
    meta = request_meta(said.get(META_MEMBER), version, can)
    return {**members, META_MEMBER: meta} if meta else members


def request_meta(said: bytes | None, version: str, can: Mapping[str, Json] | None = None) -> JsonObject:
    """What the client put there, and what the server's era wants to be told of who asks. May be empty."""
    told = _decode_object(said)
    meta: JsonObject = {name: value for name, value in told.items() if name not in _CONNECTION_META_KEYS}
    if version in MODERN_PROTOCOL_VERSIONS:
        meta[PROTOCOL_VERSION_META_KEY] = version
        meta[CLIENT_INFO_META_KEY] = {"name": CLIENT_INFO.name, "version": CLIENT_INFO.version}
        meta[CLIENT_CAPABILITIES_META_KEY] = forwarded_capabilities(can)
        if (level := _log_level_in(told)) is not None:
            meta[LOG_LEVEL_META_KEY] = level
    return meta


def forwarded_capabilities(can: Mapping[str, Json] | None) -> JsonObject:
    """Of what a client can do, what it can do through us."""
    return {name: can[name] for name in _FORWARDED_CAPABILITIES if name in can} if can else {}


def requested_log_level(said: bytes) -> str | None:
    """From which level on the client wants to hear a server's log messages."""
    return _log_level_in(_decode_object(said))


def _log_level_in(told: Mapping[str, Json]) -> str | None:
    level = told.get(LOG_LEVEL_META_KEY)
    return level if isinstance(level, str) and level in LOG_LEVELS else None


def _decode_object(said: bytes | None) -> JsonObject:
    told = None if said is None else msgspec.json.decode(said)
    return told if isinstance(told, dict) else {}
