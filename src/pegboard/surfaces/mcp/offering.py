"""Prompts, resources and templates as one caller is shown them, in the order of the board, page by page."""

import base64
import binascii
import hashlib
import logging
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import Final

from pegboard.core.offers import ResourceView
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.gateway.board import BoardState

from .direct import PAGE_SIZE
from .pages import BadCursor
from .wire import MAX_DEPTH, is_deeper_than, sanitize_object

MAX_CACHED_LISTS: Final = 256
MAX_CACHED_RESOURCES: Final = 50_000
_CURSOR_PREFIX: Final = "after "

log = logging.getLogger(__name__)


class ResourceListKind(Enum):
    """By the member of a result that holds the list."""

    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "resourceTemplates"


@dataclass(frozen=True)
class ResourceListPage:
    """One page of a list, and the cursor of the next."""

    entries: tuple[JsonObject, ...]
    next: str | None


@dataclass(frozen=True)
class ResourceList:
    """One whole list. Equal marks mean equal lists."""

    entries: tuple[JsonObject, ...]
    positions: Mapping[str, int]
    """How many entries come up to each key, itself included."""
    keys: tuple[str, ...]
    fingerprint: bytes

    def page(self, cursor: str | None) -> ResourceListPage | BadCursor:
        """A cursor names what it comes after, so a page still fits when the list changed before it."""
        start = 0
        if cursor is not None:
            key = _decode_cursor(cursor)
            if key is None:
                return BadCursor("this is no cursor of this server")
            if key not in self.positions:
                return BadCursor("the list changed, and what it points at is gone")
            start = self.positions[key]
        end = start + PAGE_SIZE
        return ResourceListPage(
            self.entries[start:end], _encode_cursor(self.keys[end - 1]) if end < len(self.entries) else None
        )


@dataclass(frozen=True)
class _ResourceDocument:
    body: JsonObject
    sanitized_body: JsonObject | None
    """`None` for what no client could read."""
    number: int


class ResourceLists:
    """Works a list out once for each arrangement, and each entry once for as long as it stays the same."""

    def __init__(self, board: BoardState) -> None:
        self._board = board
        self._lists: OrderedDict[View, tuple[ResourceView, Mapping[ResourceListKind, ResourceList]]] = OrderedDict()
        self._documents: OrderedDict[tuple[ResourceListKind, str, str], _ResourceDocument] = OrderedDict()
        self._numbers = count()

    def lists_for(self, view: View) -> Mapping[ResourceListKind, ResourceList]:
        offered = self._board.resource_view(view)
        known = self._lists.get(view)
        if known is None or known[0] is not offered:
            known = offered, self._build_lists(offered)
            self._lists[view] = known
            while len(self._lists) > MAX_CACHED_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(view)
        return known[1]

    def _build_lists(self, offered: ResourceView) -> Mapping[ResourceListKind, ResourceList]:
        prompts = (
            (str(name), str(source), {**each.body, "name": name}) for name, (source, each) in offered.prompts.items()
        )
        resources = ((uri, str(source), each.body) for uri, (source, each) in offered.resources.items())
        templates = ((text, str(source), each.body) for text, (source, each) in offered.templates.items())
        return {
            ResourceListKind.PROMPTS: self._build_list(ResourceListKind.PROMPTS, prompts),
            ResourceListKind.RESOURCES: self._build_list(ResourceListKind.RESOURCES, resources),
            ResourceListKind.TEMPLATES: self._build_list(ResourceListKind.TEMPLATES, templates),
        }

    def _build_list(self, kind: ResourceListKind, entries: Iterable[tuple[str, str, JsonObject]]) -> ResourceList:
        bodies: list[JsonObject] = []
        places: dict[str, int] = {}
        numbers = array("Q")
        for key, source, body in entries:
            document = self._document((kind, source, key), body)
            if document.sanitized_body is not None:
                bodies.append(document.sanitized_body)
                numbers.append(document.number)
                places[key] = len(bodies)
        return ResourceList(tuple(bodies), places, tuple(places), hashlib.sha256(numbers.tobytes()).digest())

    def _document(self, key: tuple[ResourceListKind, str, str], body: JsonObject) -> _ResourceDocument:
        known = self._documents.get(key)
        if known is not None and (known.body is body or known.body == body):
            return known
        deep = is_deeper_than(body, MAX_DEPTH)
        if deep:
            log.warning("%s: %r is nested too deep for clients, and left out", key[1], key[2][:80])
        fresh = self._documents[key] = _ResourceDocument(
            body, None if deep else sanitize_object(body), next(self._numbers)
        )
        self._documents.move_to_end(key)
        while len(self._documents) > MAX_CACHED_RESOURCES:
            self._documents.popitem(last=False)
        return fresh


def _encode_cursor(key: str) -> str:
    return base64.urlsafe_b64encode(f"{_CURSOR_PREFIX}{key}".encode()).decode()


def _decode_cursor(cursor: str) -> str | None:
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        return None
    return text.removeprefix(_CURSOR_PREFIX) if text.startswith(_CURSOR_PREFIX) else None
