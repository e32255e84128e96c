"""The tools that stay listed beside a presentation's own, worked out once for each resolution."""

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from pegboard.core.ids import ToolId, WireName
from pegboard.core.presentations.kept import open_pinned_tools, pinned_tools
from pegboard.core.resolve import Resolution
from pegboard.core.tool import JsonObject, JsonSchema
from pegboard.core.view import View
from pegboard.gateway.board import BoardState

from .direct import tool_document

MAX_CACHED_LISTS: Final = 256
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True)
class PinnedToolList:
    resolution: Resolution
    names: Mapping[WireName, ToolId]
    """Open or locked: a call of one that was just locked is told why."""
    documents: tuple[JsonObject, ...]
    """Of the open ones."""
    schemas: Mapping[WireName, JsonSchema]
    fingerprint: bytes


class PinnedTools:
    def __init__(self, board: BoardState, taken: Collection[str]) -> None:
        """What is `taken` are names of the presentation's own tools."""
        self._board = board
        self._reserved_names = frozenset(taken)
        self._lists: OrderedDict[View, PinnedToolList] = OrderedDict()

    def for_view(self, view: View) -> PinnedToolList:
        resolution = self._board.resolution(view)
        known = self._lists.get(view)
        if known is None or known.resolution is not resolution:
            known = self._lists[view] = self._build_list(resolution)
            while len(self._lists) > MAX_CACHED_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(view)
        return known

    def _build_list(self, resolution: Resolution) -> PinnedToolList:
        policy = self._board.policy
        named = pinned_tools(resolution, policy.declared.presentation, self._reserved_names)
        documents: list[JsonObject] = []
        schemas: dict[WireName, JsonSchema] = {}
        for name, tool in open_pinned_tools(resolution, named):
            look = policy.overrides.for_tool(tool.id)
            documents.append(tool_document(tool, name, look.name_override, look.description_override))
            schemas[name] = tool.spec.input_schema
        mark = hashlib.sha256(_ENCODER.encode(documents)).digest()
        return PinnedToolList(resolution, named, tuple(documents), schemas, mark)
