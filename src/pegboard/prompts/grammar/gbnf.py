"""JSON Schema as rules of GBNF.

What a rule cannot hold (bounds of numbers, patterns, conditions) is left out, so that more is admitted than fits; of
members, none is admitted that the schema does not describe.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from keyword import iskeyword
from typing import Final

from pegboard.core.json.values import Json
from pegboard.core.model.settings import CODE_MODE
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import Format
from pegboard.prompts.grammar.json_schema import find_frame
from pegboard.prompts.tool_shape import ToolShape

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9]+")
_RULE_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_REPETITIONS: Final = 256
"""Longer bounds are left out: engines unroll them."""
_MAX_RULES: Final = 5_000
_PLAIN: Final = frozenset({"integer", "number", "boolean", "null"})

_VALUES: Final = {
    # An escape of half a character is none.
    "char": r'[^"\\\x00-\x1f\x7f] | "\\" (["\\bfnrt] | "u" ([0-9a-cA-C] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}'
    r" | [efEF] [0-9a-fA-F]{3}))",
    "string": r'"\"" char* "\""',
    "integer": '"-"? ("0" | [1-9] [0-9]{0,39})',
    "number": 'integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?',
    "array": '"[" (value ("," space value)*)? "]"',
    "object": '"{" (string ":" space value ("," space string ":" space value)*)? "}"',
    "value": "string | number | boolean | null | array | object",
    "space": '" "?',
}
_WORDS: Final = {
    False: {"boolean": '"true" | "false"', "null": '"null"'},
    True: {"boolean": '"True" | "False"', "null": '"None"'},
}
_NOTHING: Final = '""'


def grammar_literal(text: str) -> str:
    """As a text of the grammar."""
    return '"' + _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02X}", text.translate(_ESCAPES)) + '"'


@dataclass
class GrammarRules:
    """Rules by their names, gathered while schemas are read. With `python`, values are written as Python has them."""

    python: bool = False
    rules_by_name: dict[str, str] = field(default_factory=dict[str, str])
    text_rules: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])
    """Rules for any text but such as holds one of some words, by these."""
    _root: Mapping[str, Json] = field(default_factory=dict[str, Json])
    _refs: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.rules_by_name |= {**_VALUES, **_WORDS[self.python]}

    def add(self, name: str, rule: str) -> str:
        """The name under which it is found: its own, or one with a number where another rule has that."""
        stem = name = _NO_NAME.sub("-", name).strip("-") or "rule"
        name = stem = stem if stem[0].isalpha() else f"of-{stem}"
        number = 1
        while self.rules_by_name.get(name, rule) != rule:
            number += 1
            name = f"{stem}-{number}"
        self.rules_by_name[name] = rule
        return name

    def free_name(self, name: str) -> str:
        """A name that no rule begins with."""
        while any(each.startswith(name) for each in self.rules_by_name):
            name += "x"
        return name

    def set_root(self, schema: Mapping[str, Json]) -> None:
        """Whose references are followed from now on."""
        self._root, self._refs = schema, {}

    def value_rule(self, name: str, schema: Json) -> str:
        return self._value_rule(name, schema)

    def arguments_rule(self, name: str, schema: Mapping[str, Json], *, keywords: bool) -> str | None:
        """The rule for the arguments of one tool. `None` where one that must be given cannot be a keyword."""
        self.set_root(schema)
        schemas, must = described_properties(schema), required_keys(schema)
        if not keywords:
            members = [(key, self._member_rule(name, key, inner)) for key, inner in schemas.items()]
            return self.add(f"{name}-arguments", f'"{{" {self._members_rule(name, members, must)} "}}"')
        if any(not _is_keyword(key) for key in must):
            return None
        able = {key: inner for key, inner in schemas.items() if _is_keyword(key)}
        members = [
            (key, f"{grammar_literal(f'{key}=')} {self._value_rule(f'{name}-{key}', inner)}")
            for key, inner in able.items()
        ]
        return self.add(f"{name}-arguments", self._members_rule(name, members, must))

    def grammar_text(self, root: str) -> str:
        """The whole grammar, with the rules that are used and no others, in one order."""
        used: set[str] = set()
        waiting = _rule_names(root)
        while waiting:
            name = waiting.pop()
            if name in self.rules_by_name and name not in used:
                used.add(name)
                waiting += _rule_names(self.rules_by_name[name])
        return (
            "\n".join((f"root ::= {root}", *(f"{name} ::= {self.rules_by_name[name]}" for name in sorted(used)))) + "\n"
        )

    def _value_rule(self, name: str, schema: Json, within: frozenset[str] = frozenset()) -> str:
        """The name of a rule, or a text. `within` are the references that were followed to get here without writing
        anything, because a rule must not begin with itself."""
        if not isinstance(schema, Mapping) or len(self.rules_by_name) > _MAX_RULES:
            return "value"
        if isinstance(ref := schema.get("$ref"), str):
            return self._reference_rule(ref, within)
        if "const" in schema:
            return grammar_literal(self._value_text(schema["const"]))
        if isinstance(choices := schema.get("enum"), list) and choices:
            return self.add(name, " | ".join(grammar_literal(self._value_text(choice)) for choice in choices))
        for key in ("anyOf", "oneOf", "allOf"):
            options = schema.get(key)
            if isinstance(options, list) and options and (key != "allOf" or len(options) == 1):
                each = [self._value_rule(f"{name}-{place}", option, within) for place, option in enumerate(options)]
                return self.add(name, " | ".join(dict.fromkeys(each)))
        return "value" if {"allOf", "not", "if"} & {*schema} else self._type_rule(name, schema)

    def _type_rule(self, name: str, schema: Mapping[str, Json]) -> str:
        match schema.get("type"):
            case [_, *_] as kinds:
                each = [self._type_rule(f"{name}-{kind}", {**schema, "type": kind}) for kind in kinds]
                return self.add(name, " | ".join(dict.fromkeys(each)))
            case "string":
                least, most = _usable_bound(schema.get("minLength")) or 0, _usable_bound(schema.get("maxLength"))
                return (
                    self.add(name, rf'"\"" char{_repetition(least, most)} "\""')
                    if least or most is not None
                    else "string"
                )
            case "array":
                return self._array_rule(name, schema)
            case "object":
                return self._object_rule(name, schema)
            case str(kind) if kind in _PLAIN:
                return kind
            case None if "properties" in schema:
                return self._object_rule(name, schema)
            case _:
                return "value"

    def _array_rule(self, name: str, schema: Mapping[str, Json]) -> str:
        item = self._value_rule(f"{name}-item", schema.get("items", True))
        least, most = _usable_bound(schema.get("minItems")) or 0, _usable_bound(schema.get("maxItems"))
        if most == 0:
            return grammar_literal("[]")
        further = f'{item} ("," space {item}){_repetition(max(least - 1, 0), None if most is None else most - 1)}'
        return self.add(name, f'"[" {further} "]"' if least else f'"[" ({further})? "]"')

    def _object_rule(self, name: str, schema: Mapping[str, Json]) -> str:
        schemas = described_properties(schema)
        if not schemas:
            return grammar_literal("{}") if schema.get("additionalProperties") is False else "object"
        members = [(key, self._member_rule(name, key, inner)) for key, inner in schemas.items()]
        return self.add(name, f'"{{" {self._members_rule(name, members, required_keys(schema))} "}}"')

    def _member_rule(self, name: str, key: str, schema: Json) -> str:
        return (
            f"{grammar_literal(json.dumps(key, ensure_ascii=False) + ':')} space "
            f"{self._value_rule(f'{name}-{key}', schema)}"
        )

    def _members_rule(self, name: str, members: Sequence[tuple[str, str]], needed: frozenset[str]) -> str:
        """Members in their order, each that is needed once, each other at most once, with commas between them only.
        Two rules a member, however many may be left out."""
        behind, begins = "", _NOTHING
        for key, rule in reversed(members):
            first = f"{rule} {behind}".rstrip()
            begins = self.add(f"{name}-{key}-first", first if key in needed else f"{first} | {begins}")
            further = f'"," space {rule}'
            behind = self.add(
                f"{name}-{key}-next", f"{further if key in needed else f'({further})?'} {behind}".rstrip()
            )
        return begins

    def _reference_rule(self, ref: str, within: frozenset[str]) -> str:
        """A rule of its own, so that a schema may hold itself."""
        if ref in within:
            return "value"
        if ref in self._refs:
            return self._refs[ref]
        target = _resolve_reference(self._root, ref)
        if target is None:
            return "value"
        name = self._refs[ref] = self.add(f"ref-{ref}", f"{grammar_literal(ref)} {len(self.rules_by_name)}")
        self.rules_by_name[name] = self._value_rule(f"{name}-of", target, within | {ref})
        return name

    def _value_text(self, value: Json) -> str:
        return repr(value) if self.python and not isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _resolve_reference(root: Mapping[str, Json], ref: str) -> Json:
    if not ref.startswith("#"):
        return None
    target: Json = dict(root)
    for step in filter(None, ref.removeprefix("#").split("/")):
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return target


def described_properties(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """With what must be given and is described nowhere: that may be anything."""
    found = schema.get("properties")
    told = dict(found) if isinstance(found, Mapping) else {}
    return {**told, **{key: True for key in sorted(required_keys(schema)) if key not in told}}


def required_keys(schema: Mapping[str, Json]) -> frozenset[str]:
    found = schema.get("required")
    return frozenset(key for key in found if isinstance(key, str)) if isinstance(found, list) else frozenset()


def _usable_bound(value: Json) -> int | None:
    is_one = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_REPETITIONS
    return value if is_one and isinstance(value, int) else None


def _repetition(least: int, most: int | None) -> str:
    if most is None:
        return f"{{{least},}}" if least else "*"
    return f"{{{least},{max(least, most)}}}"


def _is_keyword(key: str) -> bool:
    return _IDENTIFIER.fullmatch(key) is not None and not iskeyword(key)


def _rule_names(rule: str) -> list[str]:
    """Rules are named outside texts and classes of characters."""
    return _RULE_NAME.findall(re.sub(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]', " ", rule))


# Any text but such as holds one of some words, as rules of GBNF: a grammar has no way to say it in one.

_SPECIAL: Final = {"]": "\\]", "[": "\\[", "^": "\\x5E", "-": "\\x2D"}


def text_without(rules: GrammarRules, words: Sequence[str]) -> str:
    """The name of its rule. One rule for each beginning of a word: which of them the text so far ends with decides what
    may follow."""
    if (known := rules.text_rules.get(tuple(words))) is not None:
        return known
    beginnings = sorted(
        {word[:size] for word in words for size in range(len(word))} | {""}, key=lambda each: (len(each), each)
    )
    stem = rules.free_name(f"text-{len(rules.text_rules)}")
    names = {beginning: f"{stem}-{place}" for place, beginning in enumerate(beginnings)}
    for beginning in beginnings:
        ways: dict[str, list[str]] = {}
        letters = sorted({word[size] for word in words for size in range(len(word))})
        for letter in letters:
            so_far = beginning + letter
            if any(so_far.endswith(word) for word in words):
                continue
            ways.setdefault(_longest_suffix(so_far, names), []).append(letter)
        plain = ways.pop("", [])
        others = [letter for letter in letters if letter not in plain]
        each = [f"{_character_class(others, but=True)} {names['']}"]
        each += [f"{_character_class(found)} {names[state]}" for state, found in sorted(ways.items())]
        rules.rules_by_name[names[beginning]] = " | ".join(('""', *each))
    rules.text_rules[tuple(words)] = names[""]
    return names[""]


def _longest_suffix(text: str, known: dict[str, str]) -> str:
    """The longest end of a text that a word begins with."""
    return next(text[at:] for at in range(len(text) + 1) if text[at:] in known)


def _character_class(letters: Sequence[str], *, but: bool = False) -> str:
    written = "".join(_SPECIAL.get(letter) or grammar_literal(letter)[1:-1] for letter in letters)
    return f"[{'^' if but else ''}{written}]"


# Grammars of formats that write each argument between tags of its own: texts as they are, all else as JSON.

_TEXT: Final = "pegboard-value"
_NUMBER: Final = 424242424242
_KINDS: Final = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})


@dataclass(frozen=True)
class _ValueFrame:
    """What stands before a value and behind it."""

    before: str
    after: str

    @property
    def closing_tag(self) -> str:
        """The tag at which the value ends."""
        tag = self.after.strip()
        return tag[: tag.index(">") + 1] if ">" in tag else tag


@dataclass(frozen=True)
class _TagFrame:
    first: str
    last: str
    arguments: Mapping[tuple[str, bool], _ValueFrame]
    """By the key, and by whether the value is a text."""


def tagged_gbnf(format: Format, tools: Sequence[ToolShape], *, several: bool) -> str | None:
    """`None` where the format does not write its arguments one behind the other."""
    frames = {tool.name: framed for tool in tools if (framed := _build_frame(format, tool)) is not None}
    if len(frames) < len(tools) or len({each.last for each in frames.values()}) != 1:
        return None
    last = next(iter(frames.values())).last
    further = {tool.name: _text_between_calls(format, tools[0], tool, frames, last) for tool in tools}
    rules = GrammarRules()
    taken: dict[str, str] = {}
    for tool in tools:
        if further[tool.name] is None:
            return None
        taken[tool.name] = rules.add(f"{tool.name}-arguments", _arguments(tool, frames[tool.name], rules, last))
    first = " | ".join(f"{grammar_literal(frames[name].first)} {rule}" for name, rule in taken.items())
    more = " | ".join(f"{grammar_literal(further[name] or '')} {rule}" for name, rule in taken.items())
    root = rules.add("first-call", first)
    if several:
        root = f"{root} {rules.add('next-call', more)}*"
    return rules.grammar_text(f"{root} {grammar_literal(last)}")


def _build_frame(format: Format, tool: ToolShape) -> _TagFrame | None:
    keys = [*described_properties(tool.parameters)]
    empty = format.calls_text([ParsedCall(tool.name, {})])
    written = {
        (key, is_text): format.calls_text([ParsedCall(tool.name, {key: _TEXT if is_text else _NUMBER})])
        for key in keys or ["key"]
        for is_text in (True, False)
    }
    at = _cut_position(empty, [*written.values()])
    if at is None:
        return None
    arguments: dict[tuple[str, bool], _ValueFrame] = {}
    pieces: dict[tuple[str, bool], str] = {}
    for (key, is_text), text in written.items():
        piece = text[at : len(text) - len(empty) + at]
        before, found, after = piece.partition(_TEXT if is_text else str(_NUMBER))
        if not found or text != empty[:at] + piece + empty[at:]:
            return None
        pieces[key, is_text] = piece
        arguments[key, is_text] = _ValueFrame(before, after)
    for key in keys or ["key"]:
        # A format that names the kind of each value would be made to name a wrong one.
        listed = format.calls_text([ParsedCall(tool.name, {key: [_NUMBER]})])
        if listed != empty[:at] + pieces[key, False].replace(str(_NUMBER), f"[{_NUMBER}]") + empty[at:]:
            return None
    for one, other in pairwise(keys):
        both = format.calls_text([ParsedCall(tool.name, {one: _TEXT, other: _TEXT})])
        if both != empty[:at] + pieces[one, True] + pieces[other, True] + empty[at:]:
            return None
    return _TagFrame(empty[:at], empty[at:], arguments)


def _text_between_calls(
    format: Format, one: ToolShape, other: ToolShape, frames: Mapping[str, _TagFrame], last: str
) -> str | None:
    both, begun = format.calls_text([ParsedCall(one.name, {}), ParsedCall(other.name, {})]), frames[one.name].first
    return both[len(begun) : len(both) - len(last)] if both.startswith(begun) and both.endswith(last) else None


def _arguments(tool: ToolShape, frame: _TagFrame, rules: GrammarRules, last: str) -> str:
    schemas, must = described_properties(tool.parameters), required_keys(tool.parameters)
    rules.set_root(tool.parameters)
    # A reader may end a value where a call begins or ends as well, for models that forget to close it.
    others = {tag for text in (last, frame.first) for tag in _tags(text)}
    parts: list[str] = []
    for key, schema in schemas.items():
        if key not in must and _has_unknown_type(schema):
            continue
        is_text, rule = _value(f"{tool.name}-{key}", schema, rules, others, frame.arguments[key, True])
        around = frame.arguments[key, is_text]
        whole = f"{grammar_literal(around.before)} {rule} {grammar_literal(around.after)}"
        parts.append(whole if key in must else f"({whole})?")
    return " ".join(parts) or '""'


def _value(name: str, schema: Json, rules: GrammarRules, others: set[str], around: _ValueFrame) -> tuple[bool, str]:
    if isinstance(schema, Mapping) and isinstance(choices := schema.get("enum"), list):
        texts = [choice for choice in choices if isinstance(choice, str)]
        if texts:
            return True, rules.add(name, " | ".join(map(grammar_literal, texts)))
    if "string" in _kinds(schema):
        tags = {*others, around.closing_tag, *_tags(around.before), *_tags(around.after)}
        return True, text_without(rules, sorted(tags))
    return False, rules.value_rule(name, schema)


def _kinds(schema: Json) -> frozenset[str]:
    """What a value may be; everything, where that is not said plainly."""
    if not isinstance(schema, Mapping):
        return _KINDS
    match schema.get("type"):
        case str(kind):
            return frozenset({kind})
        case [*kinds]:
            return frozenset(map(str, kinds))
    options = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(options, list):
        return frozenset().union(*map(_kinds, options))
    is_json = "$ref" in schema or ("const" in schema and not isinstance(schema["const"], str))
    return frozenset({"object"}) if is_json else _KINDS


def _has_unknown_type(schema: Json) -> bool:
    """One value whose kind is not said: some formats read it as text, and others do not."""
    return isinstance(schema, Mapping) and "const" in schema and "type" not in schema


def _tags(text: str) -> Iterator[str]:
    """The beginnings of tags, as far as they are the format's own."""
    for part in text.split("<")[1:]:
        tag = "<" + part
        for end in (">", "=", " "):
            tag = tag.partition(end)[0]
        if len(tag) > 2:
            yield tag


def _cut_positions(one: str, other: str) -> list[int]:
    """Where the shorter can be cut so that the longer is it with something put in there."""
    return [at for at in range(len(one) + 1) if other.startswith(one[:at]) and other.endswith(one[at:])]


def _cut_position(empty: str, written: Sequence[str]) -> int | None:
    """One place for all of them, at the beginning of a tag if that can be."""
    places = set(_cut_positions(empty, written[0])).intersection(*(_cut_positions(empty, text) for text in written[1:]))
    return max(places, key=lambda at: (empty[at : at + 1] == "<", at), default=None)


# Calls as a grammar in GBNF, for llama.cpp and whatever reads its grammars.


def gbnf(format: Format, tools: Sequence[ToolShape], *, several: bool = True) -> str | None:
    """One call or, with `several`, as many as the model likes, and nothing else. `None` where the format writes no
    arguments that a grammar here can hold, or no tool can be called in it.

    A model that may also answer in words is to be held to it from the first marker of the format on: servers call that
    a lazy or triggered grammar.
    """
    framed = find_frame(format, tools)
    if framed is None:
        return tagged_gbnf(format, tools, several=several) if tools and format.name != CODE_MODE else None
    rules = GrammarRules(python=framed.uses_keywords)
    taken = {
        tool.name: rule
        for tool in tools
        if (rule := rules.arguments_rule(tool.name, tool.parameters, keywords=framed.uses_keywords)) is not None
    }
    if not taken:
        return None
    first = rules.add(
        "first-call", " | ".join(f"{grammar_literal(framed.first[name])} {rule}" for name, rule in taken.items())
    )
    further = rules.add(
        "next-call", " | ".join(f"{grammar_literal(framed.further[name])} {rule}" for name, rule in taken.items())
    )
    root = f"{first} {further}*" if several else first
    return rules.grammar_text(f"{root} {grammar_literal(framed.last)}" if framed.last else root)
