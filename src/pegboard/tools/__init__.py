"""Plain Python functions as tools, described by their annotations and docstrings."""

from pegboard.tools.context import Secrets, ToolContext
from pegboard.tools.function import FunctionTool, describe_function
from pegboard.tools.metadata import NotAToolError, ToolMetadata, metadata_of, tool
from pegboard.tools.parameters import BadArgumentsError

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
