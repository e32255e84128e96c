"""The GET stream on which clients receive notifications, such as list_changed."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import anyio
from mcp.server.session import ServerSession
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged
from mcp_types import SubscriptionFilter

from pegboard.core.json.values import JsonObject
from pegboard.gateway.resources import ResourceFollower
from pegboard.surfaces.mcp.endpoint_state import TOOL_LIST
from pegboard.surfaces.mcp.resources import ResourceListKind
from pegboard.surfaces.mcp.session_state import ListWatch, cancel_when

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# What clients are told of changes: that a list of theirs differs, or a resource that they follow.

RESOURCE_UPDATED: Final = "notifications/resources/updated"

_TOOLS_CHANGED: Final = "notifications/tools/list_changed"
_PROMPTS_CHANGED: Final = "notifications/prompts/list_changed"
_RESOURCES_CHANGED: Final = "notifications/resources/list_changed"
"""Of their templates too: the protocol has one word for both."""

_METHOD_BY_LIST: Final = {
    TOOL_LIST: _TOOLS_CHANGED,
    ResourceListKind.PROMPTS.value: _PROMPTS_CHANGED,
    ResourceListKind.RESOURCES.value: _RESOURCES_CHANGED,
    ResourceListKind.TEMPLATES.value: _RESOURCES_CHANGED,
}
_EVENT_BY_METHOD: Final[dict[str, ServerEvent]] = {
    _TOOLS_CHANGED: ToolsListChanged(),
    _PROMPTS_CHANGED: PromptsListChanged(),
    _RESOURCES_CHANGED: ResourcesListChanged(),
}


def notifications_of(lists: Iterable[str]) -> tuple[str, ...]:
    """The methods that tell of changes of these lists, each once."""
    return tuple(dict.fromkeys(_METHOD_BY_LIST[each] for each in sorted(lists)))


def events_of(lists: Iterable[str], wanted: SubscriptionFilter) -> tuple[ServerEvent, ...]:
    """Those that a client of the 2026-07-28 era asked for."""
    asked = {
        _TOOLS_CHANGED: wanted.tools_list_changed,
        _PROMPTS_CHANGED: wanted.prompts_list_changed,
        _RESOURCES_CHANGED: wanted.resources_list_changed,
    }
    return tuple(_EVENT_BY_METHOD[method] for method in notifications_of(lists) if asked[method])


def granted_filter(asked: SubscriptionFilter, uris: list[str] | None) -> SubscriptionFilter:
    """What a stream tells of: every list that was asked for, and these resources."""
    return SubscriptionFilter(
        tools_list_changed=asked.tools_list_changed or None,
        prompts_list_changed=asked.prompts_list_changed or None,
        resources_list_changed=asked.resources_list_changed or None,
        resource_subscriptions=uris,
    )


async def send_without_request(session: ServerSession, method: str) -> None:
    """Outside any request, to a client of the handshake era."""
    match _EVENT_BY_METHOD[method]:
        case ToolsListChanged():
            await session.send_tool_list_changed()
        case PromptsListChanged():
            await session.send_prompt_list_changed()
        case _:
            await session.send_resource_list_changed()


def _encode_event(method: str, params: JsonObject | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
    return b"event: message\r\ndata: %b\r\n\r\n" % json.dumps(message, separators=(",", ":")).encode()


async def serve_get_stream(
    app: "ASGIApp",
    scope: "Scope",
    receive: "Receive",
    send: "Send",
    watch: ListWatch,
    follower: ResourceFollower,
    *endings: anyio.Event,
) -> None:
    """Serves the stream as the SDK does, and writes each change between its events, until one of the endings.

    It is written here and not through the session, because the stream has a view of its own, and because a client
    that does not read its stream must not hold up the answers of its session.
    """
    turn = anyio.Lock()
    opened = anyio.Event()
    over = False

    async def send_unless_closed(message: "Message") -> None:
        nonlocal over
        async with turn:
            if over:
                return
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)
        if message["type"] == "http.response.start" and message["status"] == 200:
            opened.set()

    async def tell(event: bytes) -> None:
        await send_unless_closed({"type": "http.response.body", "body": event, "more_body": True})

    async def tell_changes() -> None:
        await opened.wait()
        while True:
            for method in notifications_of(await watch.wait_for_changes()):
                await tell(_encode_event(method))

    async def tell_updates() -> None:
        await opened.wait()
        while True:
            await tell(_encode_event(RESOURCE_UPDATED, {"uri": await follower.next_update()}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell_changes, name="changes")
        tasks.start_soon(tell_updates, name="updates")
        for ending in endings:
            tasks.start_soon(cancel_when, ending, tasks.cancel_scope, name="ending")
        await app(scope, receive, send_unless_closed)
        tasks.cancel_scope.cancel()
    if opened.is_set() and any(ending.is_set() for ending in endings):
        await send_unless_closed({"type": "http.response.body", "body": b"", "more_body": False})
