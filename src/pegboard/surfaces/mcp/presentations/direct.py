"""The direct presentation: every open tool, in the order of the board."""

import base64
import binascii
import hashlib
import logging
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec

from pegboard.core.calls.tickets import TICKET, TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import MAX_READABLE_DEPTH, Json, JsonObject, LazyJson
from pegboard.core.model.databases import DatabaseTool
from pegboard.core.model.ids import ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.tool import JsonSchema, Tool
from pegboard.gateway.board import BoardState
from pegboard.surfaces.mcp.presentations.base import BoardCall
from pegboard.surfaces.mcp.results import BadCursor, ToolPage, result_of
from pegboard.surfaces.mcp.wire import is_deeper_than, is_sendable, is_sendable_text, sanitize_object

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams


PAGE_SIZE: Final = 5_000
"""Many clients never ask for a second page, and some list again for each call of a tool they did not see."""

INSTRUCTIONS: Final = (
    "These tools come from several servers behind one gateway. A call that is refused says why and what to do; "
    "when it tells you to ask the user, ask, and do not look for a way around it. "
    "Tools come and go: list them again when you are told that the list changed."
)

MAX_CACHED_LISTS: Final = 256
MAX_CACHED_TOOLS: Final = 50_000
_CURSOR_PREFIX: Final = "after:"

log = logging.getLogger(__name__)
_ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True)
class ToolList:
    """What one caller is shown. Equal marks mean equal lists, so a change is noticed without comparing the tools."""

    resolution: Resolution
    fragments: tuple[bytes, ...]
    """The tools, each as text: as objects they would take many times the room."""
    fingerprint: bytes
    positions: Mapping[WireName, int]
    """How many of the tools come up to each name that this caller may know of, itself included."""

    def page_start(self, cursor: str | None) -> int | BadCursor:
        """Where the page of this cursor begins."""
        if cursor is None:
            return 0
        name = _decode_cursor(cursor)
        if name is None:
            return BadCursor("this is no cursor of this server")
        place = self.positions.get(name)
        return BadCursor("the list changed, and the tool it points at is gone") if place is None else place

    def next_cursor(self, start: int) -> str | None:
        """The cursor of the page after the one that begins here."""
        end = start + PAGE_SIZE
        if end >= len(self.fragments):
            return None
        name: str = msgspec.json.decode(self.fragments[end - 1])["name"]
        return _encode_cursor(name)


@dataclass(frozen=True, slots=True)
class _ToolDocument:
    tool: Tool
    title: str | None
    description: str | None
    fragment: bytes
    number: int


PASSTHROUGH_MEMBERS: Final = ("icons", "execution", "_meta")
"""What the protocol knows of a tool beside its definition. Nothing else: an approval does not cover it."""


class DirectPresentation:
    """Works a list out once for each resolution, and each tool's document once for as long as it stays the same."""

    def __init__(self, board: BoardState) -> None:
        self._board = board
        self._lists: OrderedDict[View, ToolList] = OrderedDict()
        self._documents: OrderedDict[tuple[ToolId, WireName, tuple[str, ...]], _ToolDocument] = OrderedDict()
        self._numbers = count()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def fingerprint(self, view: View) -> bytes:
        return self.tool_list(view).fingerprint

    def resolve_call(self, asked: "CallToolRequestParams", view: View) -> BoardCall:
        """Every tool is shown as itself, so a call is one of itself."""
        return BoardCall(asked, partial(result_of, asked.name))

    def tool_list(self, view: View) -> ToolList:
        resolution = self._board.resolution(view)
        known = self._lists.get(view)
        if known is not None and known.resolution is resolution:
            self._lists.move_to_end(view)
            return known
        fresh = self._build_list(resolution)
        self._lists[view] = fresh
        self._lists.move_to_end(view)
        while len(self._lists) > MAX_CACHED_LISTS:
            self._lists.popitem(last=False)
        return fresh

    def page(self, view: View, cursor: str | None) -> ToolPage | BadCursor:
        """A cursor names the tool it comes after, so a page still fits when the board changed before it."""
        shown = self.tool_list(view)
        start = shown.page_start(cursor)
        if isinstance(start, BadCursor):
            return start
        tools = tuple(msgspec.json.decode(fragment) for fragment in shown.fragments[start : start + PAGE_SIZE])
        return ToolPage(tools, shown.next_cursor(start))

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        """Of an open tool only: the schema of a locked one is withheld."""
        resolution = self._board.resolution(view)
        id = resolution.find_tool(name)
        verdict = None if id is None else resolution.verdicts[id]
        return dict(verdict.visible_tool.spec.input_schema) if isinstance(verdict, OpenTool) else None

    def _build_list(self, resolution: Resolution) -> ToolList:
        fragments: list[bytes] = []
        numbers = array("Q")
        asks = False
        places: dict[WireName, int] = {}
        for id, name in resolution.names.items():
            verdict = resolution.verdicts[id]
            if isinstance(verdict, OpenTool):
                asks |= verdict.confirm
                document = self._document(verdict.visible_tool, name)
                fragments.append(document.fragment)
                numbers.append(document.number)
            places[name] = len(fragments)
        if asks:
            # Only who may be given a ticket is shown how to wait for one.
            fragments.append(_TICKET_DOCUMENT)
            numbers.append(_TICKET_NUMBER)
            places[TICKET_TOOL] = len(fragments)
        mark = hashlib.sha256(numbers.tobytes()).digest()
        return ToolList(resolution, tuple(fragments), mark, places)

    def _document(self, tool: Tool, name: WireName) -> _ToolDocument:
        look = self._board.policy.overrides.for_tool(tool.id)
        # To each of its callers a tool over databases is over those that it may ask.
        key = tool.id, name, tool.ids if isinstance(tool, DatabaseTool) else ()
        known = self._documents.get(key)
        said = look.name_override, look.description_override
        if known is not None and known.tool is tool and (known.title, known.description) == said:
            return known
        fragment = tool_text(tool, name, *said)
        # A server that came back with the same tools has changed nothing that a client sees.
        number = known.number if known is not None and known.fragment == fragment else next(self._numbers)
        fresh = self._documents[key] = _ToolDocument(tool, *said, fragment, number)
        self._documents.move_to_end(key)
        while len(self._documents) > MAX_CACHED_TOOLS:
            self._documents.popitem(last=False)
        return fresh


def tool_text(tool: Tool, name: WireName, title: str | None = None, description: str | None = None) -> bytes:
    """A tool as the protocol writes it; the title and description that people gave it stand before its own."""
    members: dict[str, str | msgspec.Raw] = {"name": name}
    for key, value in _members(tool, title, description).items():
        if isinstance(value, LazyJson) and is_sendable_text(value.text):
            members[key] = msgspec.Raw(value.text)
        elif isinstance(value, str):
            members[key] = value
        else:
            return _encode_exact(tool_document(tool, name, title, description))
    try:
        return _encode_exact(members)
    except UnicodeEncodeError:  # half a character in a title or a description
        return _encode_exact(tool_document(tool, name, title, description))


def _encode_exact(members: Mapping[str, object]) -> bytes:
    """To its length: what the encoder gives back by itself takes up to twice the room."""
    text = bytearray()
    _ENCODER.encode_into(members, text)
    return bytes(text)


def tool_document(tool: Tool, name: WireName, title: str | None = None, description: str | None = None) -> JsonObject:
    """The same as an object, without what no client could read."""
    body: JsonObject = {"name": name}
    for key, value in _members(tool, title, description).items():
        body[key] = dict(value) if isinstance(value, Mapping) else value
    return body if is_sendable(body) else _sanitize_document(tool, body)


def _members(tool: Tool, title: str | None, description: str | None) -> dict[str, Json | JsonSchema]:
    spec = tool.spec
    told: dict[str, Json | JsonSchema] = {
        "title": spec.title if title is None else title,
        "description": spec.description if description is None else description,
        "inputSchema": spec.input_schema,
        "outputSchema": spec.output_schema,
        "annotations": spec.annotations,
    }
    members = {key: value for key, value in told.items() if value is not None and value != ""}
    return members | {key: tool.extra[key] for key in PASSTHROUGH_MEMBERS if key in tool.extra}


def _sanitize_document(tool: Tool, body: JsonObject) -> JsonObject:
    """Without what no client could read: one such member would make the whole list unreadable."""
    deep = [key for key, value in body.items() if is_deeper_than(value, MAX_READABLE_DEPTH)]
    log.warning("%s: clients cannot be sent all of it (nested too deep: %s)", tool.id, ", ".join(deep) or "nothing")
    rest = {key: value for key, value in body.items() if key not in deep}
    return sanitize_object({**rest, "inputSchema": rest.get("inputSchema", {"type": "object"})})


_TICKET_DOCUMENT: Final = tool_text(TICKET, TICKET_TOOL)
_TICKET_NUMBER: Final = 2**64 - 1
"""One that counting up does not reach."""


def _encode_cursor(name: str) -> str:
    return base64.urlsafe_b64encode(f"{_CURSOR_PREFIX}{name}".encode()).decode()


def _decode_cursor(cursor: str) -> WireName | None:
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        return None
    return WireName(text.removeprefix(_CURSOR_PREFIX)) if text.startswith(_CURSOR_PREFIX) else None
