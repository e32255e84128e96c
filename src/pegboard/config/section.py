"""A section of the settings: a map whose keys are known. Every key has its shape and says what it is for."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Generic, TypeVar, cast

from pegboard.core.reference import closest
from pegboard.core.tool import Json, JsonObject

from .shape import Shape, Text, Truth
from .telling import Placed, Telling, Wrong
from .tree import Entry, Kind, Node, Scalar, Table, shown, under

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

OWN_PREFIX: Final = "x-"
"""Keys that begin so are the writer's own: a place for anchors, where a section allows them."""


@dataclass(frozen=True)
class Key(Generic[T_co]):
    name: str
    shape: Shape[T_co]
    description: str
    default: Json = None
    """Only shown; what an absent key means is decided where the value is used."""


@dataclass(frozen=True)
class Values:
    """What a section says. A key that was written wrongly is absent, and has been told."""

    found: Mapping[str, Placed[object]]
    wrong: frozenset[str]
    line: int

    def get(self, key: Key[T]) -> Placed[T] | None:
        return cast("Placed[T] | None", self.found.get(key.name))

    def value(self, key: Key[T], default: T) -> T:
        placed = self.get(key)
        return default if placed is None else placed.value

    def says(self, name: str) -> bool:
        return name in self.found or name in self.wrong


@dataclass(frozen=True)
class Section:
    description: str
    keys: tuple[Key[object], ...]
    exactly_one: tuple[str, ...] = ()
    at_most_one: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    """A key that makes sense only beside another."""
    advice: Mapping[str, str] = field(default_factory=dict[str, str])
    """For keys that other programs know: what to write instead."""
    required: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other spellings, by which a key is read as well."""
    passed_over: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys that other programs know and that mean nothing here, with a warning that says why."""
    allows_own_keys: bool = False
    nothing_is_unsaid: bool = False
    """Whether a key without a value is as good as no key: programs that write such files leave many of them."""

    def read(self, node: Node, at: str, tell: Telling) -> Values | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.NOTHING:
            node = Table((), node.line)
        if not isinstance(node, Table):
            names = ", ".join([key.name for key in self.keys if not key.name.startswith("$")][:3])
            return tell.wrong(node.line, at, f"this must be a map with keys such as {names}; it is {shown(node)}.")
        shapes: dict[str, Shape[object]] = {key.name: key.shape for key in self.keys}
        found: dict[str, Placed[object]] = {}
        wrong: set[str] = set()
        meant: set[str] = set()
        for entry in node.entries:
            name = self.aliases.get(entry.key, entry.key)
            here = under(at, entry.key)
            shape = shapes.get(name)
            if shape is None:
                if entry.key in self.passed_over:
                    tell.warn(entry.line, here, self.passed_over[entry.key])
                elif not (self.allows_own_keys and entry.key.startswith(OWN_PREFIX)):
                    meant.update(self._unknown(entry, at, tell))
                continue
            if self.nothing_is_unsaid and isinstance(entry.value, Scalar) and entry.value.kind is Kind.NOTHING:
                continue
            value = shape.read(entry.value, here, tell)
            if name in found or name in wrong:
                tell.wrong(entry.line, here, f"this is {name} in another spelling. Keep one of them.")
            elif isinstance(value, Wrong):
                wrong.add(name)
            else:
                found[name] = Placed(value, here, entry.line)
        values = Values(found, frozenset(wrong), node.line)
        self._check_together(node, values, at, tell, meant)
        return values

    def schema(self) -> JsonObject:
        properties = {key.name: _described(key) for key in self.keys}
        properties |= {
            other: {**properties[name], "description": f"The same as {name}."} for other, name in self.aliases.items()
        }
        if self.nothing_is_unsaid:
            properties = {name: _or_nothing(inner) for name, inner in properties.items()}
        properties |= {name: {"description": why} for name, why in self.passed_over.items()}
        schema: JsonObject = {
            "type": "object" if self.required else ["object", "null"],
            "description": self.description,
            "properties": {**properties},
            "additionalProperties": False,
        }
        if rules := [*self._rules()]:
            schema["allOf"] = [*rules]
        if self.allows_own_keys:
            schema["patternProperties"] = {f"^{OWN_PREFIX}": {}}
        if self.exactly_one:
            schema["oneOf"] = [self._said(name) for name in self.exactly_one]
        if self.at_most_one:
            # What is no object lacks nothing, so without its type nothing at all would be refused as well.
            schema["not"] = {"type": "object", **self._said(*self.at_most_one)}
        if self.needs and not self.nothing_is_unsaid:
            schema["dependentRequired"] = {name: [other] for name, other in self.needs.items()}
        return schema

    def _rules(self) -> Iterator[JsonObject]:
        spellings = {key.name: [key.name] for key in self.keys}
        for other, name in self.aliases.items():
            spellings[name].append(other)
        for name in self.required:
            yield {"anyOf": [self._said(each) for each in spellings[name]]}
        for both in (both for each in spellings.values() for both in combinations(each, 2)):
            yield {"not": {"type": "object", **self._said(*both)}}
        if self.nothing_is_unsaid:
            for name, other in self.needs.items():
                yield {"if": {"type": "object", **self._said(name)}, "then": self._said(other)}

    def _said(self, *names: str) -> JsonObject:
        if not self.nothing_is_unsaid:
            return {"required": [*names]}
        return {"required": [*names], "properties": {name: {"not": {"type": "null"}} for name in names}}

    def _unknown(self, entry: Entry, at: str, tell: Telling) -> tuple[str, ...]:
        """The keys that may have been meant."""
        if tell.is_full:
            tell.untold += 1
            return ()
        near = closest(entry.key, [key.name for key in self.keys])
        if entry.key in self.advice:
            hint = self.advice[entry.key]
        else:
            hint = f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else self._known()
        tell.wrong(entry.line, under(at, entry.key), f"unknown key. {hint}")
        return (*near, *(key.name for key in self.keys if hint == f"Write {key.name}."))

    def _known(self) -> str:
        return f"Known here: {', '.join(key.name for key in self.keys if not key.name.startswith('$'))}."

    def _check_together(self, node: Table, values: Values, at: str, tell: Telling, meant: set[str]) -> None:
        lines = {self.aliases.get(entry.key, entry.key): entry.line for entry in node.entries}

        def said(names: tuple[str, ...]) -> list[str]:
            return [name for name in names if values.says(name)]

        for key in self.keys:
            if key.name in self.required and not values.says(key.name) and key.name not in meant:
                tell.wrong(node.line, under(at, key.name), f"this is missing. {key.description}")
        # A misspelt key has been told already: that it is missing as well would be no news.
        if self.exactly_one and not said(self.exactly_one) and not meant & {*self.exactly_one}:
            tell.wrong(node.line, at, f"this needs {' or '.join(self.exactly_one)}. Write one of them.")
        for names in (self.exactly_one, self.at_most_one):
            if len(both := said(names)) > 1:
                tell.wrong(lines[both[-1]], at, f"{' and '.join(both)} exclude each other. Keep one of them.")
        for name, other in self.needs.items():
            if values.says(name) and not values.says(other) and (said(self.exactly_one) or not self.exactly_one):
                tell.wrong(lines[name], under(at, name), f"this goes only with {other}. Remove it, or write {other}.")


class OptionalName(str):
    """A name that need not exist: written as `{name: …, optional: true}`."""

    __slots__ = ()


def written_names(names: Iterable[str], optional: Collection[str]) -> Iterator[Json]:
    """As a file says them."""
    for name in names:
        yield {"name": name, "optional": True} if name in optional else name


@dataclass(frozen=True)
class NameOrOptional:
    """A name, or a map that says that it need not exist."""

    name: Text

    def read(self, node: Node, at: str, tell: Telling) -> str | Wrong:
        if not isinstance(node, Table):
            return self.name.read(node, at, tell)
        values = self._map.read(node, at, tell)
        said = None if isinstance(values, Wrong) else values.found.get("name")
        if isinstance(values, Wrong) or said is None:
            return Wrong()
        name = str(said.value)
        return OptionalName(name) if values.value(_OPTIONAL, False) else name

    def schema(self) -> JsonObject:
        return {"anyOf": [self.name.schema(), {**self._map.schema(), "type": "object"}]}

    @property
    def _map(self) -> Section:
        description = "A name, and whether it need not exist."
        return Section(description, (Key("name", self.name, "The name."), _OPTIONAL), required=("name",))


_OPTIONAL: Final = Key(
    "optional",
    Truth(),
    "Whether the name need not exist. Otherwise an unknown name is an error, and a denial locks the nearest tools.",
    False,
)


def _described(key: Key[object]) -> JsonObject:
    schema: JsonObject = {"description": key.description, **key.shape.schema()}
    if isinstance(key.shape, Section):
        schema["description"] = key.description
    return schema if key.default is None else {**schema, "default": key.default}


def _or_nothing(schema: JsonObject) -> JsonObject:
    kinds = schema.get("type")
    if kinds is not None and schema.keys().isdisjoint(("enum", "const", "not", "oneOf", "anyOf", "allOf")):
        listed = kinds if isinstance(kinds, list) else [kinds]
        return {**schema, "type": [*listed, *([] if "null" in listed else ["null"])]}
    rest: JsonObject = {name: inner for name, inner in schema.items() if name not in ("description", "default")}
    told: JsonObject = {name: schema[name] for name in ("description", "default") if name in schema}
    return {**told, "anyOf": [rest, {"type": "null"}]}
