"""The chat endpoint as an ASGI application: /v1/models and /v1/chat/completions."""

import logging
import re
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio
from anyio import to_thread

from pegboard.core.call import claimed_client
from pegboard.core.reference import closest
from pegboard.core.tool import Json, JsonObject
from pegboard.core.view import View
from pegboard.gateway.chat.asked import Asked, Who
from pegboard.gateway.chat.calling import NotLetIn
from pegboard.gateway.chat.chat import Busy, Chat
from pegboard.gateway.chat.conversation import Answer, Event, Tell
from pegboard.gateway.chat.planning import NoTool
from pegboard.gateway.chat.report import Report
from pegboard.gateway.chat.serving import NoModel
from pegboard.ports.models import ModelTrouble

from .answer import Frame
from .body import body_of
from .faults import NO_RETRY, Refused, bad, of_trouble, unlisted
from .gate import Gate
from .request import Read, read
from .stream import Gone, Stream, answer_json

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

MODELS: Final = "/v1/models"
COMPLETIONS: Final = "/v1/chat/completions"
BESIDE: Final = 65_536
"""Bytes of a body from which on it is read beside the event loop."""
_SLASH: Final = re.compile("%2f", re.IGNORECASE)
"""As clients write one that belongs to a model's name."""
log = logging.getLogger(__name__)
_BROKEN: Final = Refused(
    500, "The gateway failed to answer; its log says why.", code="gateway_failed", headers=NO_RETRY
)
_LEFT: Final = Refused(401, "Your token is not one that this gateway knows any more.", headers=NO_RETRY)


class ChatApp:
    def __init__(self, chat: Chat, gate: Gate) -> None:
        self._chat = chat
        self._gate = gate

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path: str = scope.get("path", "").rstrip("/")
        try:
            with anyio.CancelScope() as here:
                await self._serve(path, scope, receive, self._patient(send), here)
        except* Gone:
            pass

    async def _serve(
        self, path: str, scope: "Scope", receive: "Receive", send: "Send", here: anyio.CancelScope
    ) -> None:
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        let_in = self._let_in(scope, headers)
        if isinstance(let_in, Refused):
            return await _refuse(send, let_in)
        if path == MODELS or path.startswith(f"{MODELS}/"):
            if scope["method"] not in ("GET", "HEAD"):
                return await _refuse(send, _method("GET"))
            return await self._models(send, _SLASH.sub("/", path.removeprefix(MODELS).removeprefix("/")))
        if path != COMPLETIONS:
            near = closest(path, (MODELS, COMPLETIONS))
            told = f"Did you mean {near[0]}?" if near else f"There are {MODELS} and {COMPLETIONS}."
            return await _refuse(send, Refused(404, f"Nothing is at {path[:200]!r}. {told}"))
        if scope["method"] != "POST":
            return await _refuse(send, _method("POST"))
        body = await body_of(receive, dict(headers), self._gate)
        if body is None:
            return None
        asked = body if isinstance(body, Refused) else await self._read(body)
        if isinstance(asked, Refused):
            return await _refuse(send, asked)
        own = self._gate.own_headers(headers)
        if self._chat.gateway.roster.meet(own):
            await self._chat.gateway.settled(self._gate.settle)
        if (why := await self._unknown(let_in)) is not None:
            return await _refuse(send, bad(why))
        authorization, address = dict(headers).get(b"authorization"), _address(scope)
        is_let_in = partial(self._is_let_in, authorization, address, let_in)
        who = Who(let_in, _client(headers), own, is_let_in)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hang_up, receive, here)
            await self._complete(asked, who, send)
            tasks.cancel_scope.cancel()
        return None

    def _patient(self, send: "Send") -> "Send":
        async def sending(message: "Message") -> None:
            with anyio.move_on_after(self._gate.patience) as waiting:
                await send(message)
            if waiting.cancelled_caught:
                raise Gone

        return sending

    def _let_in(self, scope: "Scope", headers: Sequence[tuple[bytes, bytes]]) -> View | Refused:
        names = [name for name, _ in headers]
        for name in self._gate.once:
            if names.count(name) > 1:
                return bad(f"The header {name.decode()} is given more than once. Send it once.")
        address = self._gate.client(_address(scope), headers)
        principal = self._gate.principal(dict(headers).get(b"authorization"), address)
        if isinstance(principal, Refused):
            return principal
        if (twice := self._gate.lent_twice(headers)) is not None:
            return bad(f"The header {twice.decode('latin-1')} is given more than once. Send it once.")
        return self._gate.view(headers, scope.get("query_string", b""), principal)

    def _is_let_in(self, authorization: bytes | None, address: str, view: View) -> bool:
        return self._gate.principal(authorization, address) == view.principal

    async def _read(self, body: bytes) -> Read | Refused:
        if len(body) <= BESIDE:
            return read(body, self._gate.most_values)
        return await to_thread.run_sync(read, body, self._gate.most_values)

    async def _unknown(self, view: View) -> str | None:
        """What the request names in vain. While servers are starting, a name may yet become known."""
        if self._gate.unknown(view) is None:
            return None
        await self._chat.gateway.settled(self._gate.settle)
        return self._gate.unknown(view)

    async def _models(self, send: "Send", named: str) -> None:
        listed = await self._chat.models.listed()
        created = int(time.time())
        entries: list[JsonObject] = [
            {"id": model, "object": "model", "created": created, "owned_by": server} for model, server in listed.models
        ]
        if named:
            found = next((entry for entry in entries if entry["id"] == named), None)
            if found is None:
                return await _refuse(send, Refused(404, f"There is no model {named[:200]!r} here. See {MODELS}."))
            return await answer_json(send, 200, found)
        if not entries and listed.troubles:
            return await _refuse(send, unlisted(listed.troubles[0][1]))
        body: JsonObject = {"object": "list", "data": [*entries]}
        if listed.troubles:
            told: list[Json] = [{"server": name, "why": trouble.why} for name, trouble in listed.troubles]
            body["pegboard"] = {"unreachable": told}
        return await answer_json(send, 200, body)

    async def _complete(self, asked: Read, who: Who, send: "Send") -> None:
        frame, report = Frame(f"chatcmpl-{uuid4().hex}", int(time.time())), Report()
        stream = Stream(send, frame, report) if asked.streams else None
        if stream is None:
            answer = await self._answered(asked.asked, who, _nothing, report)
        else:
            async with stream.kept_alive():
                answer = await self._answered(asked.asked, who, stream.tell, report)
        match answer:
            case Refused() if stream is not None and stream.began:
                await stream.broken(answer)
            case Refused():
                more: JsonObject = {"pegboard": report.shape} if report.calls else {}
                await answer_json(send, answer.status, {**answer.body, **more}, answer.headers)
            case _ if stream is None:
                await answer_json(send, 200, frame.completion(answer, report))
            case _:
                await stream.ended(answer, tells_usage=asked.tells_usage)

    async def _answered(self, asked: Asked, who: Who, tell: Tell, report: Report) -> Answer | Refused:
        try:
            match await self._chat.answer(asked, who, tell, report):
                case Answer() as answer:
                    return answer
                case NoModel(why):
                    return Refused(404, why, "model", "model_not_found")
                case NoTool(why):
                    return bad(why, "tool_choice")
                case Busy(most):
                    told = f"{most} requests are being answered already, which is the most (chat.limits.at_once)."
                    after = ((b"retry-after", b"2"),)
                    return Refused(429, f"{told} Try again in a moment.", code="too_many_at_once", headers=after)
        except ModelTrouble as trouble:
            return of_trouble(trouble, have_run=bool(report.calls))
        except NotLetIn:
            return _LEFT
        except Gone:
            raise
        except Exception:  # whatever is wrong with us, the client hears of it, and of what was called before
            log.exception("An answer of the chat broke off")
            return _BROKEN


async def _nothing(event: Event) -> None:
    """Who gets all at once is told of nothing on the way."""


async def _hang_up(receive: "Receive", scope: anyio.CancelScope) -> None:
    """The body was read already, so all that can still come is that the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _refuse(send: "Send", refused: Refused) -> None:
    await answer_json(send, refused.status, refused.body, refused.headers)


def _method(takes: str) -> Refused:
    return Refused(405, f"Use {takes} here.", headers=((b"allow", takes.encode()),))


def _address(scope: "Scope") -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _client(headers: Sequence[tuple[bytes, bytes]]) -> str:
    """What the client says it is, for the audit and for standing permissions."""
    return claimed_client(dict(headers).get(b"user-agent", b"").decode("latin-1"))
