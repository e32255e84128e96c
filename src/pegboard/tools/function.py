"""A function as a tool: its description, and its return value as a result."""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Any, Final

import pydantic_core
from pydantic import PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.core.model.wire_names import is_legal
from pegboard.tools.context import ToolContext
from pegboard.tools.metadata import NotAToolError, ToolMetadata, docstring_texts, metadata_of
from pegboard.tools.parameters import (
    FunctionParameters,
    UntitledJsonSchema,
    parameters_of,
    texts_of_keyword,
    type_hints,
    without_names,
)

RESULT_KEY: Final = "result"
"""The protocol's data is an object: anything else stands in one, under this name."""


_EXPECTED_MESSAGE: Final = re.compile(
    r"Expected `(?P<expected>[^`\n]{1,200})`"
    r"(?:[^[\n]*\[(?:field_name='(?P<field>[^'\n]{1,200})', )?input_value=.*input_type=(?P<found>\w{1,200})\]\))?"
)
"""What Pydantic says first of a value that is not what it should be, and of which field, if it is in one."""


class BadResultError(ValueError):
    """The function ran, and gave back what cannot be told."""


@dataclass(frozen=True)
class FunctionResults:
    schema: JsonObject | None
    """None where nothing is known of the result, or where its text is all there is to it."""
    _adapter: TypeAdapter[Any] | None
    _is_wrapped: bool
    _forbids_null: bool = False
    """Whether it has numbers and nothing may be null, which is how a number is written that JSON lacks."""

    def encode(self, value: object) -> bytes:
        """The protocol's result object as JSON. Raises `BadResultError`."""
        if value is None and self._adapter is None:
            return b'{"content":[]}'
        if isinstance(value, str) and self.schema is None:
            return b'{"content":[{"type":"text","text":%b}]}' % pydantic_core.to_json(value)
        data = self._dump(value)
        if self._is_wrapped:
            structured, text = b'{"%b":%b}' % (RESULT_KEY.encode(), data), value if isinstance(value, str) else data
        else:
            structured, text = data, data
        shown = pydantic_core.to_json(text.decode() if isinstance(text, bytes) else text)
        content = b'"content":[{"type":"text","text":%b}]' % shown
        if self.schema is None and not data.startswith(b"{"):
            return b"{%b}" % content
        return b'{%b,"structuredContent":%b}' % (content, structured)

    def _dump(self, value: object) -> bytes:
        try:
            if self._adapter is None:
                return pydantic_core.to_json(value, inf_nan_mode="null")
            written = self._adapter.dump_json(value, by_alias=True, warnings="error")
        except (pydantic_core.PydanticSerializationError, ValueError, RecursionError) as error:
            raise BadResultError(_why(value, str(error))) from None
        if self._forbids_null and b"null" in written and _has_non_finite(self._adapter.dump_python(value, mode="json")):
            raise BadResultError(
                "The tool ran, and gave back a number that JSON does not have (nan or an infinity). Its author can "
                "annotate the result as float | None, and it is null then."
            )
        return written


def _has_non_finite(value: object) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case Mapping():
            return any(map(_has_non_finite, value.values()))
        case list() | tuple():
            return any(map(_has_non_finite, value))
        case _:
            return False


def _why(value: object, error: str) -> str:
    given = f"The tool ran, and gave back a value of type {type(value).__name__}"
    told = _EXPECTED_MESSAGE.search(error)
    if told is None:
        return f"{given} that cannot be written as JSON."
    if told["field"] is not None:
        given = f"{given}, in which {told['field']!r} is of type {told['found']}"
    elif told["found"] not in (None, type(value).__name__):
        given = f"{given}, in which one is of type {told['found']}"
    return f"{given} where its annotation says {told['expected']}."


def _inline_reference(schema: dict[str, Any]) -> dict[str, Any]:
    """What holds itself is told by a reference to its definition: at the top stands what is meant."""
    ref, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(ref, str) or not isinstance(definitions, dict):
        return schema
    meant = definitions.get(ref.removeprefix("#/$defs/"))
    if not isinstance(meant, dict) or meant.get("type") != "object":
        return schema
    return {**meant, **{key: value for key, value in schema.items() if key != "$ref"}}


def results_of(function: Callable[..., object]) -> FunctionResults:
    """Raises `NotAToolError`."""
    kind = type_hints(function).get("return", Any)
    if kind in (Any, str, None, NoneType, object):
        return FunctionResults(None, None, False)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        made = adapter.json_schema(mode="serialization", by_alias=True, schema_generator=UntitledJsonSchema)
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return FunctionResults(None, None, False)
    schema = without_names(made, frozenset({getattr(kind, "__name__", "")}))
    if "binary" in texts_of_keyword(schema, "format"):
        raise NotAToolError(
            function,
            "it gives back bytes, which JSON cannot hold. Return text, such as pydantic.Base64Bytes makes of them, or "
            "write a file into the workspace and return its name.",
        )
    schema = _inline_reference(schema)
    kinds = {*texts_of_keyword(schema, "type")}
    numbered = "number" in kinds and "null" not in kinds
    if schema.get("type") == "object":
        return FunctionResults(schema, adapter, False, numbered)
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    inside = {"type": "object", "properties": {RESULT_KEY: schema}, "required": [RESULT_KEY], **definitions}
    return FunctionResults(inside, adapter, True, numbered)


# One function as a tool: what a model is shown of it, and a call of it from JSON to JSON.

_ANNOTATION_KEYS: Final = (
    ("readOnlyHint", "read_only"),
    ("destructiveHint", "destructive"),
    ("idempotentHint", "idempotent"),
    ("openWorldHint", "open_world"),
)

_NO_CONTEXT: Final = ToolContext()


@dataclass(frozen=True)
class FunctionTool:
    spec: ToolSpec
    metadata: ToolMetadata
    _function: Callable[..., Any]
    _parameters: FunctionParameters
    _results: FunctionResults
    is_async: bool

    async def call(self, arguments: bytes, context: ToolContext | None = None) -> bytes:
        """The protocol's result object as JSON. Raises `BadArgumentsError`, `BadResultError`, and what the function
        raises. What is not async runs in a thread, so that nobody waits for it who need not."""
        places, names = self._parameters.parse(arguments, context or ToolContext())
        if self.is_async:
            given = await self._function(*places, **names)
        else:
            # A worker process has no use for threads, and should not have to load what starts them.
            from anyio import to_thread

            given = await to_thread.run_sync(partial(self._function, *places, **names), abandon_on_cancel=True)
        return self._results.encode(given)

    def run(self, arguments: bytes, context: ToolContext | None = None) -> bytes:
        """The same for what is not async, here and now: whoever calls it waits."""
        places, names = self._parameters.parse(arguments, context or _NO_CONTEXT)
        return self._results.encode(self._function(*places, **names))

    @property
    def wants_context(self) -> bool:
        return self._parameters.wants_context


def describe_function(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> FunctionTool:
    """`name` and `description` are a manifest's, and win over the function's own. Raises `NotAToolError`."""
    if not callable(function):
        raise NotAToolError(function, f"it is of type {type(function).__name__}, and no function.")
    if isinstance(function, type):
        raise NotAToolError(function, "it is a class. Name a function, or an instance that can be called.")
    callee = function if inspect.isroutine(function) else type(function).__call__
    if inspect.isasyncgenfunction(callee) or inspect.isgeneratorfunction(callee):
        raise NotAToolError(function, "it yields. Return a list, and tell of the way there by the context's progress.")
    said = metadata_of(function)
    called = str(name or said.name or getattr(function, "__name__", type(function).__name__))
    if not is_legal(called):
        raise NotAToolError(
            function, f"{called!r} cannot be a tool's name. Use 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'."
        )
    asked, given = parameters_of(function), results_of(function)
    spec = ToolSpec(
        called,
        title=said.title,
        description=description or said.description or docstring_texts(function).description,
        input_schema=asked.schema,
        output_schema=given.schema,
        annotations=_annotations(said),
    )
    return FunctionTool(spec, said, function, asked, given, inspect.iscoroutinefunction(inspect.unwrap(callee)))


def _annotations(said: ToolMetadata) -> dict[str, Json] | None:
    told: dict[str, Json] = {
        hint: getattr(said, mark) for hint, mark in _ANNOTATION_KEYS if getattr(said, mark) is not None
    }
    return told or None
