"""What this surface needs of a gateway, by name: nothing here reaches any other part of it."""

from collections.abc import Mapping
from typing import Protocol

from pegboard.gateway.board import BoardState
from pegboard.gateway.resources import ClientSubscriptions, ResourceReader
from pegboard.gateway.search import ToolSearch
from pegboard.gateway.tool_calls import ToolCalls


class PresentationParts(Protocol):
    """What presentations list tools from, search them with and call them by."""

    @property
    def board(self) -> BoardState: ...

    @property
    def calls(self) -> ToolCalls: ...

    @property
    def search(self) -> ToolSearch: ...


class CallerAnnouncements(Protocol):
    """For servers that know their tools by a caller's own rights only."""

    @property
    def has_caller_aware(self) -> bool:
        """Whether any server is one of them."""
        ...

    def announce_caller(self, headers: Mapping[bytes, bytes]) -> bool:
        """A caller is here. Whether a server goes and lists its tools now."""
        ...


class McpParts(PresentationParts, Protocol):
    @property
    def resources(self) -> ResourceReader: ...

    @property
    def subscriptions(self) -> ClientSubscriptions: ...

    @property
    def providers(self) -> CallerAnnouncements: ...
