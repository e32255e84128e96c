"""How tools are shown to a client, and what a call of one stands for. The endpoint is the same for all of them."""

from typing import Protocol

from mcp_types import CallToolRequestParams

from pegboard.core.tool import JsonObject
from pegboard.core.view import View

from .answer import Ended
from .direct import BadCursor, Page


class Presentation(Protocol):
    @property
    def instructions(self) -> str:
        """What a client is told about it at the start."""
        ...

    def page(self, view: View, cursor: str | None) -> Page | BadCursor: ...

    def mark(self, view: View) -> bytes:
        """Another one whenever the list has changed."""
        ...

    def input_schema(self, view: View, name: str) -> JsonObject | None: ...

    async def meant(self, asked: CallToolRequestParams, view: View) -> CallToolRequestParams | JsonObject:
        """The call of a tool of the board that this call stands for, or its answer."""
        ...

    def result(self, name: str, ended: Ended) -> JsonObject:
        """How the call of that tool is told to have ended. Raises the protocol's error where it asks for one."""
        ...
