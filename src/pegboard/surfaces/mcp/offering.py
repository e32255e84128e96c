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

from pegboard.core.offers import Offered
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.gateway.board import Board

from .direct import PAGE
from .pages import BadCursor
from .wire import DEEPEST, is_deeper, sound_object

REMEMBERED_LISTS: Final = 256
REMEMBERED_OFFERS: Final = 50_000
_CURSOR: Final = "after "

log = logging.getLogger(__name__)


class Kind(Enum):
    """By the member of a result that holds the list."""

    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "resourceTemplates"


@dataclass(frozen=True)
class Leaf:
    """One page of a list, and the cursor of the next."""

    entries: tuple[JsonObject, ...]
    next: str | None


@dataclass(frozen=True)
class Sheet:
    """One whole list. Equal marks mean equal lists."""

    entries: tuple[JsonObject, ...]
    places: Mapping[str, int]
    """How many entries come up to each key, itself included."""
    keys: tuple[str, ...]
    mark: bytes

    def page(self, cursor: str | None) -> Leaf | BadCursor:
        """A cursor names what it comes after, so a page still fits when the list changed before it."""
        start = 0
        if cursor is not None:
            key = _named(cursor)
            if key is None:
                return BadCursor("this is no cursor of this server")
            if key not in self.places:
                return BadCursor("the list changed, and what it points at is gone")
            start = self.places[key]
        end = start + PAGE
        return Leaf(self.entries[start:end], _cursor(self.keys[end - 1]) if end < len(self.entries) else None)


@dataclass(frozen=True)
class _Document:
    body: JsonObject
    sound: JsonObject | None
    """`None` for what no client could read."""
    number: int


class Offering:
    """Works a list out once for each arrangement, and each entry once for as long as it stays the same."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lists: OrderedDict[View, tuple[Offered, Mapping[Kind, Sheet]]] = OrderedDict()
        self._documents: OrderedDict[tuple[Kind, str, str], _Document] = OrderedDict()
        self._numbers = count()

    def sheets(self, view: View) -> Mapping[Kind, Sheet]:
        offered = self._board.offered(view)
        known = self._lists.get(view)
        if known is None or known[0] is not offered:
            known = offered, self._work_out(offered)
            self._lists[view] = known
            while len(self._lists) > REMEMBERED_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(view)
        return known[1]

    def _work_out(self, offered: Offered) -> Mapping[Kind, Sheet]:
        prompts = (
            (str(name), str(source), {**each.body, "name": name}) for name, (source, each) in offered.prompts.items()
        )
        resources = ((uri, str(source), each.body) for uri, (source, each) in offered.resources.items())
        templates = ((text, str(source), each.body) for text, (source, each) in offered.templates.items())
        return {
            Kind.PROMPTS: self._sheet(Kind.PROMPTS, prompts),
            Kind.RESOURCES: self._sheet(Kind.RESOURCES, resources),
            Kind.TEMPLATES: self._sheet(Kind.TEMPLATES, templates),
        }

    def _sheet(self, kind: Kind, entries: Iterable[tuple[str, str, JsonObject]]) -> Sheet:
        bodies: list[JsonObject] = []
        places: dict[str, int] = {}
        numbers = array("Q")
        for key, source, body in entries:
            document = self._document((kind, source, key), body)
            if document.sound is not None:
                bodies.append(document.sound)
                numbers.append(document.number)
                places[key] = len(bodies)
        return Sheet(tuple(bodies), places, tuple(places), hashlib.sha256(numbers.tobytes()).digest())

    def _document(self, key: tuple[Kind, str, str], body: JsonObject) -> _Document:
        known = self._documents.get(key)
        if known is not None and (known.body is body or known.body == body):
            return known
        deep = is_deeper(body, DEEPEST)
        if deep:
            log.warning("%s: %r is nested too deep for clients, and left out", key[1], key[2][:80])
        fresh = self._documents[key] = _Document(body, None if deep else sound_object(body), next(self._numbers))
        self._documents.move_to_end(key)
        while len(self._documents) > REMEMBERED_OFFERS:
            self._documents.popitem(last=False)
        return fresh


def _cursor(key: str) -> str:
    return base64.urlsafe_b64encode(f"{_CURSOR}{key}".encode()).decode()


def _named(cursor: str) -> str | None:
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        return None
    return text.removeprefix(_CURSOR) if text.startswith(_CURSOR) else None
