"""MiniMax M3: tags behind a prefix of their own, an argument's name as its tag, objects and lists as tags in tags."""

import re
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.coercion import Value, schema_of
from pegboard.prompts.engines.tag_signs import Tags
from pegboard.prompts.engines.tags import TagScanner
from pegboard.prompts.literal import DEEPEST
from pegboard.prompts.typed import Bare, settled, typed

from .tagged import NAME, Tagged

PREFIX: Final = "]<]minimax[>["
ITEM: Final = "item"
"""The tag of each element of a list."""

_quoted: Final = re.escape(PREFIX)
_tag: Final = re.compile(_quoted + r"<(/?)([^<>/\s]+)>")
_safe: Final = re.compile(r"[^<>/\s\"'=]+\Z").match


class TreeScanner(TagScanner):
    """A tag inside a value may have the name of the argument, so the open ones are counted."""

    counted, open_tags = 0, 0

    def begin_raw(self) -> None:
        super().begin_raw()
        self.counted, self.open_tags = 0, 0

    def is_inner(self) -> bool:
        self.open_tags += "".join(self.raw[self.counted :]).count(f"{PREFIX}<{self.key}>")
        self.counted = len(self.raw)
        if not self.open_tags:
            return False
        self.open_tags -= 1
        return True

    def read(self, raw: str) -> Value | str:
        if PREFIX not in raw:
            return super().read(raw)
        value = tree(raw)
        if value is None:
            return "has tags that are not closed in order"
        schema = schema_of(self.tool, self.key)
        return settled(value, schema, self.tool.parameters if self.tool else {}), ()


def tree(raw: str) -> Json:
    """The object or list that tags in a value are; None where they do not close as they opened."""
    open_tags: list[tuple[str, list[tuple[str, Json]]]] = [("", [])]
    place = 0
    said = ""
    for found in _tag.finditer(raw):
        said = raw[place : found.start()]
        place = found.end()
        closing, name = found.groups()
        if not closing:
            if said.strip() or len(open_tags) > DEEPEST:
                return None
            open_tags.append((name, []))
            continue
        opened, members = open_tags.pop()
        if opened != name or not open_tags or (members and said.strip()):
            return None
        open_tags[-1][1].append((name, _of(members) if members else Bare(said)))
    if len(open_tags) != 1 or raw[place:].strip() or PREFIX in said:
        return None
    return _of(open_tags[0][1])


def _of(members: list[tuple[str, Json]]) -> Json:
    names = {name for name, _ in members}
    if names == {ITEM} or len(names) < len(members):
        return [value for _, value in members] if len(names) == 1 else None
    return dict(members)


class Trees(Tagged):
    def value_text(self, value: Json) -> str:
        if isinstance(value, dict | list) and value and _plain(value):
            members = value.items() if isinstance(value, dict) else ((ITEM, one) for one in value)
            return "".join(f"{PREFIX}<{key}>{self.value_text(one)}{PREFIX}</{key}>" for key, one in members)
        return super().value_text(value)


def _plain(value: Json) -> bool:
    """Whether it reads back from tags alone: JSON does where a key is no tag, or a text looks like a number."""
    match value:
        case str():
            return typed(value, None)[0] == value and PREFIX not in value
        case dict():
            return bool(value) and ITEM not in value and all(_safe(key) and _plain(one) for key, one in value.items())
        case list():
            return bool(value) and all(map(_plain, value))
        case _:
            return True


FORMAT: Final = Trees(
    name="minimax_m3",
    signs=Tags(
        openers=(f"{PREFIX}<tool_call>", f"{PREFIX}<invoke"),
        closers=(f"{PREFIX}</invoke>", f"{PREFIX}</tool_call>"),
        strays=("[e~[",),
        thinking=(("<mm:think>", "</mm:think>"), ("<think>", "</think>")),
        call_start=f"{PREFIX}<invoke",
        call=_quoted + "<invoke\\s+name" + NAME,
        call_close=f"{PREFIX}</invoke>",
        block_close=f"{PREFIX}</tool_call>",
        key_start=f"{PREFIX}<",
        key=_quoted + r"<(?P<key>[^<>/\s]+)>",
        tag_end=">",
        value_close=PREFIX + "</{key}>",
    ),
    block=(f"{PREFIX}<tool_call>\n", f"\n{PREFIX}</tool_call>"),
    call=(PREFIX + '<invoke name="{name}">', f"{PREFIX}</invoke>"),
    argument=(PREFIX + "<{key}>", PREFIX + "</{key}>"),
    scanner_type=TreeScanner,
)
