"""Requests about prompts and resources: list, read, complete, subscribe."""

import base64
import binascii
import hashlib
import logging
from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias, assert_never

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.json.values import MAX_READABLE_DEPTH, JsonObject
from pegboard.core.model.selection import View
from pegboard.core.model.text import truncate
from pegboard.core.resources.requests import (
    NotVisible,
    ResourceFailure,
    ResourceMethod,
    ResourceRefusal,
    ResourceRequest,
    ResourceResult,
)
from pegboard.core.resources.visibility import ResourceView
from pegboard.gateway.board import BoardState
from pegboard.gateway.resources import ClientSubscriptions, ResourceFollower, ResourceReadAnswer
from pegboard.surfaces.mcp.gateway_parts import McpParts
from pegboard.surfaces.mcp.presentations.direct import PAGE_SIZE
from pegboard.surfaces.mcp.results import ACTUAL_RESULT, BadCursor
from pegboard.surfaces.mcp.session import SessionPeer, capabilities_of, open_notification_queue, progress_reporter
from pegboard.surfaces.mcp.session_state import NO_LOGS, RequestScope, cancel_when
from pegboard.surfaces.mcp.wire import is_deeper_than, sanitize_object, sanitize_text

# Clients of the handshake era that follow resources: each by its connection, for as long as that lasts.


class Followers:
    """Over HTTP a client subscribes in one request and listens in another: both find the same follower here."""

    def __init__(self, following: ClientSubscriptions) -> None:
        self._subscriptions = following
        self._by_connection: dict[str, ResourceFollower] = {}

    def follower_of(self, connection: str) -> ResourceFollower:
        return self._by_connection.setdefault(connection, ResourceFollower(self._subscriptions))

    def disconnect(self, connection: str) -> None:
        """Nobody listens there any more. What it follows stays followed: it may listen again."""
        follower = self._by_connection.get(connection)
        if follower is not None and follower.is_idle:
            del self._by_connection[connection]

    def forget(self, connection: str) -> None:
        follower = self._by_connection.pop(connection, None)
        if follower is not None:
            follower.close()


# Prompts, resources and templates as one caller is shown them, in the order of the board, page by page.

MAX_CACHED_LISTS: Final = 256
MAX_CACHED_RESOURCES: Final = 50_000
_CURSOR_PREFIX: Final = "after "

log = logging.getLogger(__name__)


class ResourceListKind(Enum):
    """By the member of a result that holds the list."""

    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "resourceTemplates"


@dataclass(frozen=True)
class ResourceListPage:
    """One page of a list, and the cursor of the next."""

    entries: tuple[JsonObject, ...]
    next: str | None


@dataclass(frozen=True)
class ResourceList:
    """One whole list. Equal marks mean equal lists."""

    entries: tuple[JsonObject, ...]
    positions: Mapping[str, int]
    """How many entries come up to each key, itself included."""
    keys: tuple[str, ...]
    fingerprint: bytes

    def page(self, cursor: str | None) -> ResourceListPage | BadCursor:
        """A cursor names what it comes after, so a page still fits when the list changed before it."""
        start = 0
        if cursor is not None:
            key = _decode_cursor(cursor)
            if key is None:
                return BadCursor("this is no cursor of this server")
            if key not in self.positions:
                return BadCursor("the list changed, and what it points at is gone")
            start = self.positions[key]
        end = start + PAGE_SIZE
        return ResourceListPage(
            self.entries[start:end], _encode_cursor(self.keys[end - 1]) if end < len(self.entries) else None
        )


@dataclass(frozen=True)
class _ResourceDocument:
    body: JsonObject
    sanitized_body: JsonObject | None
    """`None` for what no client could read."""
    number: int


class ResourceLists:
    """Works a list out once for each arrangement, and each entry once for as long as it stays the same."""

    def __init__(self, board: BoardState) -> None:
        self._board = board
        self._lists: OrderedDict[View, tuple[ResourceView, Mapping[ResourceListKind, ResourceList]]] = OrderedDict()
        self._documents: OrderedDict[tuple[ResourceListKind, str, str], _ResourceDocument] = OrderedDict()
        self._numbers = count()

    def lists_for(self, view: View) -> Mapping[ResourceListKind, ResourceList]:
        offered = self._board.resource_view(view)
        known = self._lists.get(view)
        if known is None or known[0] is not offered:
            known = offered, self._build_lists(offered)
            self._lists[view] = known
            while len(self._lists) > MAX_CACHED_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(view)
        return known[1]

    def _build_lists(self, offered: ResourceView) -> Mapping[ResourceListKind, ResourceList]:
        prompts = (
            (str(name), str(source), {**each.body, "name": name}) for name, (source, each) in offered.prompts.items()
        )
        resources = ((uri, str(source), each.body) for uri, (source, each) in offered.resources.items())
        templates = ((text, str(source), each.body) for text, (source, each) in offered.templates.items())
        return {
            ResourceListKind.PROMPTS: self._build_list(ResourceListKind.PROMPTS, prompts),
            ResourceListKind.RESOURCES: self._build_list(ResourceListKind.RESOURCES, resources),
            ResourceListKind.TEMPLATES: self._build_list(ResourceListKind.TEMPLATES, templates),
        }

    def _build_list(self, kind: ResourceListKind, entries: Iterable[tuple[str, str, JsonObject]]) -> ResourceList:
        bodies: list[JsonObject] = []
        places: dict[str, int] = {}
        numbers = array("Q")
        for key, source, body in entries:
            document = self._document((kind, source, key), body)
            if document.sanitized_body is not None:
                bodies.append(document.sanitized_body)
                numbers.append(document.number)
                places[key] = len(bodies)
        return ResourceList(tuple(bodies), places, tuple(places), hashlib.sha256(numbers.tobytes()).digest())

    def _document(self, key: tuple[ResourceListKind, str, str], body: JsonObject) -> _ResourceDocument:
        known = self._documents.get(key)
        if known is not None and (known.body is body or known.body == body):
            return known
        deep = is_deeper_than(body, MAX_READABLE_DEPTH)
        if deep:
            log.warning("%s: %r is nested too deep for clients, and left out", key[1], key[2][:80])
        fresh = self._documents[key] = _ResourceDocument(
            body, None if deep else sanitize_object(body), next(self._numbers)
        )
        self._documents.move_to_end(key)
        while len(self._documents) > MAX_CACHED_RESOURCES:
            self._documents.popitem(last=False)
        return fresh


def _encode_cursor(key: str) -> str:
    return base64.urlsafe_b64encode(f"{_CURSOR_PREFIX}{key}".encode()).decode()


def _decode_cursor(cursor: str) -> str | None:
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        return None
    return text.removeprefix(_CURSOR_PREFIX) if text.startswith(_CURSOR_PREFIX) else None


RESOURCE_NOT_FOUND: Final = -32002
"""Of the handshake era. From 2026-07-28 on it is a bad parameter like any other."""
_MAX_SHOWN_CHARS: Final = 256

Context: TypeAlias = ServerRequestContext[Any, Any]
FOLLOW_TIMEOUT_S: Final = 5.0
"""Seconds in which servers take the subscriptions of a stream: it is not acknowledged before, nor much later."""


class ResourceHandlers:
    def __init__(
        self,
        parts: McpParts,
        current: Callable[[], RequestScope],
        listed: Callable[[RequestScope, ResourceListKind], None],
        ready: anyio.Event | None = None,
    ) -> None:
        """`listed` is told which list a client has just seen; until `ready`, every request waits."""
        self.lists: Final = ResourceLists(parts.board)
        self.followers: Final = Followers(parts.subscriptions)
        self._ready = ready
        self._reader = parts.resources
        self._current_request = current
        self._record_listed = listed

    def register(self, server: Server[Any]) -> None:
        paged = PaginatedRequestParams
        server.add_request_handler("prompts/list", paged, self._list_prompts)
        server.add_request_handler("resources/list", paged, self._list_resources)
        server.add_request_handler("resources/templates/list", paged, self._list_templates)
        server.add_request_handler("resources/read", ReadResourceRequestParams, self._read_resource)
        server.add_request_handler("prompts/get", GetPromptRequestParams, self._get_prompt)
        server.add_request_handler("completion/complete", CompleteRequestParams, self._complete)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)

    async def _list_prompts(self, ctx: Context, params: PaginatedRequestParams) -> ListPromptsResult:
        return ListPromptsResult(prompts=[], next_cursor=await self._page(ResourceListKind.PROMPTS, params.cursor))

    async def _list_resources(self, ctx: Context, params: PaginatedRequestParams) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[], next_cursor=await self._page(ResourceListKind.RESOURCES, params.cursor)
        )

    async def _list_templates(self, ctx: Context, params: PaginatedRequestParams) -> ListResourceTemplatesResult:
        following = await self._page(ResourceListKind.TEMPLATES, params.cursor)
        return ListResourceTemplatesResult(resource_templates=[], next_cursor=following)

    async def _page(self, kind: ResourceListKind, cursor: str | None) -> str | None:
        await self._wait_until_ready()
        exchange = self._current_request()
        page = self.lists.lists_for(exchange.view)[kind].page(cursor)
        if isinstance(page, BadCursor):
            raise MCPError(INVALID_PARAMS, f"The cursor cannot be used: {page.why}. List again without a cursor.")
        self._record_listed(exchange, kind)
        ACTUAL_RESULT.get().result = {kind.value: list(page.entries)}
        return page.next

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        result = await self._send_request(ctx, ResourceMethod.READ)
        if is_modern(ctx) and result.get("resultType") != "input_required":
            # Who may read it is decided here for each caller, so no cache may share it between them.
            result = {"ttlMs": 0, **result, "cacheScope": "private"}
        ACTUAL_RESULT.get().result = result
        return ReadResourceResult(contents=[])

    async def _get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        ACTUAL_RESULT.get().result = await self._send_request(ctx, ResourceMethod.GET)
        return GetPromptResult(messages=[])

    async def _complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        ACTUAL_RESULT.get().result = await self._send_request(ctx, ResourceMethod.COMPLETE)
        return CompleteResult(completion=Completion(values=[]))

    async def _subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        await self._wait_until_ready()
        exchange, key = self._current_request(), connection_of(ctx, self._current_request())
        resource_result(
            await self.followers.follower_of(key).follow(params.uri, exchange.view), ResourceMethod.READ, ctx
        )
        # The SDK ends what it keeps for a connection, over every transport; nothing of ours outlives it.
        connection = ctx.session._connection
        if "pegboard.followed" not in connection.state:
            connection.state["pegboard.followed"] = key
            connection.exit_stack.callback(self.followers.forget, key)
        return EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self.followers.follower_of(connection_of(ctx, self._current_request())).unfollow(params.uri)
        return EmptyResult()

    async def _send_request(self, ctx: Context, method: ResourceMethod) -> JsonObject:
        await self._wait_until_ready()
        exchange = self._current_request()
        ask = ResourceRequest(method, dict(ctx.params or {}), dict(exchange.headers))
        modern = is_modern(ctx)
        assert ctx.request_id is not None
        async with open_notification_queue() as say:
            peer = SessionPeer(
                ctx.session,
                ctx.request_id,
                say,
                capabilities_of(ctx.session),
                self._connection_key(exchange, modern),
                NO_LOGS,
                exchange.client_gone is None,
            )
            wants_progress = ctx.meta is not None and "progress_token" in ctx.meta
            progress = progress_reporter(say, ctx.session.report_progress) if wants_progress else None
            read = await _ask_until_disconnect(
                exchange, partial(self._reader.request, ask, exchange.view, progress, peer)
            )
        return resource_result(read, method, ctx)

    def _connection_key(self, exchange: RequestScope, modern: bool) -> Hashable:
        """A pipe has one client; over HTTP it has a session, or nothing tells two requests' clients apart."""
        if exchange.client_gone is None:
            return self
        return object() if modern or exchange.session is None else exchange.session

    async def _wait_until_ready(self) -> None:
        if self._ready is not None:
            await self._ready.wait()


async def _ask_until_disconnect(
    exchange: RequestScope, carry: Callable[[], Awaitable[ResourceReadAnswer]]
) -> ResourceReadAnswer:
    """A client that hung up has given up its question: no later request can ask for the answer."""
    if exchange.client_gone is None:
        return await carry()
    read: ResourceReadAnswer = ResourceFailure("the client has gone")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel_when, exchange.client_gone, tasks.cancel_scope, name="client")
        read = await carry()
        tasks.cancel_scope.cancel()
    return read


def resource_result(read: ResourceReadAnswer, method: ResourceMethod, ctx: Context) -> JsonObject:
    """Raises the protocol's error for everything that is no result."""
    match read:
        case ResourceResult(result):
            if result.get("resultType") == "input_required" and not is_modern(ctx):
                why = "The server asks for further input before it answers, and this version of the protocol cannot."
                raise MCPError(INTERNAL_ERROR, why)
            if is_deeper_than(result, MAX_READABLE_DEPTH):
                raise MCPError(
                    INTERNAL_ERROR, f"The server's answer is nested more than {MAX_READABLE_DEPTH} levels deep."
                )
            return sanitize_object(result)
        case ResourceRefusal(code, message, data):
            raise MCPError(code, sanitize_text(message), data)
        case ResourceFailure(why):
            raise MCPError(INTERNAL_ERROR, sanitize_text(f"{method.value} failed: {why.rstrip('.')}."))
        case NotVisible(key):
            raise _not_found_error(key, method, ctx)
        case _:
            assert_never(read)


def _not_found_error(key: str, method: ResourceMethod, ctx: Context) -> MCPError:
    shown = sanitize_text(truncate(key, _MAX_SHOWN_CHARS))
    if method is not ResourceMethod.READ:
        return MCPError(INVALID_PARAMS, f"There is nothing called {shown!r} here. List again to see what there is.")
    code = INVALID_PARAMS if is_modern(ctx) else RESOURCE_NOT_FOUND
    told = f"There is no resource {shown!r} here. List the resources to see what there is."
    return MCPError(code, told, {"uri": sanitize_text(key)})


def connection_of(ctx: Context, exchange: RequestScope) -> str:
    """What tells one connection of the handshake era from another: over HTTP its session."""
    return exchange.session or f"connection {id(ctx.session._connection)}"


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


async def follow_resources(follower: ResourceFollower, uris: list[str] | None, view: View) -> list[str] | None:
    """Those of the resources that are followed from now on. A server that does not answer in time is left out."""
    taken: set[str] = set()

    async def follow(uri: str) -> None:
        if isinstance(await follower.follow(uri, view), ResourceResult):
            taken.add(uri)

    with anyio.move_on_after(FOLLOW_TIMEOUT_S):
        async with anyio.create_task_group() as tasks:
            for uri in dict.fromkeys(uris or ()):
                tasks.start_soon(follow, uri, name="following")
    return [uri for uri in dict.fromkeys(uris or ()) if uri in taken] or None
