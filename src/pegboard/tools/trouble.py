"""Why a function cannot be a tool, told to whoever wrote it: where it stands, what is wrong, and what to write."""

import inspect
from collections.abc import Callable
from pathlib import PurePath


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
