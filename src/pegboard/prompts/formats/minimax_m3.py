"""MiniMax M3: tags behind a prefix of their own, an argument's name as its tag, objects and lists as tags in tags."""

import re
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.coercion import CoercedValue, parameter_schema
from pegboard.prompts.engines.tag_signs import TagSyntax
from pegboard.prompts.engines.tags import TagScanner
from pegboard.prompts.literal import MAX_DEPTH
from pegboard.prompts.typed import BareWord, read_typed, resolve_bare_words

from .tagged import NAME, TaggedFormat

PREFIX: Final = "]<]minimax[>["
ITEM: Final = "item"
"""The tag of each element of a list."""

_escaped_prefix: Final = re.escape(PREFIX)
_tag: Final = re.compile(_escaped_prefix + r"<(/?)([^<>/\s]+)>")
_safe: Final = re.compile(r"[^<>/\s\"'=]+\Z").match


class TreeScanner(TagScanner):
    """A tag inside a value may have the name of the argument, so the open ones are counted."""

    counted_parts, open_tags = 0, 0

    def begin_raw(self) -> None:
        super().begin_raw()
        self.counted_parts, self.open_tags = 0, 0

    def closes_inner_tag(self) -> bool:
        self.open_tags += "".join(self.raw_parts[self.counted_parts :]).count(f"{PREFIX}<{self.key}>")
        self.counted_parts = len(self.raw_parts)
        if not self.open_tags:
            return False
        self.open_tags -= 1
        return True

    def read_value(self, raw: str) -> CoercedValue | str:
        if PREFIX not in raw:
            return super().read_value(raw)
        value = parse_tree(raw)
        if value is None:
            return "has tags that are not closed in order"
        schema = parameter_schema(self.tool, self.key)
        return resolve_bare_words(value, schema, self.tool.parameters if self.tool else {}), ()


def parse_tree(raw: str) -> Json:
    """The object or list that tags in a value are; None where they do not close as they opened."""
    open_tags: list[tuple[str, list[tuple[str, Json]]]] = [("", [])]
    place = 0
    said = ""
    for found in _tag.finditer(raw):
        said = raw[place : found.start()]
        place = found.end()
        closing, name = found.groups()
        if not closing:
            if said.strip() or len(open_tags) > MAX_DEPTH:
                return None
            open_tags.append((name, []))
            continue
        opened, members = open_tags.pop()
        if opened != name or not open_tags or (members and said.strip()):
            return None
        open_tags[-1][1].append((name, _tree_value(members) if members else BareWord(said)))
    if len(open_tags) != 1 or raw[place:].strip() or PREFIX in said:
        return None
    return _tree_value(open_tags[0][1])


def _tree_value(members: list[tuple[str, Json]]) -> Json:
    names = {name for name, _ in members}
    if names == {ITEM} or len(names) < len(members):
        return [value for _, value in members] if len(names) == 1 else None
    return dict(members)


class TreeFormat(TaggedFormat):
    def value_text(self, value: Json) -> str:
        if isinstance(value, dict | list) and value and _reads_back(value):
            members = value.items() if isinstance(value, dict) else ((ITEM, one) for one in value)
            return "".join(f"{PREFIX}<{key}>{self.value_text(one)}{PREFIX}</{key}>" for key, one in members)
        return super().value_text(value)


def _reads_back(value: Json) -> bool:
    """Whether it reads back from tags alone: JSON does where a key is no tag, or a text looks like a number."""
    match value:
        case str():
            return read_typed(value, None)[0] == value and PREFIX not in value
        case dict():
            return (
                bool(value) and ITEM not in value and all(_safe(key) and _reads_back(one) for key, one in value.items())
            )
        case list():
            return bool(value) and all(map(_reads_back, value))
        case _:
            return True


FORMAT: Final = TreeFormat(
    name="minimax_m3",
    syntax=TagSyntax(
        openers=(f"{PREFIX}<tool_call>", f"{PREFIX}<invoke"),
        closers=(f"{PREFIX}</invoke>", f"{PREFIX}</tool_call>"),
        stray_markers=("[e~[",),
        thinking_markers=(("<mm:think>", "</mm:think>"), ("<think>", "</think>")),
        call_start=f"{PREFIX}<invoke",
        call=_escaped_prefix + "<invoke\\s+name" + NAME,
        call_close=f"{PREFIX}</invoke>",
        block_close=f"{PREFIX}</tool_call>",
        key_start=f"{PREFIX}<",
        key=_escaped_prefix + r"<(?P<key>[^<>/\s]+)>",
        tag_end=">",
        value_close=PREFIX + "</{key}>",
    ),
    block=(f"{PREFIX}<tool_call>\n", f"\n{PREFIX}</tool_call>"),
    call=(PREFIX + '<invoke name="{name}">', f"{PREFIX}</invoke>"),
    argument=(PREFIX + "<{key}>", PREFIX + "</{key}>"),
    scanner_type=TreeScanner,
)
