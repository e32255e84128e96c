"""The tools that stay listed beside a presentation's own, worked out once for each resolution."""

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from pegboard.core.ids import ToolId, WireName
from pegboard.core.presentations.kept import kept, kept_open
from pegboard.core.resolve import Resolution
from pegboard.core.tool import JsonObject, JsonSchema
from pegboard.core.view import View
from pegboard.gateway.board import Board

from .direct import tool_document

REMEMBERED: Final = 256
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True)
class Shelf:
    resolution: Resolution
    names: Mapping[WireName, ToolId]
    """Open or locked: a call of one that was just locked is told why."""
    documents: tuple[JsonObject, ...]
    """Of the open ones."""
    schemas: Mapping[WireName, JsonSchema]
    mark: bytes


class Beside:
    def __init__(self, board: Board, taken: Collection[str]) -> None:
        """What is `taken` are names of the presentation's own tools."""
        self._board = board
        self._taken = frozenset(taken)
        self._shelves: OrderedDict[View, Shelf] = OrderedDict()

    def of(self, view: View) -> Shelf:
        resolution = self._board.resolution(view)
        known = self._shelves.get(view)
        if known is None or known.resolution is not resolution:
            known = self._shelves[view] = self._work_out(resolution)
            while len(self._shelves) > REMEMBERED:
                self._shelves.popitem(last=False)
        self._shelves.move_to_end(view)
        return known

    def _work_out(self, resolution: Resolution) -> Shelf:
        policy = self._board.policy
        named = kept(resolution, policy.declared.presenting, self._taken)
        documents: list[JsonObject] = []
        schemas: dict[WireName, JsonSchema] = {}
        for name, tool in kept_open(resolution, named):
            look = policy.overrides.for_tool(tool.id)
            documents.append(tool_document(tool, name, look.name_override, look.description_override))
            schemas[name] = tool.spec.input_schema
        mark = hashlib.sha256(_ENCODER.encode(documents)).digest()
        return Shelf(resolution, named, tuple(documents), schemas, mark)
