"""Calls of other shapes where JSON should stand between the tags: tags, Python, a name before the object.

Models are served with instructions of another format than they were trained on, and then write their own inside the
marker that they were told. Such a call is read where its shape is plain and it is whole; else the model is told.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import BrokenCallEvent, CallDoneEvent, ParsedCall, TextEvent, marker_set
from pegboard.prompts.python_literals import LiteralError, parse_keywords
from pegboard.prompts.repair import MAX_REPAIR_LENGTH
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE
from pegboard.prompts.scanners.json_calls import CORRECTION, JsonScanner
from pegboard.prompts.scanners.tags import TagScanner, TagSyntax

_TAG: Final = "<function="
_HEAD: Final = re.compile(r"([\w.\-]+)\s*([({])?")
_PYTHON: Final = re.compile(r"([\w.\-]+)\s*\((.*)\)\s*\Z", re.DOTALL)
FUNCTION_TAGS: Final = TagSyntax(
    openers=("<function=",),
    closers=("</function>",),
    call_start="<function=",
    call="<function=(?P<name>[^<>\n]*)>",
    call_close="</function>",
    key_start="<parameter=",
    key="<parameter=(?P<key>[^<>\n]*)>",
    value_close="</parameter>",
    thinking_markers=(),
    trim=True,
)


class ForeignScanner(JsonScanner):
    def after_opener(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list or text[place].isspace() or text[place] in "{[":
            return super().after_opener(text, place, end)
        if text[place] == "<":
            if not self.is_final and end - place < len(_TAG) and _TAG.startswith(text[place:]):
                return ~place
            if text.startswith(_TAG, place):
                self.state = self.in_foreign
                return place
            return super().after_opener(text, place, end)
        head = _HEAD.match(text, place, place + MAX_HEADER_LENGTH)
        if head is None:
            return super().after_opener(text, place, end)
        if head.group(2) is None and head.end() == end and end - place < MAX_HEADER_LENGTH and not self.is_final:
            return ~place
        if head.group(2) == "(":
            self.state = self.in_foreign
            return place
        if head.group(2) == "{" and self.is_known_tool(head.group(1)):
            at = head.end() - 1
            self.source.append(text[place:at])
            self.begin_headed(head.group(1))
            self.add_repair("the name stood before the object")
            return at
        return super().after_opener(text, place, end)

    def in_foreign(self, text: str, place: int, end: int) -> int:
        """Up to the end marker; then the whole is read at once."""
        ends = marker_set(self.syntax.closers)
        found = ends.search(text, place)
        if found is None:
            sure = end if self.is_final else ends.safe_end(text, place, end)
            if sure > place:
                self.source.append(text[place:sure])
            return end if sure == end else ~sure
        if found.start() > place:
            self.source.append(text[place : found.start()])
        self._read_foreign()
        return found.start()

    def at_end(self) -> None:
        head = _HEAD.match(self._inner_text().lstrip()) if self.state == self.in_foreign else None
        if head is not None and not self.is_known_tool(head.group(1)):
            self.treat_as_text()
        super().at_end()

    def _inner_text(self) -> str:
        whole = "".join(self.source)
        self.source = [whole]
        return whole[whole.index(">") + 1 :]

    def _read_foreign(self) -> None:
        body = self._inner_text()
        calls = (
            "it is too long"
            if len(body) > MAX_REPAIR_LENGTH
            else self._read_tags(body)
            if body.lstrip().startswith(_TAG)
            else _read_python_call(body)
        )
        if isinstance(calls, str):
            self.break_call(f"The call was not made: {calls}. {CORRECTION}.")
            return
        for name, arguments, repairs in calls:
            said = json.dumps(dict(arguments), ensure_ascii=False)
            self.start_call(name)
            self.emit_arguments(said)
            for repair in repairs:
                self.add_repair(repair)
            self.complete_call(arguments, said)
        self.state = self.after_call

    def _read_tags(self, body: str) -> "list[tuple[str, Mapping[str, Json], tuple[str, ...]]] | str":
        inner = TagScanner(FUNCTION_TAGS, tuple(self.names.tools.values()))
        events = inner.feed(body) + inner.finish()
        for event in events:
            if isinstance(event, BrokenCallEvent):
                return "its tags cannot be read"
            if isinstance(event, TextEvent) and event.text.strip():
                return "text stands between its tags"
        made: list[ParsedCall] = [event.call for event in events if isinstance(event, CallDoneEvent)]
        told = "the call was written as tags, not as JSON"
        return [(call.name, call.arguments, (told, *call.repairs)) for call in made] or "it is no JSON"


def _read_python_call(body: str) -> "list[tuple[str, Mapping[str, Json], tuple[str, ...]]] | str":
    found = _PYTHON.match(body, SPACE(body, 0).end())
    if found is None:
        return "it is no JSON"
    try:
        named, positional, repairs = parse_keywords(found.group(2))
    except LiteralError as error:
        return f"it is no JSON, and as Python it cannot be read: {error}"
    if positional:
        return "an argument has no name"
    return [(found.group(1), named, ("the call was written as Python, not as JSON", *repairs))]
