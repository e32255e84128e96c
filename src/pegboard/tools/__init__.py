"""Plain Python functions as tools: described by their annotations and docstring, called with what those ask for."""

from .context import Secrets, ToolContext
from .function import Function, described
from .marks import Marks, marks, tool
from .parameters import BadArgumentsError
from .trouble import NotAToolError

__all__ = [
    "BadArgumentsError",
    "Function",
    "Marks",
    "NotAToolError",
    "Secrets",
    "ToolContext",
    "described",
    "marks",
    "tool",
]
