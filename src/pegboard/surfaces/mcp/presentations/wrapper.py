"""Shared by presentations with tools of their own: listing, checking and calling."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import anyio
import msgspec

from pegboard.core.calls.call import (
    Arguments,
    BadArguments,
    LockedToolRefusal,
    ToolSuccess,
    UnknownTool,
    find_open_tool,
    refusal_text,
)
from pegboard.core.calls.tickets import TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import JsonObject
from pegboard.core.model.foreign_names import TOOLS, near_tools
from pegboard.core.model.ids import ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.settings import SEARCH
from pegboard.core.model.tool import JsonSchema, Tool
from pegboard.core.presentations.own_tools import CALL_TOOL, open_pinned_tools, pinned_tools
from pegboard.core.presentations.search import schema_hint
from pegboard.gateway.board import BoardState
from pegboard.gateway.builtins import builtin_refusal
from pegboard.gateway.tool_calls import AnswerCall, PresentationAnswer
from pegboard.gateway.validation import Validators
from pegboard.surfaces.mcp.gateway_parts import PresentationParts
from pegboard.surfaces.mcp.presentations.base import BoardCall, OwnCall
from pegboard.surfaces.mcp.presentations.direct import tool_document
from pegboard.surfaces.mcp.protocol import INVALID_PARAMS, ProtocolError
from pegboard.surfaces.mcp.results import BadCursor, CallOutcome, ToolPage, error_result, result_of
from pegboard.surfaces.mcp.wire import sanitize_object, sanitize_text

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams


# The tools that stay listed beside a presentation's own, worked out once for each resolution.

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


STARTUP_WAIT_S: Final = 3.0
"""Seconds that an answer waits for servers that are starting: what is not listed yet cannot be found."""


class WrappingPresentation(ABC):
    """Its own tools never change. What is found by them does, and is asked of the board each time."""

    call_arguments: ClassVar[tuple[str, str]] = "name", "arguments"
    """The arguments of call_tool that say which tool is called, and with what."""
    schema_tool: ClassVar[str]
    """The tool that tells the whole schema of another."""

    def __init__(
        self,
        parts: PresentationParts,
        name: str,
        tools: Mapping[str, Tool],
        found_by: str,
        ready: anyio.Event | None = None,
        *,
        also: Sequence[str] = (),
    ) -> None:
        """`found_by` is the tool that names others; `also` are names of the presentation's own beside `tools`. Until
        `ready`, an answer waits; without it, a moment for what is starting."""
        self.name: Final = name
        self._parts = parts
        self._tools = tools
        self._own_names = (*tools, *also)
        self._search_tool = found_by
        self._ready = ready
        self._validators = Validators()
        self._pinned = PinnedTools(parts.board, (*tools, *also))
        self._all_own_documents = tuple(tool_document(tool, WireName(name)) for name, tool in tools.items())
        self._own_fingerprint = hashlib.sha256(json.dumps(self._all_own_documents).encode()).digest()

    def page(self, view: View, cursor: str | None) -> ToolPage | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return ToolPage((*self._own_documents(view), *self._pinned.for_view(view).documents), None)

    def fingerprint(self, view: View) -> bytes:
        own = self._own_documents(view)
        mark = self._own_fingerprint if len(own) == len(self._all_own_documents) else json.dumps(own).encode()
        return hashlib.sha256(mark + self._pinned.for_view(view).fingerprint).digest()

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        tool = self._tools.get(name)
        if tool is not None and self._refusal(tool, view) is not None:
            return None
        schema = self._pinned.for_view(view).schemas.get(WireName(name)) if tool is None else tool.spec.input_schema
        return None if schema is None else dict(schema)

    def resolve_call(self, asked: "CallToolRequestParams", view: View) -> BoardCall | OwnCall:
        tool, arguments = self._tools.get(asked.name), asked.arguments or {}
        if tool is None:
            # The tool of tickets is not listed here, but the answer to a call that must be confirmed tells of it.
            if asked.name == TICKET_TOOL or WireName(asked.name) in self._pinned.for_view(view).names:
                return BoardCall(asked, partial(result_of, asked.name), self.name)
            return self._refuse_unlisted(asked.name, view)
        if (refusal := self._refusal(tool, view)) is not None:
            return self._refuse_disabled(refusal)
        if problems := self._validators.problems(tool, arguments):
            schema = self._target_schema(arguments, view) if tool.id.name == CALL_TOOL else ()
            return self.refuse_arguments(BadArguments(tool.id, problems), tool.id, schema)
        return self._resolve_own_call(tool, arguments, view)

    def _own_documents(self, view: View) -> tuple[JsonObject, ...]:
        tools = self._tools.values()
        return tuple(
            [
                each
                for each, tool in zip(self._all_own_documents, tools, strict=True)
                if self._refusal(tool, view) is None
            ]
        )

    def _refusal(self, tool: Tool, view: View) -> LockedToolRefusal | UnknownTool | None:
        """Of the tools that presentations have, tool_search is the one that can be taken away by its name."""
        return builtin_refusal(self._parts.calls.verdict_on_search(view)) if tool.id.name == SEARCH else None

    def _refuse_disabled(self, refusal: LockedToolRefusal | UnknownTool) -> OwnCall:
        async def answer() -> UnknownTool | LockedToolRefusal:
            return refusal

        def result(ended: PresentationAnswer) -> JsonObject:
            if isinstance(refusal, LockedToolRefusal):
                return error_result(refusal_text(refusal))
            raise ProtocolError(INVALID_PARAMS, sanitize_text(refusal_text(refusal)))

        return OwnCall(refusal.tool if isinstance(refusal, LockedToolRefusal) else None, answer, result, self.name)

    @abstractmethod
    def _resolve_own_call(self, tool: Tool, arguments: Arguments, view: View) -> BoardCall | OwnCall:
        """What a call of one of its own tools stands for. Its arguments fit the schema, so each is of its kind."""

    def board_call(self, name: str, arguments: Arguments, view: View) -> BoardCall:
        from mcp_types import CallToolRequestParams

        call = CallToolRequestParams(name=name, arguments=dict(arguments))
        return BoardCall(call, partial(self._board_result, name, view), self.name)

    def own_call(self, tool: Tool, answer: AnswerCall) -> OwnCall:
        return OwnCall(tool.id, answer, partial(self._own_result, tool.id.name), self.name)

    def refuse_arguments(self, refusal: BadArguments, tool: ToolId, schema: Sequence[str] = ()) -> OwnCall:
        """With the lines of a `schema` that tells what would have fitted."""

        async def answer() -> BadArguments:
            return refusal

        def result(ended: PresentationAnswer) -> JsonObject:
            return error_result("\n".join((refusal_text(refusal), *schema)))

        return OwnCall(tool, answer, result if schema else partial(self._own_result, tool.name), self.name)

    def _target_schema(self, arguments: Arguments, view: View) -> Sequence[str]:
        """Of the tool that a call of call_tool names, whatever else is wrong with that call: models write the
        arguments as text, or beside the name."""
        name, resolution = arguments.get(self.call_arguments[0]), self._parts.board.resolution(view)
        if not isinstance(name, str):
            return ()
        id = resolution.find_tool(name)
        where = f"The tool's own arguments go into {self.call_arguments[1]!r}, as an object and not as text."
        return (where,) if id is None else (where, *schema_hint(id, resolution, self.schema_tool))

    def _refuse_unlisted(self, name: str, view: View) -> OwnCall:
        """A name that is not in the list. That of a tool of the board is told to the model, which has found it and
        calls it by itself; any other is the client's mistake, and told by the protocol's error."""
        found = find_open_tool(name, self._parts.board.resolution(view))
        unknown = UnknownTool(name, *near_tools(name, self._own_names))
        if isinstance(found, OpenTool):
            unknown = UnknownTool(name, (), f"Here it is called with {CALL_TOOL}.")
        refusal = found if isinstance(found, LockedToolRefusal) else unknown

        async def answer() -> UnknownTool | LockedToolRefusal:
            return refusal

        def result(ended: PresentationAnswer) -> JsonObject:
            if isinstance(found, LockedToolRefusal):
                return error_result(refusal_text(found))
            if isinstance(found, OpenTool):
                tool, given = self.call_arguments
                call = json.dumps({tool: name, given: {}}, ensure_ascii=False)
                return error_result(f"{name!r} is not in this list of tools. Call it with {CALL_TOOL}: {call}")
            told = f"{refusal_text(unknown, self._search_tool)} What it finds is called with {CALL_TOOL}."
            raise ProtocolError(INVALID_PARAMS, sanitize_text(told))

        return OwnCall(found.tool if isinstance(found, LockedToolRefusal) else None, answer, result, self.name)

    def _board_result(self, name: str, view: View, ended: CallOutcome) -> JsonObject:
        """That there is no such tool is for the model to read: it made up the name, not its client."""
        match ended:
            case UnknownTool(unknown, near):
                # By a name that another program has for one of this list, which the board does not know.
                if not near and TOOLS.get(unknown) in self._own_names:
                    ended = replace(ended, suggestions=(TOOLS[unknown],), why="")
                return error_result(refusal_text(ended, self._search_tool))
            case BadArguments(id):
                # The model has not read the schema, or not all of it: with it, the next call can be right.
                schema = schema_hint(id, self._parts.board.resolution(view), self.schema_tool)
                return error_result("\n".join((refusal_text(ended), *schema)))
            case _:
                return result_of(name, ended)

    def _own_result(self, name: str, ended: PresentationAnswer) -> JsonObject:
        match ended:
            case UnknownTool():
                return error_result(refusal_text(ended, self._search_tool))
            case _:
                return result_of(name, ended)

    async def wait_until_ready(self) -> None:
        if self._ready is not None:
            await self._ready.wait()
        else:
            await self._parts.board.wait_until_started(STARTUP_WAIT_S)


def json_result(body: JsonObject, meta: JsonObject | None = None) -> ToolSuccess:
    text = json.dumps(sanitize_object(body), ensure_ascii=False, separators=(",", ":"))
    result: JsonObject = {"content": [{"type": "text", "text": text}]}
    return ToolSuccess(json.dumps(result if meta is None else {**result, "_meta": meta}, ensure_ascii=False).encode())


def to_tool_answer(found: JsonObject | UnknownTool | LockedToolRefusal) -> PresentationAnswer:
    return found if isinstance(found, UnknownTool | LockedToolRefusal) else json_result(found)
