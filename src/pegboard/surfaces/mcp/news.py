"""What clients are told of changes: that a list of theirs differs, or a resource that they follow."""

from collections.abc import Iterable
from typing import Final

from mcp.server.session import ServerSession
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged
from mcp_types import SubscriptionFilter

from .endpoint_state import TOOLS
from .offering import Kind

RESOURCE_UPDATED: Final = "notifications/resources/updated"

_OF_TOOLS: Final = "notifications/tools/list_changed"
_OF_PROMPTS: Final = "notifications/prompts/list_changed"
_OF_RESOURCES: Final = "notifications/resources/list_changed"
"""Of their templates too: the protocol has one word for both."""

_METHODS: Final = {
    TOOLS: _OF_TOOLS,
    Kind.PROMPTS.value: _OF_PROMPTS,
    Kind.RESOURCES.value: _OF_RESOURCES,
    Kind.TEMPLATES.value: _OF_RESOURCES,
}
_EVENTS: Final[dict[str, ServerEvent]] = {
    _OF_TOOLS: ToolsListChanged(),
    _OF_PROMPTS: PromptsListChanged(),
    _OF_RESOURCES: ResourcesListChanged(),
}


def notifications_of(lists: Iterable[str]) -> tuple[str, ...]:
    """The methods that tell of changes of these lists, each once."""
    return tuple(dict.fromkeys(_METHODS[each] for each in sorted(lists)))


def events_of(lists: Iterable[str], wanted: SubscriptionFilter) -> tuple[ServerEvent, ...]:
    """Those that a client of the 2026-07-28 era asked for."""
    asked = {
        _OF_TOOLS: wanted.tools_list_changed,
        _OF_PROMPTS: wanted.prompts_list_changed,
        _OF_RESOURCES: wanted.resources_list_changed,
    }
    return tuple(_EVENTS[method] for method in notifications_of(lists) if asked[method])


def granted(asked: SubscriptionFilter, uris: list[str] | None) -> SubscriptionFilter:
    """What a stream tells of: every list that was asked for, and these resources."""
    return SubscriptionFilter(
        tools_list_changed=asked.tools_list_changed or None,
        prompts_list_changed=asked.prompts_list_changed or None,
        resources_list_changed=asked.resources_list_changed or None,
        resource_subscriptions=uris,
    )


async def send_bare(session: ServerSession, method: str) -> None:
    """Outside any request, to a client of the handshake era."""
    match _EVENTS[method]:
        case ToolsListChanged():
            await session.send_tool_list_changed()
        case PromptsListChanged():
            await session.send_prompt_list_changed()
        case _:
            await session.send_resource_list_changed()
