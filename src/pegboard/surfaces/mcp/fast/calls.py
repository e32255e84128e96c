"""`tools/call` in the fast path."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import Final, TypeAlias

from pegboard.core.calls.call import Arguments, ToolCall
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import CallId, WireName
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.memory import pause_garbage_collection
from pegboard.ports.providers import ClientPeer, PeerRequestError, Progress
from pegboard.surfaces.mcp.endpoint_state import EndpointState
from pegboard.surfaces.mcp.fast.messages import (
    NO_EXTRA_MEMBERS,
    UNREADABLE,
    CallParams,
    MetaCache,
    ParsedMeta,
    encode,
    encode_notification,
    encode_request,
    read_members,
    read_object,
)
from pegboard.surfaces.mcp.fast.request_context import ClientQuestions, McpSession, RequestContext
from pegboard.surfaces.mcp.fast.response import ResponseWriter
from pegboard.surfaces.mcp.input_rounds import STATE_KEY, continue_with_input
from pegboard.surfaces.mcp.protocol import LOG_LEVEL_META_KEY, METHOD_NOT_FOUND, REQUEST_TIMEOUT, X_MCP_HEADER_KEY
from pegboard.surfaces.mcp.results import CallOutcome
from pegboard.surfaces.mcp.session_state import (
    CANCELLED_METHOD,
    LOG_MESSAGE_METHOD,
    cancel_question,
    meets_level,
)
from pegboard.surfaces.mcp.wire import sanitize_object, sanitize_text

# Whoever made a call over HTTP, while it runs: told on the answer's own stream, and asked there.

ANSWER_TIMEOUT_S: Final = 600.0
"""Seconds. A question is mostly for a person."""


class HttpClientPeer:
    """`asking` is that of a session of the handshake era; without one nothing can be asked on the way."""

    __slots__ = ("_level", "_questions", "_writer", "capabilities", "connection_key")

    def __init__(
        self,
        reply: ResponseWriter,
        capabilities: Mapping[str, Json],
        connection_key: Hashable,
        asking: ClientQuestions | None,
        level: str | None = None,
    ) -> None:
        self._writer = reply
        self._questions = asking
        self._level = level
        self.capabilities = capabilities
        self.connection_key = connection_key

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        if method != LOG_MESSAGE_METHOD or meets_level(params, self._level):
            self._writer.send_event(
                encode_notification(method, sanitize_object(dict(params))), must=method == CANCELLED_METHOD
            )

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        if self._questions is None:
            raise PeerRequestError(METHOD_NOT_FOUND, "This client takes no questions while a call runs.")
        id, answer = self._questions.open()
        try:
            self._writer.send_event(encode_request(id, method, sanitize_object(dict(params))), must=True)
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await answer
        except asyncio.CancelledError:
            cancel_question(id, self if last is None else last())
            raise
        except TimeoutError:
            cancel_question(id, self if last is None else last())
            raise PeerRequestError(
                REQUEST_TIMEOUT, f"The client did not answer within {ANSWER_TIMEOUT_S:g} s."
            ) from None
        finally:
            self._questions.close(id)


def progress_notifier(reply: ResponseWriter, token: str | int) -> Progress:
    def tell(done: float, total: float | None, words: str | None) -> None:
        if not math.isfinite(done):
            return
        params: dict[str, Json] = {"progressToken": token, "progress": done}
        if total is not None and math.isfinite(total):
            params["total"] = total
        if words is not None:
            params["message"] = sanitize_text(words)
        reply.send_event(b'{"jsonrpc":"2.0","method":"notifications/progress","params":%b}' % encode(params))

    return tell


NAME_HEADER: Final = b"mcp-name"
NO_CAPABILITIES: Final[Mapping[str, Json]] = {}
ENCODED_PREFIX: Final = "=?"
"""How a value begins that no header could hold as it is."""
_HEADER_KEY: Final = encode(X_MCP_HEADER_KEY)


DecodedArguments: TypeAlias = tuple[dict[str, Json], bytes]
"""Arguments, and the same as they are sent on: what was judged is what is sent."""


def decode_large_arguments(raw: bytes) -> DecodedArguments:
    """The same, for a thread."""
    with pause_garbage_collection():
        return decode_arguments(raw)


def decode_arguments(raw: bytes) -> DecodedArguments:
    """Raises what is in `UNREADABLE`."""
    arguments: dict[str, Json] = {} if raw == b"null" else read_object(raw)
    return arguments, encode(arguments)


@dataclass(slots=True, eq=False)
class ParsedRequest:
    """One request, as far as the road has read it."""

    context: RequestContext
    session: McpSession | None
    headers: Mapping[bytes, bytes]
    header_tool_name: str
    """The tool that they name, as it stands there."""


@dataclass(slots=True, eq=False)
class PreparedCall:
    call: ToolCall
    meta: ParsedMeta
    capabilities: Mapping[str, Json]
    log_level: str | None
    """That the session had set when it asked, if it is one and had."""


class FastPathCalls:
    def __init__(self, calls: ToolCalls, state: EndpointState, metas: MetaCache) -> None:
        self._calls = calls
        self._state = state
        self._direct = state.direct
        self._metas = metas
        self._id_prefix = token_hex(8)
        self._numbers = count(1)

    def prepare(
        self,
        asked: ParsedRequest,
        told: CallParams,
        beside: Mapping[str, bytes] = NO_EXTRA_MEMBERS,
        decoded: "DecodedArguments | None" = None,
    ) -> PreparedCall | None:
        """The call that was asked for; `None` when it is not plainly one. Raises `MetaTooLargeError`."""
        try:
            meta = self._metas.parse(told.meta)
            arguments, text = decode_arguments(bytes(told.arguments)) if decoded is None else decoded
        except UNREADABLE:
            return None
        if meta is None or (asked.context.modern and not self._matches_headers(asked, told.name, meta, arguments)):
            return None
        session = asked.session
        level = None if session is None else self._state.log_levels.get(session.id)
        if level is not None:
            beside = {**beside, "_meta": _meta_with_log_level(meta.text, level)}
        elif meta.text:
            beside = meta.extra_members if beside is NO_EXTRA_MEMBERS else {**beside, "_meta": meta.text}
        call = ToolCall(
            id=CallId(f"{self._id_prefix}{next(self._numbers):016x}"),
            name=WireName(told.name),
            arguments=arguments,
            principal=asked.context.view.principal,
            at=self._calls.clock(),
            raw=text,
            client=meta.client_name if session is None else session.client_name,
            beside=beside,
            headers=asked.headers,
        )
        can = session.capabilities if session is not None else meta.meta.capabilities or NO_CAPABILITIES
        return PreparedCall(call, meta, can, level)

    def execute(self, ready: PreparedCall, asked: ParsedRequest, reply: ResponseWriter) -> Awaitable[CallOutcome]:
        """A client of the handshake era may get an end that needs its answers first: see `answered`."""
        progress, client = self._client_channel(ready, asked, reply)
        if asked.session is not None or (not ready.capabilities and STATE_KEY not in ready.call.beside):
            return self._calls.call(ready.call, asked.context.view, progress, client)
        assert self._state.pending_calls is not None, "The endpoint serves only while it runs."
        return self._state.pending_calls.call(ready.call, asked.context.view, progress, client)

    def resume_with_answers(
        self, ended: CallOutcome, ready: PreparedCall, asked: ParsedRequest, reply: ResponseWriter
    ) -> Awaitable[CallOutcome]:
        """The end of a call after its client has answered what it needed."""
        progress, client = self._client_channel(ready, asked, reply)
        return continue_with_input(ended, ready.call, asked.context.view, self._calls.call, progress, client)

    def _client_channel(
        self, ready: PreparedCall, asked: ParsedRequest, reply: ResponseWriter
    ) -> tuple[Progress | None, HttpClientPeer]:
        """The ways back to the client while the call runs."""
        session, token = asked.session, ready.meta.meta.token
        progress = None if token is None else progress_notifier(reply, token)
        if session is not None:
            return progress, HttpClientPeer(reply, ready.capabilities, session, session.questions, ready.log_level)
        return progress, HttpClientPeer(reply, ready.capabilities, ready.call.id, None, ready.meta.log_level)

    def _matches_headers(self, asked: ParsedRequest, name: str, meta: ParsedMeta, arguments: Arguments) -> bool:
        """Whether the headers of the 2026-07-28 era say what the body says. If not, the long road tells how not."""
        told = meta.meta
        if told.version != asked.context.version or told.capabilities is None:
            return False
        if asked.header_tool_name != name and not _is_encoded(asked.header_tool_name, name):
            return False
        profile = asked.context
        plain = profile.has_no_param_headers.get(name)
        if plain:
            return True
        schema = self._direct.input_schema(profile.view, name)
        if schema is None:
            return True
        if plain is None:
            plain = profile.has_no_param_headers[name] = _HEADER_KEY not in encode(schema)
        return plain or _repeats_arguments(schema, arguments, asked.headers)


def _is_encoded(header: str, name: str) -> bool:
    if not header.startswith(ENCODED_PREFIX):
        return False
    # Few names need it, and the SDK takes long to load.
    from mcp.shared.inbound import decode_header_value

    return decode_header_value(header) == name


def _repeats_arguments(schema: JsonObject, arguments: Arguments, headers: Mapping[bytes, bytes]) -> bool:
    """Whether headers repeat those arguments that the schema wants repeated. Few schemas do."""
    from mcp.shared.inbound import validate_mcp_param_headers

    given = {key.decode("latin-1"): value.decode("latin-1") for key, value in headers.items()}
    return validate_mcp_param_headers(schema, arguments, given) is None


def tool_named_in_headers(headers: Mapping[bytes, bytes]) -> str:
    """The tool that the headers of a request of the 2026-07-28 era name."""
    return headers.get(NAME_HEADER, b"").strip(b" \t").decode("latin-1")


def _meta_with_log_level(meta: bytes, level: str) -> bytes:
    """The level that a session of the handshake era set, told as later eras tell it."""
    return encode({**read_members(meta or b"{}"), LOG_LEVEL_META_KEY: level})
