"""Every text that a model sees of a tool, and where it stands."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from pegboard.core.tool import Json, ToolSpec

from .excerpt import make_excerpt
from .finding import FindingPath


class TextPosition(NamedTuple):
    """Linked, because a path of its own for every text of a deep schema would be costly; and a tuple, because there is
    one for every key of every schema."""

    parent: "TextPosition | None"
    key: str | int
    is_key: bool = False
    """The text is the key itself and not what stands under it."""

    @property
    def is_parameter(self) -> bool:
        return self.is_key and self.parent is not None and self.parent.key == "properties"

    @property
    def is_name(self) -> bool:
        return self.is_parameter or (self.parent is None and self.key == "name")

    def path(self) -> FindingPath:
        keys: list[str | int] = []
        place: TextPosition | None = self
        while place is not None:
            keys.append(place.key)
            place = place.parent
        return tuple(reversed(keys))

    def __str__(self) -> str:
        if self.parent is None:
            return f"The {self.key}"
        where = make_excerpt(".".join(map(str, self.path())), 80)
        return f"The name at {where}" if self.is_key else f"The text at {where}"


def spec_texts(spec: ToolSpec) -> Iterator[tuple[TextPosition, str]]:
    yield TextPosition(None, "name"), spec.name
    yield TextPosition(None, "title"), spec.title or ""
    yield TextPosition(None, "description"), spec.description
    for root, value in (
        ("inputSchema", spec.input_schema),
        ("outputSchema", spec.output_schema),
        ("annotations", spec.annotations),
    ):
        if value is not None:
            yield from _walk_strings(TextPosition(None, root), value)


def spec_strings(spec: ToolSpec) -> tuple[list[str], list[str]]:
    """The same texts in no order and without their places, and the names of the parameters among them."""
    found = [spec.name, spec.title or "", spec.description]
    parameters: list[str] = []
    waiting: list[tuple[str | None, Json | Mapping[str, Json]]] = [
        (None, value) for value in (spec.input_schema, spec.output_schema, spec.annotations) if value is not None
    ]
    while waiting:
        above, item = waiting.pop()
        if isinstance(item, Mapping):
            if above == "properties":
                parameters += [key for key in item if key not in _KEYWORDS]
            for key, below in item.items():
                if key not in _KEYWORDS:
                    found.append(key)
                if isinstance(below, str):
                    if not (key == "type" and below in _TYPES):
                        found.append(below)
                elif isinstance(below, list | Mapping):
                    waiting.append((key, below))
        elif isinstance(item, list):
            found += [element for element in item if isinstance(element, str)]
            waiting += [(None, element) for element in item if isinstance(element, list | Mapping)]
    return found, parameters


def _walk_strings(root: TextPosition, value: Mapping[str, Json]) -> Iterator[tuple[TextPosition, str]]:
    """Every key and every text, by a stack of its own: a schema may be deeper than the interpreter recurses."""
    waiting: list[tuple[TextPosition, Json | Mapping[str, Json]]] = [(root, value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, str):
            yield place, item
        elif isinstance(item, Mapping):
            yield from ((TextPosition(place, key, is_key=True), key) for key in item if key not in _KEYWORDS)
            waiting += [
                (TextPosition(place, key), below)
                for key, below in reversed([*item.items()])
                if isinstance(below, str | list | Mapping) and not (key == "type" and below in _TYPES)
            ]
        elif isinstance(item, list):
            waiting += [
                (TextPosition(place, number), element)
                for number, element in reversed([*enumerate(item)])
                if isinstance(element, str | list | Mapping)
            ]


_KEYWORDS: Final = frozenset(
    {
        *(
            "type",
            "properties",
            "required",
            "items",
            "description",
            "title",
            "default",
            "enum",
            "$defs",
            "anyOf",
            "format",
        ),
        *(
            "additionalProperties",
            "$schema",
            "$ref",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "pattern",
            "oneOf",
        ),
        *("allOf", "examples", "const", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"),
    }
)
"""Keys of nearly every schema, which say nothing."""

_TYPES: Final = ("string", "object", "integer", "number", "boolean", "array", "null")
