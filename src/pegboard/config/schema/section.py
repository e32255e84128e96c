"""A section: a map with known keys, each with a type and a description."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Generic, TypeVar, assert_never, cast

from pegboard.config.schema.document import (
    Invalid,
    LocatedValue,
    MapEntry,
    MapNode,
    Node,
    ProblemCollector,
    ScalarKind,
    ScalarNode,
    describe_node,
    join_key,
)
from pegboard.config.schema.fields import BooleanField, ConfigField, TextField
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.references import closest_names
from pegboard.core.model.server import AllButTools, EveryTool, OnlyTools, ToolFilter

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

EXTENSION_PREFIX: Final = "x-"
"""Keys that begin so are the writer's own: a place for anchors, where a section allows them."""


@dataclass(frozen=True)
class ConfigKey(Generic[T_co]):
    name: str
    field_type: ConfigField[T_co]
    description: str
    default: Json = None
    """Only shown; what an absent key means is decided where the value is used."""


@dataclass(frozen=True)
class ConfigValues:
    """What a section says. A key that was written wrongly is absent, and has been told."""

    located_values: Mapping[str, LocatedValue[object]]
    invalid_keys: frozenset[str]
    line: int

    def get(self, key: ConfigKey[T]) -> LocatedValue[T] | None:
        return cast("LocatedValue[T] | None", self.located_values.get(key.name))

    def value(self, key: ConfigKey[T], default: T) -> T:
        placed = self.get(key)
        return default if placed is None else placed.value

    def mentions(self, name: str) -> bool:
        return name in self.located_values or name in self.invalid_keys


@dataclass(frozen=True)
class ConfigSection:
    description: str
    keys: tuple[ConfigKey[object], ...]
    exactly_one: tuple[str, ...] = ()
    at_most_one: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    """A key that makes sense only beside another."""
    advice: Mapping[str, str] = field(default_factory=dict[str, str])
    """For keys that other programs know: what to write instead."""
    required: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other spellings, by which a key is read as well."""
    ignored_keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys that other programs know and that mean nothing here, with a warning that says why."""
    allows_extension_keys: bool = False
    null_is_absent: bool = False
    """Whether a key without a value is as good as no key: programs that write such files leave many of them."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> ConfigValues | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.NULL:
            node = MapNode((), node.line)
        if not isinstance(node, MapNode):
            names = ", ".join([key.name for key in self.keys if not key.name.startswith("$")][:3])
            return tell.add_problem(
                node.line, at, f"this must be a map with keys such as {names}; it is {describe_node(node)}."
            )
        shapes: dict[str, ConfigField[object]] = {key.name: key.field_type for key in self.keys}
        found: dict[str, LocatedValue[object]] = {}
        wrong: set[str] = set()
        meant: set[str] = set()
        for entry in node.entries:
            name = self.aliases.get(entry.key, entry.key)
            here = join_key(at, entry.key)
            shape = shapes.get(name)
            if shape is None:
                if entry.key in self.ignored_keys:
                    tell.add_warning(entry.line, here, self.ignored_keys[entry.key])
                elif not (self.allows_extension_keys and entry.key.startswith(EXTENSION_PREFIX)):
                    meant.update(self._report_unknown(entry, at, tell))
                continue
            if self.null_is_absent and isinstance(entry.value, ScalarNode) and entry.value.kind is ScalarKind.NULL:
                continue
            value = shape.parse(entry.value, here, tell)
            if name in found or name in wrong:
                tell.add_problem(entry.line, here, f"this is {name} in another spelling. Keep one of them.")
            elif isinstance(value, Invalid):
                wrong.add(name)
            else:
                found[name] = LocatedValue(value, here, entry.line)
        values = ConfigValues(found, frozenset(wrong), node.line)
        self._check_combinations(node, values, at, tell, meant)
        return values

    def schema(self) -> JsonObject:
        properties = {key.name: _described_schema(key) for key in self.keys}
        properties |= {
            other: {**properties[name], "description": f"The same as {name}."} for other, name in self.aliases.items()
        }
        if self.null_is_absent:
            properties = {name: _nullable_schema(inner) for name, inner in properties.items()}
        properties |= {name: {"description": why} for name, why in self.ignored_keys.items()}
        schema: JsonObject = {
            "type": "object" if self.required else ["object", "null"],
            "description": self.description,
            "properties": {**properties},
            "additionalProperties": False,
        }
        if rules := [*self._rules()]:
            schema["allOf"] = [*rules]
        if self.allows_extension_keys:
            schema["patternProperties"] = {f"^{EXTENSION_PREFIX}": {}}
        if self.exactly_one:
            schema["oneOf"] = [self._requires(name) for name in self.exactly_one]
        if self.at_most_one:
            # What is no object lacks nothing, so without its type nothing at all would be refused as well.
            schema["not"] = {"type": "object", **self._requires(*self.at_most_one)}
        if self.needs and not self.null_is_absent:
            schema["dependentRequired"] = {name: [other] for name, other in self.needs.items()}
        return schema

    def _rules(self) -> Iterator[JsonObject]:
        spellings = {key.name: [key.name] for key in self.keys}
        for other, name in self.aliases.items():
            spellings[name].append(other)
        for name in self.required:
            yield {"anyOf": [self._requires(each) for each in spellings[name]]}
        for both in (both for each in spellings.values() for both in combinations(each, 2)):
            yield {"not": {"type": "object", **self._requires(*both)}}
        if self.null_is_absent:
            for name, other in self.needs.items():
                yield {"if": {"type": "object", **self._requires(name)}, "then": self._requires(other)}

    def _requires(self, *names: str) -> JsonObject:
        if not self.null_is_absent:
            return {"required": [*names]}
        return {"required": [*names], "properties": {name: {"not": {"type": "null"}} for name in names}}

    def _report_unknown(self, entry: MapEntry, at: str, tell: ProblemCollector) -> tuple[str, ...]:
        """The keys that may have been meant."""
        if tell.is_full:
            tell.omitted_count += 1
            return ()
        near = closest_names(entry.key, [key.name for key in self.keys])
        if entry.key in self.advice:
            hint = self.advice[entry.key]
        else:
            hint = f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else self._known_keys_hint()
        tell.add_problem(entry.line, join_key(at, entry.key), f"unknown key. {hint}")
        return (*near, *(key.name for key in self.keys if hint == f"Write {key.name}."))

    def _known_keys_hint(self) -> str:
        return f"Known here: {', '.join(key.name for key in self.keys if not key.name.startswith('$'))}."

    def _check_combinations(
        self, node: MapNode, values: ConfigValues, at: str, tell: ProblemCollector, meant: set[str]
    ) -> None:
        lines = {self.aliases.get(entry.key, entry.key): entry.line for entry in node.entries}

        def mentioned_names(names: tuple[str, ...]) -> list[str]:
            return [name for name in names if values.mentions(name)]

        for key in self.keys:
            if key.name in self.required and not values.mentions(key.name) and key.name not in meant:
                tell.add_problem(node.line, join_key(at, key.name), f"this is missing. {key.description}")
        # A misspelt key has been told already: that it is missing as well would be no news.
        if self.exactly_one and not mentioned_names(self.exactly_one) and not meant & {*self.exactly_one}:
            tell.add_problem(node.line, at, f"this needs {' or '.join(self.exactly_one)}. Write one of them.")
        for names in (self.exactly_one, self.at_most_one):
            if len(both := mentioned_names(names)) > 1:
                tell.add_problem(lines[both[-1]], at, f"{' and '.join(both)} exclude each other. Keep one of them.")
        for name, other in self.needs.items():
            if (
                values.mentions(name)
                and not values.mentions(other)
                and (mentioned_names(self.exactly_one) or not self.exactly_one)
            ):
                tell.add_problem(
                    lines[name], join_key(at, name), f"this goes only with {other}. Remove it, or write {other}."
                )


class OptionalName(str):
    """A name that need not exist: written as `{name: …, optional: true}`."""

    __slots__ = ()


def format_tool_filter(limit: ToolFilter) -> JsonObject:
    """As a file says it."""
    match limit:
        case EveryTool():
            return {}
        case OnlyTools(names, _, optional):
            return {"enabled_tools": [*_format_names(names, optional)]}
        case AllButTools(names, _, optional):
            return {"disabled_tools": [*_format_names(names, optional)]}
        case _:
            assert_never(limit)


def _format_names(names: Iterable[str], optional: Collection[str]) -> Iterator[Json]:
    for name in names:
        yield {"name": name, "optional": True} if name in optional else name


@dataclass(frozen=True)
class NameOrOptionalField:
    """A name, or a map that says that it need not exist."""

    name: TextField

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> str | Invalid:
        if not isinstance(node, MapNode):
            return self.name.parse(node, at, tell)
        values = self._map_section.parse(node, at, tell)
        said = None if isinstance(values, Invalid) else values.located_values.get("name")
        if isinstance(values, Invalid) or said is None:
            return Invalid()
        name = str(said.value)
        return OptionalName(name) if values.value(_OPTIONAL, False) else name

    def schema(self) -> JsonObject:
        return {"anyOf": [self.name.schema(), {**self._map_section.schema(), "type": "object"}]}

    @property
    def _map_section(self) -> ConfigSection:
        description = "A name, and whether it need not exist."
        return ConfigSection(description, (ConfigKey("name", self.name, "The name."), _OPTIONAL), required=("name",))


_OPTIONAL: Final = ConfigKey(
    "optional",
    BooleanField(),
    "Whether the name need not exist. Otherwise an unknown name is an error, and a denial locks the nearest tools.",
    False,
)


def _described_schema(key: ConfigKey[object]) -> JsonObject:
    schema: JsonObject = {"description": key.description, **key.field_type.schema()}
    if isinstance(key.field_type, ConfigSection):
        schema["description"] = key.description
    return schema if key.default is None else {**schema, "default": key.default}


def _nullable_schema(schema: JsonObject) -> JsonObject:
    kinds = schema.get("type")
    if kinds is not None and schema.keys().isdisjoint(("enum", "const", "not", "oneOf", "anyOf", "allOf")):
        listed = kinds if isinstance(kinds, list) else [kinds]
        return {**schema, "type": [*listed, *([] if "null" in listed else ["null"])]}
    rest: JsonObject = {name: inner for name, inner in schema.items() if name not in ("description", "default")}
    told: JsonObject = {name: schema[name] for name in ("description", "default") if name in schema}
    return {**told, "anyOf": [rest, {"type": "null"}]}
