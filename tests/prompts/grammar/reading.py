"""A reader of GBNF that draws texts from a grammar, to hold what a grammar admits against whoever reads it."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from random import Random
from typing import TypeAlias

TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*")|(?P<set>\[\^?(?:\\.|[^\]\\])*\])|(?P<name>[a-zA-Z][a-zA-Z0-9-]*)"""
    r"""|(?P<times>[*+?]|\{\d+,\d*\}|\{\d+\})|(?P<sign>[()|]))"""
)
ESCAPED = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)")
PLAIN = {"n": "\n", "r": "\r", "t": "\t"}
CHARACTERS = "aZ0 é漢😀<>/[](){}|:;,'=`_-.\u2028"
HARD = (
    *("</tool_call>", "<tool_call>", "[TOOL_CALLS]", "```", "\u0e01", "}}", "]", "{'a': 1}", "</think>", "<think>"),
    *(
        "<|tool_call_end|>",
        "</function>",
        "functools[",
        "<|END_ACTION|>",
        "; ",
        "a, b=1)",
        "None",
        "<\uff5ctool\u2581calls\u2581end\uff5c>",
    ),
)
"""Texts that tempt a reader to end a call too early."""


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Set:
    among: tuple[str, ...]


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Times:
    item: "Item"
    least: int
    most: int | None


@dataclass(frozen=True)
class Ways:
    each: tuple[tuple["Item", ...], ...]


Item: TypeAlias = Text | Set | Name | Times | Ways


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda f: chr(int(f[1][1:], 16)) if len(f[1]) == 3 else PLAIN.get(f[1], f[1]), text)


def characters(written: str) -> Set:
    body = written[2:-1] if written.startswith("[^") else written[1:-1]
    found = [unescaped(part) for part in re.findall(r"\\x[0-9A-Fa-f]{2}|\\.|.", body, re.DOTALL)]
    chosen: set[str] = set()
    at = 0
    while at < len(found):
        if at + 2 < len(found) and found[at + 1] == "-":
            chosen |= {chr(code) for code in range(ord(found[at]), ord(found[at + 2]) + 1)}
            at += 3
        else:
            chosen.add(found[at])
            at += 1
    if written.startswith("[^"):
        return Set(tuple(char for char in CHARACTERS if char not in chosen))
    return Set(tuple(sorted(chosen)))


@dataclass
class Grammar:
    rules: dict[str, Ways] = field(default_factory=dict[str, Ways])
    heights: dict[str, int] = field(default_factory=dict[str, int])
    keys: set[str] = field(default_factory=set[str])

    def text(self, random: Random) -> str:
        out: list[str] = []
        self.keys = set()
        self._draw(Name("root"), random, 0, out)
        return "".join(out)

    def _draw(self, item: Item, random: Random, depth: int, out: list[str]) -> None:
        match item:
            case Text(text):
                out.append(text)
            case Set(among):
                out.append(random.choice(among))
            case Name("string") if random.random() < 0.3:
                out.append(f'"{random.choice(HARD)}"')
            case Name(name):
                self._draw(self.rules[name], random, depth + 1, out)
            case Times(inner, least, most):
                more = 0 if depth > 12 else random.choice((0, 0, 1, 2, 3))
                count = least + more if most is None else random.randint(least, min(most, least + more))
                for _ in range(count):
                    self._draw(inner, random, depth, out)
            case Ways(each):
                shortest = sorted(each, key=lambda way: self._height(way))[0]
                way = shortest if depth > 12 else random.choice(each)
                for inner, behind in zip_longest(way, way[1:]):
                    if inner == Name("string") and isinstance(behind, Text) and behind.text.startswith(":"):
                        out.append(self._key(random, depth))
                    else:
                        self._draw(inner, random, depth, out)

    def _key(self, random: Random, depth: int) -> str:
        """A key that stands nowhere else: no grammar can hold a model to that, and a key given twice is no call."""
        drawn: list[str] = []
        self._draw(Name("string"), random, depth, drawn)
        key = "".join(drawn)
        if json.loads(key) in self.keys:
            key = f'"{len(self.keys)}"'
        self.keys.add(json.loads(key))
        return key

    def _height(self, way: Sequence[Item]) -> int:
        return max((self._of(item) for item in way), default=0)

    def _of(self, item: Item) -> int:
        match item:
            case Name(name):
                return self.heights.get(name, 1_000)
            case Times(inner, least, _):
                return self._of(inner) if least else 0
            case Ways(each):
                return min(map(self._height, each))
            case _:
                return 0

    def measure(self) -> None:
        for _ in range(len(self.rules) + 1):
            for name, ways in self.rules.items():
                self.heights[name] = min(self.heights.get(name, 1_000), 1 + self._of(ways))


def read(text: str) -> Grammar:
    """Fails on whatever is no grammar: a rule that is missing or never ends too."""
    grammar = Grammar()
    for line in text.splitlines():
        name, arrow, rule = line.partition(" ::= ")
        assert arrow, line
        assert name not in grammar.rules, f"{name} is there twice"
        tokens = _tokens(rule)
        ways, at = _ways(tokens, 0)
        assert at == len(tokens), rule
        grammar.rules[name] = ways
    grammar.measure()
    named = {item for ways in grammar.rules.values() for item in _names(ways)}
    assert named | {"root"} == {*grammar.rules}
    assert all(height < 1_000 for height in grammar.heights.values()), "a rule never ends"
    return grammar


def _tokens(rule: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(rule):
        token = TOKEN.match(rule, at)
        assert token is not None, rule[at:]
        assert token.lastgroup is not None
        found.append((token.lastgroup, token[token.lastgroup]))
        at = token.end()
    return found


def _ways(tokens: list[tuple[str, str]], at: int) -> tuple[Ways, int]:
    each: list[tuple[Item, ...]] = []
    items: list[Item] = []
    while at < len(tokens):
        kind, text = tokens[at]
        at += 1
        item: Item
        match kind, text:
            case "sign", "|":
                each.append(tuple(items))
                items = []
                continue
            case "sign", ")":
                return Ways((*each, tuple(items))), at
            case "sign", _:
                item, at = _ways(tokens, at)
            case "times", _:
                item = _times(items.pop(), text)
            case "text", _:
                item = Text(unescaped(text[1:-1]))
            case "set", _:
                item = characters(text)
            case _:
                item = Name(text)
        items.append(item)
    return Ways((*each, tuple(items))), at


def _times(item: Item, text: str) -> Times:
    if text in "*+?":
        return Times(item, int(text == "+"), 1 if text == "?" else None)
    least, comma, most = text[1:-1].partition(",")
    return Times(item, int(least), int(most) if most else None if comma else int(least))


def _names(item: Item) -> set[str]:
    match item:
        case Name(name):
            return {name}
        case Times(inner):
            return _names(inner)
        case Ways(each):
            return {name for way in each for inner in way for name in _names(inner)}
        case _:
            return set()
