"""What clients are told of changes: that a list of theirs differs, or a resource that they follow."""

from collections.abc import Iterable
from typing import Final

from mcp.server.session import ServerSession
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged
from mcp_types import SubscriptionFilter

from .endpoint_state import TOOL_LIST
from .offering import ResourceListKind

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
