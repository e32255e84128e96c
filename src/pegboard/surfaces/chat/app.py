"""The chat API as an ASGI application: /v1/models and /v1/chat/completions."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import uuid4

import anyio
from anyio import to_thread

from pegboard.core.calls.call import claimed_client
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.gateway.chat.calls import AccessRevokedError
from pegboard.gateway.chat.chat import Chat, ChatBusy
from pegboard.gateway.chat.conversation import ChatAnswer, ChatEvent, EventCallback
from pegboard.gateway.chat.plans import NoRequiredTool
from pegboard.gateway.chat.report import ChatReport
from pegboard.gateway.chat.request import ChatCaller, ChatInput, NoModel
from pegboard.ports.models import ModelServerError
from pegboard.surfaces.chat.request import ParsedChatRequest, parse_chat_request
from pegboard.surfaces.chat.response import (
    NO_RETRY,
    ChatRejection,
    ChatStream,
    ClientGoneError,
    CompletionEnvelope,
    bad_request,
    model_error_rejection,
    models_unavailable,
    send_json,
)

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


# Who may chat, and how much they may send: asked of whoever keeps the door of the other endpoints.

HeaderPairs: TypeAlias = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class ChatAccess:
    """By the same tokens, rules and counts of failures as everywhere else over HTTP."""

    principal_of: Callable[[bytes | None, str], PrincipalId | ChatRejection]
    """The caller with this Authorization header, from this address."""
    view_of: Callable[[HeaderPairs, bytes, PrincipalId], View | ChatRejection]
    """How far headers and query narrow what it sees."""
    unknown_names: Callable[[View], str | None]
    """What the narrowing names in vain."""
    forwardable_headers: Callable[[Iterable[tuple[bytes, bytes]]], Mapping[bytes, bytes]]
    """What calls may carry on in the caller's name."""
    duplicate_credential_header: Callable[[HeaderPairs], bytes | None]
    announce_caller: Callable[[Mapping[bytes, bytes]], bool]
    """A caller is here. Whether a server goes and lists its tools now."""
    client_address: Callable[[str, HeaderPairs], str] = lambda peer, headers: peer
    """The address that a request comes from, by the peer's and by what proxies wrote down."""
    max_body_bytes: int = 10 * 1024 * 1024
    max_values: int = 1_000_000
    client_timeout_s: float = 60.0
    """Seconds for a client that neither sends the rest of its request nor reads its answer."""
    startup_wait_s: float = 3.0
    single_headers: frozenset[bytes] = field(default=frozenset({b"authorization", b"content-length", b"content-type"}))


# The body of a request: read whole, or refused before it is.

JSON_TYPE: Final = "application/json"
MAX_DISCARDED_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a body that is too large which are read all the same, so that its client hears why."""
_CLOSE_HEADERS: Final = ((b"connection", b"close"),)


async def read_body(
    receive: "Receive", headers: Mapping[bytes, bytes], gate: ChatAccess
) -> bytes | ChatRejection | None:
    """`None` when the client left before it had sent all of it."""
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind != JSON_TYPE:
        return ChatRejection(415, f"Content-Type is {kind[:100]!r}. Send {JSON_TYPE}.", headers=_CLOSE_HEADERS)
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        return ChatRejection(415, "Compressed requests are not taken. Send the body as it is.", headers=_CLOSE_HEADERS)
    parts: list[bytes] = []
    size, more = 0, True
    with anyio.move_on_after(gate.client_timeout_s) as waiting:
        while more and size <= MAX_DISCARDED_BYTES:
            message = await receive()
            if message["type"] != "http.request":
                return None
            more = message.get("more_body", False)
            part: bytes = message.get("body", b"")
            size += len(part)
            if size <= gate.max_body_bytes:
                parts.append(part)
            else:
                parts.clear()
    if waiting.cancelled_caught:
        return ChatRejection(
            408, f"No body within {gate.client_timeout_s:g} seconds. Send the request again.", headers=_CLOSE_HEADERS
        )
    if size > gate.max_body_bytes:
        told = f"The body is larger than {gate.max_body_bytes} bytes. Send less at once."
        return ChatRejection(413, told, headers=_CLOSE_HEADERS if more else ())
    return b"".join(parts)


MODELS: Final = "/v1/models"
COMPLETIONS: Final = "/v1/chat/completions"
OFF_LOOP_BYTES: Final = 65_536
"""Bytes of a body from which on it is read beside the event loop."""
_ENCODED_SLASH: Final = re.compile("%2f", re.IGNORECASE)
"""As clients write one that belongs to a model's name."""
log = logging.getLogger(__name__)
_INTERNAL_FAILURE: Final = ChatRejection(
    500, "The gateway failed to answer; its log says why.", code="gateway_failed", headers=NO_RETRY
)
_TOKEN_REVOKED: Final = ChatRejection(401, "Your token is not one that this gateway knows any more.", headers=NO_RETRY)


class ChatApp:
    def __init__(self, chat: Chat, gate: ChatAccess) -> None:
        self._chat = chat
        self._access = gate

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path: str = scope.get("path", "").rstrip("/")
        try:
            with anyio.CancelScope() as here:
                await self._serve(path, scope, receive, self._with_write_timeout(send), here)
        except* ClientGoneError:
            pass

    async def _serve(
        self, path: str, scope: "Scope", receive: "Receive", send: "Send", here: anyio.CancelScope
    ) -> None:
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        let_in = self._authorize(scope, headers)
        if isinstance(let_in, ChatRejection):
            return await _send_rejection(send, let_in)
        if path == MODELS or path.startswith(f"{MODELS}/"):
            if scope["method"] not in ("GET", "HEAD"):
                return await _send_rejection(send, _method_rejection("GET"))
            return await self._send_models(send, _ENCODED_SLASH.sub("/", path.removeprefix(MODELS).removeprefix("/")))
        if path != COMPLETIONS:
            near = closest_names(path, (MODELS, COMPLETIONS))
            told = f"Did you mean {near[0]}?" if near else f"There are {MODELS} and {COMPLETIONS}."
            return await _send_rejection(send, ChatRejection(404, f"Nothing is at {path[:200]!r}. {told}"))
        if scope["method"] != "POST":
            return await _send_rejection(send, _method_rejection("POST"))
        body = await read_body(receive, dict(headers), self._access)
        if body is None:
            return None
        asked = body if isinstance(body, ChatRejection) else await self._parse_request(body)
        if isinstance(asked, ChatRejection):
            return await _send_rejection(send, asked)
        own = self._access.forwardable_headers(headers)
        if self._access.announce_caller(own):
            await self._chat.calls.board.wait_until_started(self._access.startup_wait_s)
        if (why := await self._unknown_names_message(let_in)) is not None:
            return await _send_rejection(send, bad_request(why))
        authorization, address = dict(headers).get(b"authorization"), _peer_address(scope)
        is_let_in = partial(self._is_authorized, authorization, address, let_in)
        who = ChatCaller(let_in, _client_name(headers), own, is_let_in)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_disconnect, receive, here)
            await self._complete(asked, who, send)
            tasks.cancel_scope.cancel()
        return None

    def _with_write_timeout(self, send: "Send") -> "Send":
        async def send_with_timeout(message: "Message") -> None:
            with anyio.move_on_after(self._access.client_timeout_s) as waiting:
                await send(message)
            if waiting.cancelled_caught:
                raise ClientGoneError

        return send_with_timeout

    def _authorize(self, scope: "Scope", headers: Sequence[tuple[bytes, bytes]]) -> View | ChatRejection:
        names = [name for name, _ in headers]
        for name in self._access.single_headers:
            if names.count(name) > 1:
                return bad_request(f"The header {name.decode()} is given more than once. Send it once.")
        address = self._access.client_address(_peer_address(scope), headers)
        principal = self._access.principal_of(dict(headers).get(b"authorization"), address)
        if isinstance(principal, ChatRejection):
            return principal
        if (twice := self._access.duplicate_credential_header(headers)) is not None:
            return bad_request(f"The header {twice.decode('latin-1')} is given more than once. Send it once.")
        return self._access.view_of(headers, scope.get("query_string", b""), principal)

    def _is_authorized(self, authorization: bytes | None, address: str, view: View) -> bool:
        return self._access.principal_of(authorization, address) == view.principal

    async def _parse_request(self, body: bytes) -> ParsedChatRequest | ChatRejection:
        if len(body) <= OFF_LOOP_BYTES:
            return parse_chat_request(body, self._access.max_values)
        return await to_thread.run_sync(parse_chat_request, body, self._access.max_values)

    async def _unknown_names_message(self, view: View) -> str | None:
        """What the request names in vain. While servers are starting, a name may yet become known."""
        if self._access.unknown_names(view) is None:
            return None
        await self._chat.calls.board.wait_until_started(self._access.startup_wait_s)
        return self._access.unknown_names(view)

    async def _send_models(self, send: "Send", named: str) -> None:
        listed = await self._chat.models.list_models()
        created = int(time.time())
        entries: list[JsonObject] = [
            {"id": model, "object": "model", "created": created, "owned_by": server} for model, server in listed.models
        ]
        if named:
            found = next((entry for entry in entries if entry["id"] == named), None)
            if found is None:
                return await _send_rejection(
                    send, ChatRejection(404, f"There is no model {named[:200]!r} here. See {MODELS}.")
                )
            return await send_json(send, 200, found)
        if not entries and listed.problems:
            return await _send_rejection(send, models_unavailable(listed.problems[0][1]))
        body: JsonObject = {"object": "list", "data": [*entries]}
        if listed.problems:
            told: list[Json] = [{"server": name, "reason": trouble.why} for name, trouble in listed.problems]
            body["pegboard"] = {"unreachable": told}
        return await send_json(send, 200, body)

    async def _complete(self, asked: ParsedChatRequest, who: ChatCaller, send: "Send") -> None:
        frame, report = CompletionEnvelope(f"chatcmpl-{uuid4().hex}", int(time.time())), ChatReport()
        stream = ChatStream(send, frame, report) if asked.is_streamed else None
        if stream is None:
            answer = await self._answer_or_rejection(asked.request, who, _ignore_event, report)
        else:
            async with stream.keep_alive():
                answer = await self._answer_or_rejection(asked.request, who, stream.send_event, report)
        match answer:
            case ChatRejection() if stream is not None and stream.has_started:
                await stream.fail(answer)
            case ChatRejection():
                more: JsonObject = {"pegboard": report.as_json} if report.calls else {}
                await send_json(send, answer.status, {**answer.body, **more}, answer.headers)
            case _ if stream is None:
                await send_json(send, 200, frame.completion(answer, report))
            case _:
                await stream.finish(answer, tells_usage=asked.includes_usage)

    async def _answer_or_rejection(
        self, asked: ChatInput, who: ChatCaller, tell: EventCallback, report: ChatReport
    ) -> ChatAnswer | ChatRejection:
        try:
            match await self._chat.answer(asked, who, tell, report):
                case ChatAnswer() as answer:
                    return answer
                case NoModel(why):
                    return ChatRejection(404, why, "model", "model_not_found")
                case NoRequiredTool(why):
                    return bad_request(why, "tool_choice")
                case ChatBusy(most):
                    told = f"{most} requests are being answered already, which is the most (chat.limits.concurrency)."
                    after = ((b"retry-after", b"2"),)
                    return ChatRejection(429, f"{told} Try again in a moment.", code="too_many_at_once", headers=after)
        except ModelServerError as trouble:
            return model_error_rejection(trouble, have_run=bool(report.calls))
        except AccessRevokedError:
            return _TOKEN_REVOKED
        except ClientGoneError:
            raise
        except Exception:  # whatever is wrong with us, the client hears of it, and of what was called before
            log.exception("An answer of the chat broke off")
            return _INTERNAL_FAILURE


async def _ignore_event(event: ChatEvent) -> None:
    """Who gets all at once is told of nothing on the way."""


async def _cancel_on_disconnect(receive: "Receive", scope: anyio.CancelScope) -> None:
    """The body was read already, so all that can still come is that the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _send_rejection(send: "Send", refused: ChatRejection) -> None:
    await send_json(send, refused.status, refused.body, refused.headers)


def _method_rejection(takes: str) -> ChatRejection:
    return ChatRejection(405, f"Use {takes} here.", headers=((b"allow", takes.encode()),))


def _peer_address(scope: "Scope") -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _client_name(headers: Sequence[tuple[bytes, bytes]]) -> str:
    """What the client says it is, for the audit and for standing permissions."""
    return claimed_client(dict(headers).get(b"user-agent", b"").decode("latin-1"))
