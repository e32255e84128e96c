"""Values that a program writes out where it calls its host's functions, held against what those take.

Only what is certain is told: of a value that the program makes while it runs, nothing is. What JSON Schema leaves open,
such as keys that nobody names, is told only where it looks like a slip.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final, TypeAlias

from pegboard.core.reference import closest
from pegboard.core.schema_refs import target
from pegboard.core.tool import Json, JsonObject
from pegboard.ports.sandbox import Function

from .literals import PYTHONS, UNKNOWN, fits, kind_of, said_of, spoken, value_of
from .readable import UNREADABLE, Readable
from .scopes import TooLarge

_DEEPEST: Final = 12
_MOST_STEPS: Final = 20_000
"""Of holding a value against a schema. What takes more was written to take time."""
_NAMED: Final = 20
"""Values or keys of which each is named."""
_LONGEST_PATH: Final = 120
_COMPOSED: Final = ("$ref", "allOf", "anyOf", "oneOf", "if", "not", "dependentSchemas", "unevaluatedProperties")


@dataclass(frozen=True)
class Misfit:
    line: int
    argument: tuple[int, str]
    """Of the call, in which it stands: its line and its name."""
    message: str


@dataclass(frozen=True)
class _Wrong:
    """A value that is of another kind, or none of those that are taken."""

    line: int
    path: str
    found: str
    value: Json
    values: tuple[Json, ...] = ()
    kinds: tuple[str, ...] = ()

    def words(self, function: str) -> str:
        if not self.values:
            return f"`{function}`: `{self.path}` takes {_or([f'`{each}`' for each in self.kinds])}, not {self.found}."
        taken = [*map(spoken, self.values[:_NAMED]), *(f"`{each}`" for each in self.kinds)]
        more = len(self.values) - _NAMED
        told = f"{', '.join(taken)} and {more} more" if more > 0 else _or(taken)
        texts = [each for each in self.values if isinstance(each, str)]
        near = closest(self.value, texts) if isinstance(self.value, str) else ()
        return f"`{function}`: {self.found} is no value of `{self.path}`, which takes {told}.{_meant(near)}"


@dataclass(frozen=True)
class _NoKey:
    line: int
    path: str
    key: str
    known: tuple[str, ...]

    def words(self, function: str) -> str:
        hint = _meant(closest(self.key, self.known))
        if not hint and self.known:
            hint = f" It takes {', '.join(map(spoken, self.known[:_NAMED]))}."
        return f"There is no key {spoken(self.key)} in `{self.path}` of `{function}`.{hint}"


@dataclass(frozen=True)
class _Lacks:
    line: int
    path: str
    keys: tuple[str, ...]

    def words(self, function: str) -> str:
        keys = " and ".join(map(spoken, self.keys[:_NAMED]))
        return f"`{self.path}` of `{function}` needs the key{'s' if len(self.keys) > 1 else ''} {keys}."


_Found: TypeAlias = _Wrong | _NoKey | _Lacks


def misfits(program: Readable | None, functions: Iterable[Function], *, kinds: bool) -> tuple[Misfit, ...]:
    """By line. Of arguments that are of another kind as a whole only where `kinds` says so."""
    takes = {(each.module, each.name): each.takes for each in functions if each.takes is not None}
    found: list[Misfit] = []
    if program is None or not takes:
        return ()
    try:
        for node in program.scopes.nodes:
            if not isinstance(node, ast.Call) or not node.keywords:
                continue
            name = program.awaiting.hosted(node.func)
            schema = None if name is None else takes.get(name)
            if name is not None and schema is not None:
                found += _of_call(program, node, name[1], schema, kinds=kinds)
    except UNREADABLE:
        return ()
    return tuple(sorted(found, key=lambda each: each.line))


def _of_call(
    program: Readable, call: ast.Call, function: str, schema: Mapping[str, Json], *, kinds: bool
) -> Iterator[Misfit]:
    root = dict(schema)
    properties = root.get("properties")
    if not isinstance(properties, dict):
        return
    held = _Held(program, root)
    for each in call.keywords:
        if each.arg is None or each.arg not in properties:
            continue
        for misfit in held.against(each.value, properties[each.arg], each.arg, 0):
            is_of_kind = isinstance(misfit, _Wrong) and not misfit.values and misfit.path == each.arg
            if kinds or not is_of_kind:
                yield Misfit(misfit.line, (each.lineno, each.arg), misfit.words(function))


class _Held:
    def __init__(self, program: Readable, root: JsonObject) -> None:
        self._awaiting: Final = program.awaiting
        self._root: Final = root
        self._left = _MOST_STEPS

    def against(
        self, node: ast.expr, schema: Json, path: str, depth: int, *, is_part: bool = False
    ) -> Sequence[_Found]:
        """`is_part`: other schemas speak of the same value, and may know keys that this one does not."""
        self._left -= 1
        if self._left < 0:
            raise TooLarge
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return ()
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return self.against(node, target(self._root, ref), path, depth + 1, is_part=is_part)
        if isinstance(node, ast.Name) and (value := self._awaiting.only_value(node)) is not None:
            # What may be changed on its way is not followed.
            node = node if value_of(value) is UNKNOWN else value
        kind = kind_of(node)
        if kind is None:
            return ()
        wrong = _wrong(node, kind, schema, path)
        if wrong is not None:
            return (wrong,)
        found: list[_Found] = []
        for each in _several(schema, "allOf"):
            found += self.against(node, each, path, depth + 1, is_part=True)
        for key in ("anyOf", "oneOf"):
            if branches := _several(schema, key):
                apart = is_part or "properties" in schema
                found += _of_all([self.against(node, each, path, depth + 1, is_part=apart) for each in branches])
        if isinstance(node, ast.Dict):
            found += self._keys(node, schema, path, depth, is_part=is_part)
        elif isinstance(node, ast.List | ast.Tuple):
            found += self._items(node, schema, path, depth)
        elif isinstance(node, ast.ListComp):
            found += self.against(node.elt, _item(schema), f"{path}[…]", depth + 1)
        return found

    def _items(self, node: ast.List | ast.Tuple, schema: JsonObject, path: str, depth: int) -> Iterator[_Found]:
        if "prefixItems" in schema:
            return
        for place, each in enumerate(node.elts):
            if not isinstance(each, ast.Starred):
                yield from self.against(each, _item(schema), _longer(path, place), depth + 1)

    def _keys(self, node: ast.Dict, schema: JsonObject, path: str, depth: int, *, is_part: bool) -> Iterator[_Found]:
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
                yield from self.against(value, known[name], _longer(path, name), depth + 1)
            elif is_closed or (not is_open and any(each not in lines for each in _near(name, known))):
                yield _NoKey(lines[name], path, name, tuple(known))
            elif isinstance(others, dict) and not schema.get("patternProperties"):
                yield from self.against(value, others, _longer(path, name), depth + 1)
        required = schema.get("required")
        if is_whole and isinstance(required, list):
            lacks = tuple(each for each in required if isinstance(each, str) and each not in written)
            if lacks:
                yield _Lacks(node.lineno, path, lacks)


def _near(name: str, known: Iterable[str]) -> Sequence[str]:
    """Keys that somebody who wrote this one surely meant."""
    return get_close_matches(name[:_LONGEST_PATH], [each for each in known if len(each) <= _LONGEST_PATH], cutoff=0.8)


def _of_all(branches: Sequence[Sequence[_Found]]) -> Sequence[_Found]:
    """What is wrong with a value of which one of several must be true."""
    if not all(branches):
        return ()
    plain = [each[0] for each in branches if len(each) == 1]
    wrong = [each for each in plain if isinstance(each, _Wrong) and each.path == _path(branches)]
    if len(wrong) == len(branches):
        values = [value for each in wrong for value in each.values]
        kinds = dict.fromkeys(kind for each in wrong for kind in each.kinds)
        return (replace(wrong[0], values=tuple(values), kinds=tuple(kinds)),)
    # It is meant as the one that it is most like: of its kind, with the least that is wrong.
    return min((each for each in branches if not (len(each) == 1 and each[0] in wrong)), key=len)


def _path(branches: Sequence[Sequence[_Found]]) -> str:
    return min((each.path for branch in branches for each in branch), key=len)


def _wrong(node: ast.expr, kind: str, schema: JsonObject, path: str) -> _Wrong | None:
    value = value_of(node)
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    known = None if value is UNKNOWN else value
    if isinstance(choices, list) and value is not UNKNOWN:
        if (value is None and schema.get("nullable") is True) or any(_is_same(known, each) for each in choices):
            return None
        return _Wrong(node.lineno, path, said_of(node), known, values=tuple(choices))
    types = schema.get("type")
    taken = [types] if isinstance(types, str) else types if isinstance(types, list) else []
    kinds = [each for each in taken if isinstance(each, str)]
    if not kinds or (value is None and schema.get("nullable") is True):
        return None
    if any(each not in PYTHONS or fits(kind, value, each) for each in kinds):
        return None
    pythons = tuple(dict.fromkeys(PYTHONS[each] for each in kinds))
    return _Wrong(node.lineno, path, said_of(node), known, kinds=pythons)


def _is_same(one: Json, other: Json) -> bool:
    """As JSON has it: true is not 1, and 1.0 is."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _is_composed(schema: JsonObject) -> bool:
    return any(each in schema for each in _COMPOSED)


def _several(schema: JsonObject, key: str) -> list[Json]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _item(schema: JsonObject) -> Json:
    return None if "prefixItems" in schema else schema.get("items")


def _longer(path: str, key: str | int) -> str:
    longer = f"{path}[{spoken(key)}]"
    return longer if len(longer) <= _LONGEST_PATH else f"{path.removesuffix('[…]')}[…]"


def _or(each: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(each[:-1]), *each[-1:])))


def _meant(near: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(map(spoken, near))}?" if near else ""
