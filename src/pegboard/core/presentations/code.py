"""The code presentation: a tool that finds functions, and one that runs a program."""

from enum import StrEnum
from typing import Final

from pegboard.core.presentations.own_tools import READ_ONLY_HINTS, build_own_tool, flag_schema, tools_by_name
from pegboard.core.presentations.retrieval import DEFAULT_RESULTS, query_schemas

SEARCH: Final = "tool_search"
MAX_RESULTS: Final = 50
"""Functions in one answer."""

SEARCH_HINT: Final = (
    f"Find functions with {SEARCH} before you write a program: it tells what there is, how each is called and what it "
    "gives back."
)

INSTRUCTIONS: Final = (
    f"Tools of several servers are behind this gateway, as functions of Python. Find those you need with {SEARCH}, "
    "in a few words of what you want to do; then write one program that calls them, and run it with "
    "python_execution. Let the program do the loops, the conditions and the filtering, and answer with what you need "
    "to read and no more. A "
    "call that is refused raises an exception that says why and what to do; when it tells you to ask the user, ask, "
    "and do not look for a way around it."
)


class FunctionDetail(StrEnum):
    """How much is told of each function."""

    LINE = "line"
    """How it is called, what it gives back, and the first sentence of what it does."""
    STUB = "stub"
    """The whole description, and every type in full."""


TOOLS: Final = tools_by_name(
    build_own_tool(
        SEARCH,
        "Find functions by what they do. Answers with how each is called and what it gives back, as a line of Python, "
        "the best first; a ? marks a key that may be missing. detail: stub gives whole descriptions and every type. "
        "What is found is called in a program: see python_execution.",
        {
            **query_schemas(
                "How many functions to answer with at most.",
                DEFAULT_RESULTS,
                MAX_RESULTS,
                "What you want to do, in a few words; or names of functions, as server.function.",
            ),
            "detail": {
                "type": "string",
                "enum": [*FunctionDetail],
                "default": FunctionDetail.LINE.value,
                "description": "stub: whole descriptions, and every type in full.",
            },
            "include_disabled": flag_schema("Also tell of tools that match but are locked, and what unlocks them."),
        },
        ["query"],
        READ_ONLY_HINTS,
    ),
)
"""Beside these there is python_execution, whose words follow the settings."""
