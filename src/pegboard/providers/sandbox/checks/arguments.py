"""Values that a program writes out where it calls its host's functions, held against what those take.

Only what is certain is told: of a value that the program makes while it runs, nothing is. What JSON Schema leaves open,
such as keys that nobody names, is told only where it looks like a slip.
"""

import ast
import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum
from typing import Final, TypeAlias

from pegboard.core.json.schema_refs import resolve_ref
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.python_text import literal_value
from pegboard.core.model.references import closest_names
from pegboard.core.model.text import truncate
from pegboard.ports.sandbox import SandboxFunction
from pegboard.providers.sandbox.checks.program import UNREADABLE_ERRORS, AnalysisLimitError, ParsedProgram

# What a program writes out, as JSON has it: its kind, and its value where that is plain to see.

_MAX_LITERAL_CHARS: Final = 60

PYTHON_TYPE_NAMES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "array": "list",
    "object": "dict",
}
"""Types of JSON Schema, in the words of a program."""


class UnknownLiteral(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = UnknownLiteral.UNKNOWN
LiteralValue: TypeAlias = str | int | float | bool | UnknownLiteral | None


def value_of(node: ast.expr) -> LiteralValue:
    """Of a text, a number, a truth value or nothing."""
    match node:
        case ast.Constant(value=str() | bool() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case _:
            return UNKNOWN


def kind_of(node: ast.expr) -> str | None:
    """As a type of JSON Schema; `None` where it is not certain."""
    match value_of(node):
        case UnknownLiteral():
            pass
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
    match node:
        case ast.JoinedStr():
            return "string"
        case ast.Dict() | ast.DictComp():
            return "object"
        case ast.List() | ast.ListComp() | ast.Tuple():
            return "array"
        case _:
            return None


def is_of_type(kind: str, value: LiteralValue, wanted: str) -> bool:
    if kind == wanted or (kind, wanted) == ("integer", "number"):
        return True
    return wanted == "integer" and isinstance(value, float) and value.is_integer()


def describe_literal(node: ast.expr) -> str:
    """In a few words, as the program has it."""
    match value_of(node):
        case UnknownLiteral():
            return (
                "a text" if isinstance(node, ast.JoinedStr) else f"a `{PYTHON_TYPE_NAMES[kind_of(node) or 'object']}`"
            )
        case str() as text:
            return format_json_value(text)
        case value:
            return f"`{value!r}`"[:_MAX_LITERAL_CHARS]


def format_json_value(value: Json) -> str:
    """A value as whoever reads it may write it, shortened."""
    said = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        said = {"null": "None", "true": "True", "false": "False"}.get(said, said)
    return truncate(said, _MAX_LITERAL_CHARS)


_MAX_DEPTH: Final = 12
_MAX_STEPS: Final = 20_000
"""Of holding a value against a schema. What takes more was written to take time."""
_MAX_NAMED: Final = 20
"""Values or keys of which each is named."""
_MAX_PATH_CHARS: Final = 120
_COMPOSING_KEYWORDS: Final = (
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "not",
    "dependentSchemas",
    "unevaluatedProperties",
)


@dataclass(frozen=True)
class LiteralMismatch:
    line: int
    argument: tuple[int, str]
    """Of the call, in which it stands: its line and its name."""
    message: str


@dataclass(frozen=True)
class _WrongValue:
    """A value that is of another kind, or none of those that are taken."""

    line: int
    path: str
    found_text: str
    value: Json
    values: tuple[Json, ...] = ()
    kinds: tuple[str, ...] = ()

    def message(self, function: str) -> str:
        if not self.values:
            return (
                f"`{function}`: `{self.path}` takes {_join_with_or([f'`{each}`' for each in self.kinds])}, not "
                f"{self.found_text}."
            )
        taken = [*map(format_json_value, self.values[:_MAX_NAMED]), *(f"`{each}`" for each in self.kinds)]
        more = len(self.values) - _MAX_NAMED
        told = f"{', '.join(taken)} and {more} more" if more > 0 else _join_with_or(taken)
        texts = [each for each in self.values if isinstance(each, str)]
        near = closest_names(self.value, texts) if isinstance(self.value, str) else ()
        return f"`{function}`: {self.found_text} is no value of `{self.path}`, which takes {told}.{_did_you_mean(near)}"


@dataclass(frozen=True)
class _UnknownKey:
    line: int
    path: str
    key: str
    known_keys: tuple[str, ...]

    def message(self, function: str) -> str:
        hint = _did_you_mean(closest_names(self.key, self.known_keys))
        if not hint and self.known_keys:
            hint = f" It takes {', '.join(map(format_json_value, self.known_keys[:_MAX_NAMED]))}."
        return f"There is no key {format_json_value(self.key)} in `{self.path}` of `{function}`.{hint}"


@dataclass(frozen=True)
class _LacksKeys:
    line: int
    path: str
    keys: tuple[str, ...]

    def message(self, function: str) -> str:
        keys = " and ".join(map(format_json_value, self.keys[:_MAX_NAMED]))
        return f"`{self.path}` of `{function}` needs the key{'s' if len(self.keys) > 1 else ''} {keys}."


_Mismatch: TypeAlias = _WrongValue | _UnknownKey | _LacksKeys


def find_literal_mismatches(
    program: ParsedProgram | None, functions: Iterable[SandboxFunction], *, kinds: bool
) -> tuple[LiteralMismatch, ...]:
    """By line. Of arguments that are of another kind as a whole only where `kinds` says so."""
    takes = {(each.module, each.name): each.input_schema for each in functions if each.input_schema is not None}
    found: list[LiteralMismatch] = []
    if program is None or not takes:
        return ()
    try:
        for node in program.scopes.nodes:
            if not isinstance(node, ast.Call) or not node.keywords:
                continue
            name = program.names.host_function(node.func)
            schema = None if name is None else takes.get(name)
            if name is not None and schema is not None:
                found += _call_mismatches(program, node, name[1], schema, kinds=kinds)
    except UNREADABLE_ERRORS:
        return ()
    return tuple(sorted(found, key=lambda each: each.line))


def _call_mismatches(
    program: ParsedProgram, call: ast.Call, function: str, schema: Mapping[str, Json], *, kinds: bool
) -> Iterator[LiteralMismatch]:
    root = dict(schema)
    properties = root.get("properties")
    if not isinstance(properties, dict):
        return
    held = _LiteralCheck(program, root)
    for each in call.keywords:
        if each.arg is None or each.arg not in properties:
            continue
        for misfit in held.check(each.value, properties[each.arg], each.arg, 0):
            is_of_kind = isinstance(misfit, _WrongValue) and not misfit.values and misfit.path == each.arg
            if kinds or not is_of_kind:
                yield LiteralMismatch(misfit.line, (each.lineno, each.arg), misfit.message(function))


class _LiteralCheck:
    def __init__(self, program: ParsedProgram, root: JsonObject) -> None:
        self._names: Final = program.names
        self._root: Final = root
        self._steps_left = _MAX_STEPS

    def check(
        self, node: ast.expr, schema: Json, path: str, depth: int, *, is_part: bool = False
    ) -> Sequence[_Mismatch]:
        """`is_part`: other schemas speak of the same value, and may know keys that this one does not."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise AnalysisLimitError
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return ()
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return self.check(node, resolve_ref(self._root, ref), path, depth + 1, is_part=is_part)
        if isinstance(node, ast.Name) and (value := self._names.only_value(node)) is not None:
            # What may be changed on its way is not followed.
            node = node if value_of(value) is UNKNOWN else value
        kind = kind_of(node)
        if kind is None:
            return ()
        wrong = _check_value(node, kind, schema, path)
        if wrong is not None:
            return (wrong,)
        found: list[_Mismatch] = []
        for each in _subschemas(schema, "allOf"):
            found += self.check(node, each, path, depth + 1, is_part=True)
        for key in ("anyOf", "oneOf"):
            if branches := _subschemas(schema, key):
                apart = is_part or "properties" in schema
                found += _any_of_mismatches(
                    [self.check(node, each, path, depth + 1, is_part=apart) for each in branches]
                )
        if isinstance(node, ast.Dict):
            found += self._check_keys(node, schema, path, depth, is_part=is_part)
        elif isinstance(node, ast.List | ast.Tuple):
            found += self._check_items(node, schema, path, depth)
        elif isinstance(node, ast.ListComp):
            found += self.check(node.elt, _item_schema(schema), f"{path}[…]", depth + 1)
        return found

    def _check_items(
        self, node: ast.List | ast.Tuple, schema: JsonObject, path: str, depth: int
    ) -> Iterator[_Mismatch]:
        if "prefixItems" in schema:
            return
        for place, each in enumerate(node.elts):
            if not isinstance(each, ast.Starred):
                yield from self.check(each, _item_schema(schema), _extend_path(path, place), depth + 1)

    def _check_keys(
        self, node: ast.Dict, schema: JsonObject, path: str, depth: int, *, is_part: bool
    ) -> Iterator[_Mismatch]:
        written: dict[str, ast.expr] = {}
        lines: dict[str, int] = {}
        is_whole = True
        for key, value in zip(node.keys, node.values, strict=True):
            name = UNKNOWN if key is None else value_of(key)
            if isinstance(name, str) and key is not None:
                written[name], lines[name] = value, key.lineno
            else:
                is_whole = False
                # What comes from elsewhere may stand in place of what was written before.
                written.clear()
        properties = schema.get("properties")
        known: JsonObject = properties if isinstance(properties, dict) else {}
        others = schema.get("additionalProperties")
        is_closed = others is False and not schema.get("patternProperties")
        is_open = is_part or others is not None or "patternProperties" in schema or _is_composed(schema)
        for name, value in written.items():
            if name in known:
                yield from self.check(value, known[name], _extend_path(path, name), depth + 1)
            elif is_closed or (not is_open and any(each not in lines for each in _similar_keys(name, known))):
                yield _UnknownKey(lines[name], path, name, tuple(known))
            elif isinstance(others, dict) and not schema.get("patternProperties"):
                yield from self.check(value, others, _extend_path(path, name), depth + 1)
        required = schema.get("required")
        if is_whole and isinstance(required, list):
            lacks = tuple(each for each in required if isinstance(each, str) and each not in written)
            if lacks:
                yield _LacksKeys(node.lineno, path, lacks)


def _similar_keys(name: str, known: Iterable[str]) -> Sequence[str]:
    """Keys that somebody who wrote this one surely meant."""
    return get_close_matches(
        name[:_MAX_PATH_CHARS], [each for each in known if len(each) <= _MAX_PATH_CHARS], cutoff=0.8
    )


def _any_of_mismatches(branches: Sequence[Sequence[_Mismatch]]) -> Sequence[_Mismatch]:
    """What is wrong with a value of which one of several must be true."""
    if not all(branches):
        return ()
    plain = [each[0] for each in branches if len(each) == 1]
    wrong = [each for each in plain if isinstance(each, _WrongValue) and each.path == _shortest_path(branches)]
    if len(wrong) == len(branches):
        values = [value for each in wrong for value in each.values]
        kinds = dict.fromkeys(kind for each in wrong for kind in each.kinds)
        return (replace(wrong[0], values=tuple(values), kinds=tuple(kinds)),)
    # It is meant as the one that it is most like: of its kind, with the least that is wrong.
    return min((each for each in branches if not (len(each) == 1 and each[0] in wrong)), key=len)


def _shortest_path(branches: Sequence[Sequence[_Mismatch]]) -> str:
    return min((each.path for branch in branches for each in branch), key=len)


def _check_value(node: ast.expr, kind: str, schema: JsonObject, path: str) -> _WrongValue | None:
    value = value_of(node)
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    known = None if value is UNKNOWN else value
    if isinstance(choices, list) and value is not UNKNOWN:
        if (value is None and schema.get("nullable") is True) or any(_is_equal_json(known, each) for each in choices):
            return None
        return _WrongValue(node.lineno, path, describe_literal(node), known, values=tuple(choices))
    types = schema.get("type")
    taken = [types] if isinstance(types, str) else types if isinstance(types, list) else []
    kinds = [each for each in taken if isinstance(each, str)]
    if not kinds or (value is None and schema.get("nullable") is True):
        return None
    if any(each not in PYTHON_TYPE_NAMES or is_of_type(kind, value, each) for each in kinds):
        return None
    pythons = tuple(dict.fromkeys(PYTHON_TYPE_NAMES[each] for each in kinds))
    return _WrongValue(node.lineno, path, describe_literal(node), known, kinds=pythons)


def _is_equal_json(one: Json, other: Json) -> bool:
    """As JSON has it: true is not 1, and 1.0 is."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _is_composed(schema: JsonObject) -> bool:
    return any(each in schema for each in _COMPOSING_KEYWORDS)


def _subschemas(schema: JsonObject, key: str) -> list[Json]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _item_schema(schema: JsonObject) -> Json:
    return None if "prefixItems" in schema else schema.get("items")


def _extend_path(path: str, key: str | int) -> str:
    longer = f"{path}[{format_json_value(key)}]"
    return longer if len(longer) <= _MAX_PATH_CHARS else f"{path.removesuffix('[…]')}[…]"


def _join_with_or(each: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(each[:-1]), *each[-1:])))


def _did_you_mean(near: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(map(format_json_value, near))}?" if near else ""


# Types as the checker writes them: whether a value of the one surely is none of the other.
#
# The checker refuses what may not fit. A program is refused only for what cannot: a text that may be missing is a
# text as
# long as the program runs well, and of what is in lists and dictionaries the checker makes guesses.

_KINDS: Final = {
    "str": "str",
    "LiteralString": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "None": "None",
    "list": "list",
    "tuple": "list",
    "Sequence": "list",
    "dict": "dict",
    "set": "set",
    "frozenset": "set",
    "bytes": "bytes",
}
_ACCEPTED_KINDS: Final = {"float": {"int", "bool"}, "int": {"bool"}}


def is_incompatible(expected: str, found: str, dictionaries: Container[str]) -> bool:
    """`dictionaries` are names of types that are nothing else."""
    taken = [*_union_members(expected)]
    return all(_is_none_of(each, taken, dictionaries) for each in _union_members(found))


def _is_none_of(found: str, taken: list[str], dictionaries: Container[str]) -> bool:
    values = _literal_values(found)
    if values is not None:
        return not any(_can_accept(each, _type_name(value), value, dictionaries) for each in taken for value in values)
    kind = _kind(found, dictionaries)
    return kind is not None and not any(_can_accept(each, kind, None, dictionaries) for each in taken)


def _can_accept(taken: str, kind: str, value: object, dictionaries: Container[str]) -> bool:
    """Whether it may. Of a value that is not known, only the kind counts."""
    values = _literal_values(taken)
    if values is not None:
        if value is None:
            return any(_type_name(each) == kind for each in values)
        return any(type(each) is type(value) and each == value for each in values)
    own = _kind(taken, dictionaries)
    return own is None or kind == own or kind in _ACCEPTED_KINDS.get(own, ())


def _type_name(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _kind(written: str, dictionaries: Container[str]) -> str | None:
    name = written.split("[")[0]
    return "dict" if name in dictionaries else _KINDS.get(name)


def _literal_values(written: str) -> list[object] | None:
    if not written.startswith("Literal["):
        return None
    try:
        values = literal_value(written.removeprefix("Literal"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return values if isinstance(values, list) else None


def _union_members(written: str) -> Iterator[str]:
    """Of a union, each."""
    depth, start, quote = 0, 0, ""
    at = 0
    while at < len(written):
        character = written[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "|" and depth == 0:
            yield written[start:at].strip()
            start = at + 1
        at += 1
    yield written[start:].strip()
