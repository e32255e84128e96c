"""Plain Python functions as tools: described by their annotations and docstring, called with what those ask for."""

from .context import Secrets, ToolContext
from .function import FunctionTool, describe_function
from .marks import ToolMetadata, metadata_of, tool
from .parameters import BadArgumentsError
from .trouble import NotAToolError

__all__ = [
    "BadArgumentsError",
    "FunctionTool",
    "NotAToolError",
    "Secrets",
    "ToolContext",
    "ToolMetadata",
    "describe_function",
    "metadata_of",
    "tool",
]
