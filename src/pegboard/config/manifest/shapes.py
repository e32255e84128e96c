"""Shapes of values that only a manifest has: sizes, a renderer with what it takes, a name or more about it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.config.override_keys import RENDERER
from pegboard.config.section import Section, Values
from pegboard.config.shape import AnyMap, Shape
from pegboard.config.telling import Placed, Telling, Wrong
from pegboard.config.tree import Kind, Node, Scalar, Table, integer, number, shown, under
from pegboard.core.own import MIB
from pegboard.core.renderers import CATALOGUE, DEFAULT_RENDERER, config_problems
from pegboard.core.tool import Json, JsonObject

_SIZE: Final = re.compile(r"([1-9][0-9]{0,11}) ?([KMGkmg]?)(?:i?[Bb])?")
_FACTORS: Final = {"": 1, "k": 1024, "m": MIB, "g": 1024 * MIB}
LEAST_MEMORY: Final = 16 * MIB
MOST_MEMORY: Final = 1024 * 1024 * MIB


@dataclass(frozen=True)
class Size:
    """Bytes of memory: a number, or a number with its unit. To every unit a kilobyte has 1024 bytes."""

    def read(self, node: Node, at: str, tell: Telling) -> int | Wrong:
        match node:
            case Scalar(Kind.INTEGER, text):
                size = integer(text)
            case Scalar(Kind.TEXT, text) if (written := _SIZE.fullmatch(text)) is not None:
                size = int(written.group(1)) * _FACTORS[written.group(2).lower()]
            case _:
                what = f"this must be a size: bytes, or a text such as 256MB or 1GB; it is {shown(node)}."
                return tell.wrong(node.line, at, what)
        if not LEAST_MEMORY <= size <= MOST_MEMORY:
            return tell.wrong(node.line, at, "this must be from 16MB to 1024GB.")
        return size

    def schema(self) -> JsonObject:
        return {
            "anyOf": [
                {"type": "integer", "minimum": LEAST_MEMORY, "maximum": MOST_MEMORY},
                {"type": "string", "pattern": f"^(?:{_SIZE.pattern})$"},
            ]
        }


def written_size(size: int) -> Json:
    """In the largest unit that tells it whole."""
    for unit, factor in (("GB", 1024 * MIB), ("MB", MIB), ("KB", 1024)):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return size


@dataclass(frozen=True)
class Number:
    """Above 0."""

    most: float

    def read(self, node: Node, at: str, tell: Telling) -> float | Wrong:
        value = math.nan
        if isinstance(node, Scalar) and node.kind in (Kind.INTEGER, Kind.NUMBER):
            value = float(integer(node.text)) if node.kind is Kind.INTEGER else number(node.text)
        if not 0 < value <= self.most:
            rule = f"this must be a number above 0 and at most {self.most:g}"
            return tell.wrong(node.line, at, f"{rule}; it is {shown(node)}.")
        return value

    def schema(self) -> JsonObject:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.most}


@dataclass(frozen=True)
class FirstVersion:
    """The number 1, in quotes or without."""

    def read(self, node: Node, at: str, tell: Telling) -> int | Wrong:
        if isinstance(node, Scalar) and node.kind is not Kind.NOTHING and node.text in ("1", "1.0"):
            return 1
        what = f"this must be 1, the only version there is; it is {_named(node)}. A later Pegboard may know it."
        return tell.wrong(node.line, at, what)

    def schema(self) -> JsonObject:
        return {"enum": [1, "1", "1.0"]}


@dataclass(frozen=True)
class RendererName:
    """`None` for the default one."""

    def read(self, node: Node, at: str, tell: Telling) -> str | Wrong | None:
        if isinstance(node, Scalar) and node.kind is Kind.TEXT and node.text == DEFAULT_RENDERER:
            return None
        return RENDERER.shape.read(node, at, tell)

    def schema(self) -> JsonObject:
        return RENDERER.shape.schema()


@dataclass(frozen=True, slots=True)
class Rendering:
    renderer: str | None
    config: Mapping[str, Json] | None


@dataclass(frozen=True)
class RendererOrMap:
    """A renderer by its name, or a map of its `type` and its configuration."""

    def read(self, node: Node, at: str, tell: Telling) -> Rendering | Wrong:
        if not isinstance(node, Table):
            name = RendererName().read(node, at, tell)
            return name if isinstance(name, Wrong) else Rendering(name, None)
        kind = node.get("type")
        if kind is None:
            return tell.wrong(node.line, at, "this needs type, the renderer's name. Write type: code, for example.")
        name = RendererName().read(kind, under(at, "type"), tell)
        rest = tuple(entry for entry in node.entries if entry.key != "type")
        config = AnyMap().read(Table(rest, node.line), at, tell)
        if isinstance(name, Wrong) or isinstance(config, Wrong):
            return Wrong()
        lines = {entry.key: entry.line for entry in rest}
        misfits = () if name is None else config_problems(name, config)
        for key, what in misfits:
            tell.wrong(lines.get(key, node.line), under(at, key), what)
        return Wrong() if misfits else Rendering(name, config or None)

    def schema(self) -> JsonObject:
        named = RendererName().schema()
        described: JsonObject = {"description": "The renderer's name.", **named}
        several: list[JsonObject] = []
        for each in CATALOGUE:
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
class NameOrMap:
    """A map, or for short its first key alone."""

    name: Shape[str]
    section: Section

    def read(self, node: Node, at: str, tell: Telling) -> Values | Wrong:
        if isinstance(node, Table):
            return self.section.read(node, at, tell)
        name = self.name.read(node, at, tell)
        if isinstance(name, Wrong):
            return name
        return Values({self.section.keys[0].name: Placed(name, at, node.line)}, frozenset(), node.line)

    def schema(self) -> JsonObject:
        return {"anyOf": [self.name.schema(), self.section.schema()]}


def _named(node: Node) -> str:
    return repr(node.text[:16]) if isinstance(node, Scalar) and node.kind is not Kind.NOTHING else shown(node)
