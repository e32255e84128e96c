"""One function as a tool: what a model is shown of it, and a call of it from JSON to JSON."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pegboard.core.naming import is_legal
from pegboard.core.tool import Json, ToolSpec

from .context import ToolContext
from .marks import ToolMetadata, metadata_of
from .parameters import FunctionParameters, parameters_of
from .results import FunctionResults, results_of
from .trouble import NotAToolError
from .words import docstring_texts

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
