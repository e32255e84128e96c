"""JSON Schema as rules of GBNF.

What a rule cannot hold (bounds of numbers, patterns, conditions) is left out, so that more is admitted than fits; of
members, none is admitted that the schema does not describe.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Final

from pegboard.core.tool import Json

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
