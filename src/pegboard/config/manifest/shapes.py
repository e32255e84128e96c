"""Shapes of values that only a manifest has: sizes, a renderer with what it takes, a name or more about it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.config.override_keys import RENDERER
from pegboard.config.section import ConfigSection, ConfigValues
from pegboard.config.shape import AnyMapField, ConfigField
from pegboard.config.telling import Invalid, LocatedValue, ProblemCollector
from pegboard.config.tree import (
    MapNode,
    Node,
    ScalarKind,
    ScalarNode,
    describe_node,
    join_key,
    parse_integer,
    parse_number,
)
from pegboard.core.own import MIB
from pegboard.core.renderers import DEFAULT_RENDERER, RENDERERS, config_problems
from pegboard.core.tool import Json, JsonObject

_SIZE: Final = re.compile(r"([1-9][0-9]{0,11}) ?([KMGkmg]?)(?:i?[Bb])?")
_FACTORS: Final = {"": 1, "k": 1024, "m": MIB, "g": 1024 * MIB}
MIN_MEMORY_BYTES: Final = 16 * MIB
MAX_MEMORY_BYTES: Final = 1024 * 1024 * MIB


@dataclass(frozen=True)
class SizeField:
    """Bytes of memory: a number, or a number with its unit. To every unit a kilobyte has 1024 bytes."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> int | Invalid:
        match node:
            case ScalarNode(ScalarKind.INTEGER, text):
                size = parse_integer(text)
            case ScalarNode(ScalarKind.TEXT, text) if (written := _SIZE.fullmatch(text)) is not None:
                size = int(written.group(1)) * _FACTORS[written.group(2).lower()]
            case _:
                what = f"this must be a size: bytes, or a text such as 256MB or 1GB; it is {describe_node(node)}."
                return tell.add_problem(node.line, at, what)
        if not MIN_MEMORY_BYTES <= size <= MAX_MEMORY_BYTES:
            return tell.add_problem(node.line, at, "this must be from 16MB to 1024GB.")
        return size

    def schema(self) -> JsonObject:
        return {
            "anyOf": [
                {"type": "integer", "minimum": MIN_MEMORY_BYTES, "maximum": MAX_MEMORY_BYTES},
                {"type": "string", "pattern": f"^(?:{_SIZE.pattern})$"},
            ]
        }


def format_size(size: int) -> Json:
    """In the largest unit that tells it whole."""
    for unit, factor in (("GB", 1024 * MIB), ("MB", MIB), ("KB", 1024)):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return size


@dataclass(frozen=True)
class NumberField:
    """Above 0."""

    maximum: float

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> float | Invalid:
        value = math.nan
        if isinstance(node, ScalarNode) and node.kind in (ScalarKind.INTEGER, ScalarKind.NUMBER):
            value = float(parse_integer(node.text)) if node.kind is ScalarKind.INTEGER else parse_number(node.text)
        if not 0 < value <= self.maximum:
            rule = f"this must be a number above 0 and at most {self.maximum:g}"
            return tell.add_problem(node.line, at, f"{rule}; it is {describe_node(node)}.")
        return value

    def schema(self) -> JsonObject:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.maximum}


@dataclass(frozen=True)
class ManifestVersionField:
    """The number 1, in quotes or without."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> int | Invalid:
        if isinstance(node, ScalarNode) and node.kind is not ScalarKind.NULL and node.text in ("1", "1.0"):
            return 1
        what = (
            f"this must be 1, the only version there is; it is {_describe_version(node)}. A later Pegboard may know it."
        )
        return tell.add_problem(node.line, at, what)

    def schema(self) -> JsonObject:
        return {"enum": [1, "1", "1.0"]}


@dataclass(frozen=True)
class RendererNameField:
    """`None` for the default one."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> str | Invalid | None:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT and node.text == DEFAULT_RENDERER:
            return None
        return RENDERER.field_type.parse(node, at, tell)

    def schema(self) -> JsonObject:
        return RENDERER.field_type.schema()


@dataclass(frozen=True, slots=True)
class RendererChoice:
    renderer: str | None
    config: Mapping[str, Json] | None


@dataclass(frozen=True)
class RendererField:
    """A renderer by its name, or a map of its `type` and its configuration."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> RendererChoice | Invalid:
        if not isinstance(node, MapNode):
            name = RendererNameField().parse(node, at, tell)
            return name if isinstance(name, Invalid) else RendererChoice(name, None)
        kind = node.get("type")
        if kind is None:
            return tell.add_problem(
                node.line, at, "this needs type, the renderer's name. Write type: code, for example."
            )
        name = RendererNameField().parse(kind, join_key(at, "type"), tell)
        rest = tuple(entry for entry in node.entries if entry.key != "type")
        config = AnyMapField().parse(MapNode(rest, node.line), at, tell)
        if isinstance(name, Invalid) or isinstance(config, Invalid):
            return Invalid()
        lines = {entry.key: entry.line for entry in rest}
        misfits = () if name is None else config_problems(name, config)
        for key, what in misfits:
            tell.add_problem(lines.get(key, node.line), join_key(at, key), what)
        return Invalid() if misfits else RendererChoice(name, config or None)

    def schema(self) -> JsonObject:
        named = RendererNameField().schema()
        described: JsonObject = {"description": "The renderer's name.", **named}
        several: list[JsonObject] = []
        for each in RENDERERS:
            inner = each.schema()
            properties = inner["properties"]
            assert isinstance(properties, dict)
            kind: JsonObject = {"description": "The renderer's name.", "enum": [each.name, *each.aliases]}
            several.append(
                {
                    "if": {"properties": {"type": kind}, "required": ["type"]},
                    "then": {**inner, "properties": {"type": kind, **properties}},
                }
            )
        whole: JsonObject = {
            "type": "object",
            "properties": {"type": described},
            "required": ["type"],
            "allOf": [*several],
        }
        return {"anyOf": [named, whole]}


@dataclass(frozen=True)
class NameOrMapField:
    """A map, or for short its first key alone."""

    name: ConfigField[str]
    section: ConfigSection

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> ConfigValues | Invalid:
        if isinstance(node, MapNode):
            return self.section.parse(node, at, tell)
        name = self.name.parse(node, at, tell)
        if isinstance(name, Invalid):
            return name
        return ConfigValues({self.section.keys[0].name: LocatedValue(name, at, node.line)}, frozenset(), node.line)

    def schema(self) -> JsonObject:
        return {"anyOf": [self.name.schema(), self.section.schema()]}


def _describe_version(node: Node) -> str:
    return (
        repr(node.text[:16])
        if isinstance(node, ScalarNode) and node.kind is not ScalarKind.NULL
        else describe_node(node)
    )
