"""What a function gives back: text for a model, and where its type is known, the same as data with a schema."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, get_type_hints

import pydantic_core
from pydantic import PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from pegboard.core.tool import JsonObject

from .portable import portable
from .schemas import Plain, without_names

WRAPPED: Final = "result"
"""The protocol's data is an object: anything else stands in one, under this name."""


_EXPECTED: Final = re.compile(r"Expected `([^`\n]{1,200})`")


class BadResultError(ValueError):
    """The function ran, and gave back what cannot be told."""


@dataclass(frozen=True)
class Results:
    schema: JsonObject | None
    """None where nothing is known of the result, or where its text is all there is to it."""
    _adapter: TypeAdapter[Any] | None
    _wrapped: bool

    def told(self, value: object) -> bytes:
        """The protocol's result object as JSON. Raises `BadResultError`."""
        if value is None and self._adapter is None:
            return b'{"content":[]}'
        if isinstance(value, str) and self.schema is None:
            return b'{"content":[{"type":"text","text":%b}]}' % pydantic_core.to_json(value)
        data = self._written(value)
        if self._wrapped:
            structured, text = b'{"%b":%b}' % (WRAPPED.encode(), data), value if isinstance(value, str) else data
        else:
            structured, text = data, data
        shown = pydantic_core.to_json(text.decode() if isinstance(text, bytes) else text)
        content = b'"content":[{"type":"text","text":%b}]' % shown
        if self.schema is None and not data.startswith(b"{"):
            return b"{%b}" % content
        return b'{%b,"structuredContent":%b}' % (content, structured)

    def _written(self, value: object) -> bytes:
        try:
            if self._adapter is None:
                return pydantic_core.to_json(value, inf_nan_mode="null")
            return self._adapter.dump_json(value, by_alias=True, warnings="error")
        except (pydantic_core.PydanticSerializationError, ValueError, RecursionError) as error:
            raise BadResultError(_why(value, str(error))) from None


def _why(value: object, error: str) -> str:
    given = f"The tool ran, and gave back a value of type {type(value).__name__}"
    if (expected := _EXPECTED.search(error)) is not None:
        return f"{given} where its annotation says {expected[1]}."
    return f"{given} that cannot be written as JSON."


def results(function: Callable[..., object]) -> Results:
    callee = function if inspect.isroutine(function) else type(function).__call__
    kind = get_type_hints(inspect.unwrap(callee), include_extras=True).get("return", Any)
    if kind in (Any, str, None, NoneType, object):
        return Results(None, None, False)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(portable(kind))
        made = adapter.json_schema(mode="serialization", by_alias=True, schema_generator=Plain)
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return Results(None, None, False)
    schema = without_names(made, frozenset({getattr(kind, "__name__", "")}))
    if schema.get("type") == "object":
        return Results(schema, adapter, False)
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    inside = {"type": "object", "properties": {WRAPPED: schema}, "required": [WRAPPED], **definitions}
    return Results(inside, adapter, True)
