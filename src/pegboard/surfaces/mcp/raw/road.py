"""The short road: takes the requests it knows, and leaves every other one to the SDK, read or unread."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from pegboard.core.call import NeedsInput
from pegboard.core.nesting import deeper_than
from pegboard.gateway.gateway import Gateway
from pegboard.surfaces.mcp.answer import REQUEST_CANCELLED, given_up
from pegboard.surfaces.mcp.door import Door, Refused
from pegboard.surfaces.mcp.endpoint_state import INTERNAL, STAMP, EndpointState
from pegboard.surfaces.mcp.entrance import AUTHORIZATION, Entrance
from pegboard.surfaces.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS

from .calls import Asked, Calls, Ready, decode_large, named
from .envelope import BESIDE, Envelope, is_large
from .express import Head, Outlet
from .flight import Flight, Phase, Ticket
from .lists import Lists, Page
from .messages import (
    NOTHING,
    UNREADABLE,
    Message,
    call_params,
    error,
    identity,
    read_list,
    read_members,
    read_message,
    read_request,
    read_text,
)
from .metas import LARGEST, Metas, MetaTooLargeError
from .profile import Profile, Profiles, ReadView
from .reply import NO_LINES, Reply
from .sessions import Session, Sessions

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

log: Final = logging.getLogger(__name__)

SESSION: Final = b"mcp-session-id"
METHOD: Final = b"mcp-method"
LENGTH: Final = b"content-length"
CALL: Final = b"tools/call"
PATH: Final = b"/mcp"
WHOLE: Final = "pegboard.whole"
"""See the listening: what sends a whole answer in one go."""
META_TOO_LARGE: Final = Refused(
    400,
    f"The _meta of the request is larger than {LARGEST} bytes. Send less there: what is large belongs into arguments.",
    INVALID_PARAMS,
)


_DEEPEST: Final = 201
"""Levels of a request that the long road takes, and so does this one."""
_FLAT: Final = 2 * _DEEPEST
"""Bytes of the longest request that cannot be nested deeper."""


class Way(Enum):
    """How far a request came. A body that was read for nothing is handed back instead."""

    SERVED = auto()
    UNREAD = auto()
    LATE = auto()


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a head means for as long as the principals stay the same."""

    principals: object
    asked: Asked


class Road:
    def __init__(
        self,
        gateway: Gateway,
        state: EndpointState,
        sessions: Sessions,
        door: Door,
        read_view: ReadView,
        entrance: Entrance,
    ) -> None:
        self._gateway = gateway
        self._board = gateway.board
        self._state = state
        self._sessions = sessions
        self._largest = door.largest_body
        self._most_values = door.most_values
        self._too_many = door.too_many
        self._settle = door.settle
        self._profiles = Profiles(entrance.callers, read_view)
        self._entrance = entrance
        self._envelope = Envelope(STAMP)
        self._metas = Metas()
        self._calls = Calls(gateway, state, self._metas)
        self._lists = Lists(self._envelope.list_tail)
        self._flight = Flight(door.patience)

    def close(self) -> None:
        self._flight.close()

    @property
    def path(self) -> bytes:
        return PATH

    @property
    def callers(self) -> object:
        return self._entrance.callers.known

    def forget(self) -> None:
        self._profiles.forget()
        self._entrance.forget()

    def take(self, outlet: Outlet, head: Head, body: bytes) -> Ticket | None:
        """A call that came whole and is plainly one: served without ASGI, which costs as much as the rest of it."""
        meant = head.meaning
        if not isinstance(meant, _Meant) or meant.principals is not self._entrance.callers.known:
            meant = head.meaning = self._meaning(head)
            if meant is None:
                return None
        asked = meant.asked
        session = asked.session
        if not asked.profile.holds(self._board) or not (session is None or self._sessions.keeps(session)):
            return None
        if len(body) > _FLAT and deeper_than(_DEEPEST, body):
            return None
        try:
            request = read_request(body)
            id = identity(bytes(request.id))
        except UNREADABLE:
            return None
        if request.method != "tools/call" or request.jsonrpc != "2.0" or not id:
            return None
        ready = self._calls.read(asked, request.params)
        if ready is None:
            return None
        ticket = Ticket(None, Reply(outlet.send, NO_LINES if session is None else session.lines, outlet.answer))
        self._flight.begin(ticket, self._call(ready, id, asked, ticket))
        return ticket

    def _meaning(self, head: Head) -> "_Meant | None":
        """`None` for whom the long road must look at first, or for what is no call."""
        if len(head.headers) != len(head.given):
            return None
        profile = self._profiles.known(head.query, head.given, head.headers)
        if profile is None or (profile.modern and head.headers.get(METHOD) != CALL):
            return None
        session: Session | None = None
        if not profile.modern and (session := self._session(profile, head.headers)) is None:
            return None
        asked = Asked(profile, session, self._own(head.headers), named(head.headers))
        return _Meant(self._entrance.callers.known, asked)

    def _session(self, profile: Profile, headers: Mapping[bytes, bytes]) -> Session | None:
        session = self._sessions.open(headers.get(SESSION, b"").strip(b" \t"))
        return None if session is None or session.principal != profile.view.principal else session

    def _own(self, headers: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        """The token for this gateway itself is for no server to have."""
        if not self._entrance.callers.known or AUTHORIZATION not in headers:
            return headers
        return {name: value for name, value in headers.items() if name != AUTHORIZATION}

    async def serve(
        self, scope: "Scope", receive: "Receive", send: "Send", toolset: str | None = None
    ) -> "Way | Refused | bytes":
        given = scope["headers"]
        headers: dict[bytes, bytes] = dict(given)
        length = headers.get(LENGTH)
        # Two of one name are read differently by different readers, and a body of unknown size is read with more care.
        if len(headers) != len(given) or length is None or not length.isdigit() or int(length) > self._largest:
            return Way.UNREAD
        client = scope.get("client")
        address = "" if client is None else str(client[0])
        profile = self._profiles.of(address, scope["query_string"], given, headers, toolset)
        if isinstance(profile, Refused):
            return profile
        if profile is None or not profile.holds(self._board):
            return Way.UNREAD
        session: Session | None = None
        if not profile.modern and (session := self._session(profile, headers)) is None:
            return Way.UNREAD
        extensions = scope.get("extensions")
        whole = None if extensions is None else extensions.get(WHOLE)
        ticket = Ticket(receive, Reply(send, NO_LINES if session is None else session.lines, whole))
        self._flight.begin(ticket)
        try:
            body = await _body(receive)
            if body is None:
                return Way.SERVED
            if len(body) > self._most_values and await to_thread.run_sync(self._too_many, body) is not None:
                return body  # the long road refuses it
            if len(body) > _FLAT and await _is_too_deep(body):
                return body  # as it does this
            return await self._taken(body, Asked(profile, session, self._own(headers), named(headers)), ticket)
        except MetaTooLargeError:
            return META_TOO_LARGE
        except asyncio.CancelledError:
            ticket.reply.drop()
            if not ticket.caught():
                raise
            return Way.LATE if ticket.phase is Phase.READING else Way.SERVED
        finally:
            self._flight.end(ticket)

    async def _taken(self, body: bytes, asked: Asked, ticket: Ticket) -> "Way | bytes":
        try:
            message = read_message(body)
            id = b"" if message.id is NOTHING else identity(bytes(message.id))
        except UNREADABLE:
            return body
        if message.jsonrpc != "2.0" or id is None:
            return body
        if not message.method or not id:
            return await self._heard(message, id, asked, ticket, body)
        if asked.profile.modern and asked.headers.get(METHOD, b"").strip(b" \t") != message.method.encode():
            return body
        if message.method == "tools/call":
            try:
                told, beside = call_params(message.params)
            except UNREADABLE:
                return body
            decoded = None
            if len(told.arguments) > BESIDE:
                try:
                    decoded = await to_thread.run_sync(decode_large, bytes(told.arguments), abandon_on_cancel=True)
                except UNREADABLE:
                    return body
            ready = self._calls.read(asked, told, beside, decoded)
            if ready is not None:
                await self._call(ready, id, asked, ticket)
                return Way.SERVED
        elif message.method == "tools/list":
            if self._gateway.roster.meet(asked.headers):
                await self._gateway.settled(self._settle)
            page = self._page(message, asked)
            if page is not None:
                await self._write(page, id, ticket)
                return Way.SERVED
        return body

    async def _heard(self, message: Message, id: bytes, asked: Asked, ticket: Ticket, body: bytes) -> "Way | bytes":
        """A client's answer to a question of ours, or word that it gives a request up."""
        session = asked.session
        if session is None:
            return body
        if id and not message.method:
            found = session.asking.answered(read_text(id) if id[:1] == b'"' else "", message)
        elif message.method == "notifications/cancelled":
            found = self._flight.give_up((asked.headers[SESSION], _request_id(message)))
        else:
            found = False
        if not found:
            return body
        ticket.enter(Phase.WRITING)
        await ticket.reply.acknowledge()
        return Way.SERVED

    async def _call(self, ready: Ready, id: bytes, asked: Asked, ticket: Ticket) -> None:
        """To the end of its ticket: one coroutine, because each that waits for another is resumed at every call."""
        reply, modern = ticket.reply, asked.profile.modern
        if not modern:
            ticket.key = asked.headers[SESSION], id
        if ticket.phase is not Phase.CALLING:
            ticket.enter(Phase.CALLING)
        try:
            try:
                ended = await self._calls.carried(ready, asked, reply)
                if isinstance(ended, NeedsInput) and not modern:
                    ended = await self._calls.answered(ended, ready, asked, reply)
            except asyncio.CancelledError:
                if ticket.hung_up or not ticket.given_up or not ticket.caught():
                    raise
                status, text = 200, error(id, REQUEST_CANCELLED, given_up(ready.call.name))
            except Exception:  # supervised here: what fails must not cost the client its answer
                log.exception("Serving tools/call failed")
                status, text = 200, error(id, INTERNAL_ERROR, INTERNAL)
            else:
                if is_large(ended):
                    write = partial(self._envelope.text, id, ready.call.name, ended, modern=modern)
                    status, text = await to_thread.run_sync(write)
                else:
                    status, text = self._envelope.text(id, ready.call.name, ended, modern=modern)
            if not reply.at_once(text, status):
                ticket.enter(Phase.WRITING)
                await reply.finish(text, status)
        except asyncio.CancelledError:
            reply.drop()
            if not ticket.caught():
                raise
        finally:
            self._flight.end(ticket)

    def _page(self, message: Message, asked: Asked) -> Page | None:
        try:
            params = read_list(message.params)
        except UNREADABLE:
            return None
        profile = asked.profile
        if profile.modern:
            known = self._metas.of(params.meta)
            if known is None or known.meta.version != profile.version or known.meta.capabilities is None:
                return None
        shown = self._state.direct.shown(profile.view)
        page = self._lists.page(shown, params.cursor, modern=profile.modern)
        if page is not None and asked.session is not None:
            self._state.listed(asked.session.id, profile.view, shown.mark)
        return page

    async def _write(self, page: Page, id: bytes, ticket: Ticket) -> None:
        ticket.enter(Phase.WRITING)
        await ticket.reply.finish_in_parts(page.text, b"%b%b}" % (page.rest, id))


async def _is_too_deep(body: bytes) -> bool:
    if len(body) > BESIDE:
        return await to_thread.run_sync(deeper_than, _DEEPEST, body, abandon_on_cancel=True)
    return deeper_than(_DEEPEST, body)


async def _body(receive: "Receive") -> bytes | None:
    message = await receive()
    if message["type"] != "http.request":
        return None
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return body
    parts = [body]
    while message.get("more_body", False):
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
    return b"".join(parts)


def _request_id(message: Message) -> bytes:
    try:
        return identity(bytes(read_members(message.params).get("requestId", NOTHING))) or b""
    except UNREADABLE:
        return b""
