"""`@tool`: metadata beyond the signature. Functions without it are tools too."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, ParamSpec, TypeVar, overload

import docstring_parser

P = ParamSpec("P")
R = TypeVar("R")

_ATTRIBUTE: Final = "__pegboard_tool__"


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """None leaves a matter to the function's own words, or to the protocol's default."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    requires_confirmation: bool | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    requires_confirmation: bool | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None, /, **said: str | bool | None
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """`@tool` or `@tool(name="…", read_only=True)`. The function stays what it was, and can be called as before."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        setattr(function, _ATTRIBUTE, ToolMetadata(**said))  # type: ignore[arg-type]  # named one by one in the overload
        return function

    return mark if function is None else mark(function)


def metadata_of(function: Callable[..., object]) -> ToolMetadata:
    """Those of a function that has none are empty."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, ToolMetadata) else ToolMetadata()


def has_metadata(function: object) -> bool:
    return isinstance(getattr(function, _ATTRIBUTE, None), ToolMetadata)


# What a docstring says of a function and of its parameters: in the manner of Google, NumPy or Sphinx.


@dataclass(frozen=True, slots=True)
class DocstringTexts:
    description: str
    parameters: Mapping[str, str]


def docstring_texts(function: Callable[..., object]) -> DocstringTexts:
    return parse_docstring(inspect.getdoc(function) or "")


def parse_docstring(text: str) -> DocstringTexts:
    """Of a docstring without the indentation that it has in its file."""
    try:
        told = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return DocstringTexts(text.strip(), {})
    said = [part.strip() for part in (told.short_description, told.long_description) if part]
    described = {
        parameter.arg_name.lstrip("*"): " ".join(parameter.description.split())
        for parameter in told.params
        if parameter.description
    }
    return DocstringTexts("\n\n".join(said), described)


# Why a function cannot be a tool, told to whoever wrote it: where it stands, what is wrong, and what to write.


class NotAToolError(ValueError):
    """Begins with file, line and function."""

    def __init__(self, function: Callable[..., object], what: str) -> None:
        super().__init__(f"{function_location(function)}: {what}")
        self.what = what


def function_location(function: Callable[..., object]) -> str:
    """By the file's own name, not by its path: what is said of a tool may reach a model."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return name if code is None else f"{PurePath(code.co_filename).name}:{code.co_firstlineno}: {name}"
