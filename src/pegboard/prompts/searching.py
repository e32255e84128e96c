"""tool_search as a model is told of it in a prompt."""

from typing import Final

from pegboard.core.presentations.deferred import DEFAULT_RESULTS, MAX_RESULTS
from pegboard.core.prompting import SEARCH
from pegboard.core.retrieval import MAX_QUERY_CHARS

from .shapes import ToolShape

SEARCH_SHAPE: Final = ToolShape(
    SEARCH,
    "Find tools by what they do. There are more tools than you are shown: search whenever none of them fits. What is "
    "found can be called at once, by its own name.",
    {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY_CHARS,
                "description": "What you want to do, in a few words; or a part of a tool's name.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RESULTS,
                "default": DEFAULT_RESULTS,
                "description": "How many tools to find at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)
