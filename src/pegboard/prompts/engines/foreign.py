"""Calls of other shapes where JSON should stand between the tags: tags, Python, a name before the object.

Models are served with instructions of another format than they were trained on, and then write their own inside the
marker that they were told. Such a call is read where its shape is plain and it is whole; else the model is told."""

import json
import re
from collections.abc import Mapping
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.events import Broken, Called, Done, Text
from pegboard.prompts.marks import marks
from pegboard.prompts.python_literals import LiteralError, keywords
from pegboard.prompts.repair import LONGEST
from pegboard.prompts.scanner import HEADER_MOST, SPACE

from .json_calls import JsonScanner
from .json_opening import RIGHT
from .tag_signs import Tags
from .tags import TagScanner

_TAG: Final = "<function="
_HEAD: Final = re.compile(r"([\w.\-]+)\s*([({])?")
_PYTHON: Final = re.compile(r"([\w.\-]+)\s*\((.*)\)\s*\Z", re.DOTALL)
INNER: Final = Tags(
    openers=("<function=",),
    closers=("</function>",),
    call_start="<function=",
    call="<function=(?P<name>[^<>\n]*)>",
    call_close="</function>",
    key_start="<parameter=",
    key="<parameter=(?P<key>[^<>\n]*)>",
    value_close="</parameter>",
    thinking=(),
    trim=True,
)


class ForeignScanner(JsonScanner):
    def opened(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list or text[place].isspace() or text[place] in "{[":
            return super().opened(text, place, end)
        if text[place] == "<":
            if not self.final and end - place < len(_TAG) and _TAG.startswith(text[place:]):
                return ~place
            if text.startswith(_TAG, place):
                self.state = self.in_foreign
                return place
            return super().opened(text, place, end)
        head = _HEAD.match(text, place, place + HEADER_MOST)
        if head is None:
            return super().opened(text, place, end)
        if head.group(2) is None and head.end() == end and end - place < HEADER_MOST and not self.final:
            return ~place
        if head.group(2) == "(":
            self.state = self.in_foreign
            return place
        if head.group(2) == "{" and self.known(head.group(1)):
            at = head.end() - 1
            self.source.append(text[place:at])
            self.begin_headed(head.group(1))
            self.repaired("the name stood before the object")
            return at
        return super().opened(text, place, end)

    def in_foreign(self, text: str, place: int, end: int) -> int:
        """Up to the end marker; then the whole is read at once."""
        ends = marks(self.signs.closers)
        found = ends.search(text, place)
        if found is None:
            sure = end if self.final else ends.hold(text, place, end)
            if sure > place:
                self.source.append(text[place:sure])
            return end if sure == end else ~sure
        if found.start() > place:
            self.source.append(text[place : found.start()])
        self._read_foreign()
        return found.start()

    def at_end(self) -> None:
        head = _HEAD.match(self._body().lstrip()) if self.state == self.in_foreign else None
        if head is not None and not self.known(head.group(1)):
            self.not_a_call()
        super().at_end()

    def _body(self) -> str:
        whole = "".join(self.source)
        self.source = [whole]
        return whole[whole.index(">") + 1 :]

    def _read_foreign(self) -> None:
        body = self._body()
        calls = (
            "it is too long"
            if len(body) > LONGEST
            else self._tagged(body)
            if body.lstrip().startswith(_TAG)
            else _python(body)
        )
        if isinstance(calls, str):
            self.broken(f"The call was not made: {calls}. {RIGHT}.")
            return
        for name, arguments, repairs in calls:
            said = json.dumps(dict(arguments), ensure_ascii=False)
            self.start(name)
            self.argue(said)
            for repair in repairs:
                self.repaired(repair)
            self.done(arguments, said)
        self.state = self.after

    def _tagged(self, body: str) -> "list[tuple[str, Mapping[str, Json], tuple[str, ...]]] | str":
        inner = TagScanner(INNER, tuple(self.names.tools.values()))
        events = inner.feed(body) + inner.finish()
        for event in events:
            if isinstance(event, Broken):
                return "its tags cannot be read"
            if isinstance(event, Text) and event.text.strip():
                return "text stands between its tags"
        made: list[Called] = [event.call for event in events if isinstance(event, Done)]
        told = "the call was written as tags, not as JSON"
        return [(call.name, call.arguments, (told, *call.repairs)) for call in made] or "it is no JSON"


def _python(body: str) -> "list[tuple[str, Mapping[str, Json], tuple[str, ...]]] | str":
    found = _PYTHON.match(body, SPACE(body, 0).end())
    if found is None:
        return "it is no JSON"
    try:
        named, positional, repairs = keywords(found.group(2))
    except LiteralError as error:
        return f"it is no JSON, and as Python it cannot be read: {error}"
    if positional:
        return "an argument has no name"
    return [(found.group(1), named, ("the call was written as Python, not as JSON", *repairs))]
