"""The tools of the deferred presentation."""

from typing import Final

from pegboard.core.json.values import JsonObject
from pegboard.core.presentations.own_tools import (
    CALL_TOOL,
    DESTRUCTIVE_HINTS,
    MAX_HANDLE_CHARS,
    READ_ONLY_HINTS,
    build_own_tool,
    flag_schema,
    text_schema,
    tools_by_name,
)
from pegboard.core.presentations.retrieval import query_schemas

SEARCH: Final = "tool_search"
DEFAULT_RESULTS: Final = 5
MAX_RESULTS: Final = 20
"""How many tools one search brings: when nobody says, and at most."""

INSTRUCTIONS: Final = (
    "Tools of several servers are behind this gateway, and most are not listed. Find them with tool_search, in a few "
    "words of what you want to do: what it finds is listed from then on, and is called by its own name, or with "
    "call_tool where your list stays as it was. A call that is refused says why and what to do; when it tells you to "
    "ask the user, ask, and do not look for a way around it."
)

_HANDLE_SCHEMA: Final[JsonObject] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_HANDLE_CHARS,
    "description": "The handle that your last search gave you, if it gave one.",
}

TOOLS: Final = tools_by_name(
    build_own_tool(
        SEARCH,
        "Find tools by what they do. There are more tools than you are shown: search whenever none of them fits. What "
        "is found can be called at once, by its own name or with call_tool.",
        {
            **query_schemas("How many tools to find at most.", DEFAULT_RESULTS, MAX_RESULTS),
            "include_disabled": flag_schema("Also tell of tools that match but are locked, and what unlocks them."),
            "handle": _HANDLE_SCHEMA,
        },
        ["query"],
        READ_ONLY_HINTS,
    ),
    build_own_tool(
        CALL_TOOL,
        "Call a tool that tool_search found and that is not among your tools.",
        {
            "name": text_schema("Its name, as tool_search gave it."),
            "arguments": {
                "type": "object",
                "default": {},
                "description": "Its arguments, as its own input schema asks for them.",
            },
            "handle": _HANDLE_SCHEMA,
        },
        ["name"],
        DESTRUCTIVE_HINTS,
    ),
)
