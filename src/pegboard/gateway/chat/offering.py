"""Whose tool the model means by a name: the client's own goes before every other, and ours of that name has another."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.presentations.deferred import SEARCH, TOOLS
from pegboard.core.tool import Json, JsonObject
from pegboard.prompts.building import CLASH_REASON, BuiltPrompt, OfferedTool
from pegboard.prompts.shapes import ToolShape

SEARCH_TOOL: Final = TOOLS[SEARCH]


@dataclass(frozen=True)
class ToolOffer:
    """What one turn of the model is told of."""

    prompt: BuiltPrompt
    client_tools: frozenset[str]
    """The names of all tools that the client brought, whether the prompt had room for them or not."""

    @cached_property
    def gateway_tools(self) -> dict[str, ToolId]:
        """Tools of the board and of the gateway's own, by the names that the model sees. tool_search may be called
        whether the model is told of it or not."""
        named = {each.shape.name: each.id for each in self.prompt.offered_tools if each.id is not None}
        may_search = self.prompt.capabilities.may_search and SEARCH not in self.client_tools
        if may_search and SEARCH_TOOL.id not in named.values():
            named.setdefault(SEARCH, SEARCH_TOOL.id)
        return named

    @property
    def reserved_names(self) -> frozenset[str]:
        """Names that no tool of the board has here: the client's, and those of the gateway's own tools."""
        return self.client_tools | {
            name for name, id in self.gateway_tools.items() if isinstance(id.source, BuiltinKey)
        }

    @property
    def search_tool(self) -> str | None:
        """By which the model finds others, where it may."""
        return next((name for name, id in self.gateway_tools.items() if id == SEARCH_TOOL.id), None)

    def shape(self, name: str) -> ToolShape | None:
        return next((each.shape for each in self.prompt.offered_tools if each.shape.name == name), None)

    @property
    def name_clashes(self) -> list[str]:
        """Tools of ours that have another name here, or none, because a tool of the client's has theirs."""
        named = [
            (self._own_name(each.id), each.shape.name) for each in self.prompt.offered_tools if each.id is not None
        ]
        told = [
            f"{own!r} is called {here!r} here: a tool of the client's own has that name."
            for own, here in named
            if own in self.client_tools
        ]
        out = (ruling.subject for ruling in self.prompt.left_out if ruling.why == CLASH_REASON)
        return [*told, *(f"{subject} is left out: a tool of the client's own has its name." for subject in out)]

    def _own_name(self, id: ToolId) -> str:
        return id.name if isinstance(id.source, BuiltinKey) else self.prompt.capabilities.resolution.names[id]

    @property
    def tool_schemas(self) -> list[Json]:
        return [self._tool_schema(each) for each in self.prompt.offered_tools]

    def _tool_schema(self, each: OfferedTool) -> JsonObject:
        if each.id is None:
            return {"name": each.shape.name, "tool": None, "why": "the client brought it", "tokens": each.tokens}
        why = self.prompt.decision(each.id).why
        return {"name": each.shape.name, "tool": str(each.id), "why": why, "tokens": each.tokens}
