"""The search presentation: tools that find others, tell all about one, call it, and list servers."""

from collections.abc import Sequence
from typing import Final

from pegboard.core.call import find_open_tool, refusal_text
from pegboard.core.policy import Policy
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.retrieval import DEFAULT_RESULTS, MAX_QUERY_CHARS, MAX_RESULTS, AnswerDetail
from pegboard.core.tool import Json, JsonObject

from .entries import complete_entry
from .own import CALL_TOOL, DESTRUCTIVE_HINTS, READ_ONLY_HINTS, build_own_tool, flag_schema, text_schema, tools_by_name

RETRIEVE: Final = "retrieve_tools"
DESCRIBE: Final = "describe_tool"
SERVERS: Final = "upstream_servers"

MAX_DESCRIBED: Final = 20
MAX_PLACE_CHARS: Final = 200

INSTRUCTIONS: Final = (
    "Tools of several servers are behind this gateway. Find them with retrieve_tools, in a few words of what you want "
    "to do, and call what you found with call_tool; describe_tool gives the whole schema of one. A call that is "
    "refused says why and what to do; when it tells you to ask the user, ask, and do not look for a way around it."
)


def _place_schema(what: str) -> JsonObject:
    return {"type": "string", "maxLength": MAX_PLACE_CHARS, "default": "", "description": what}


TOOLS: Final = tools_by_name(
    build_own_tool(
        RETRIEVE,
        "Find tools by what they do. Answers with the tools that can be called, best first: name, parameters in one "
        "line (a ? marks what may be left out), and what it does. Call one with call_tool; where the line is not "
        "enough, describe_tool gives the whole schema. With include_disabled, tools that exist but are locked are "
        "listed too, with the reason and what to do.",
        {
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
                "description": "How many callable tools to answer with at most.",
            },
            "include_disabled": flag_schema("Also list tools that match but are locked, and what unlocks them."),
            "read_only_only": flag_schema("Only tools that say they change nothing."),
            "exclude_destructive": flag_schema("Leave out tools that may destroy something."),
            "exclude_open_world": flag_schema("Leave out tools that reach beyond their own system."),
            "server": _place_schema("Only tools of this server, by its id as upstream_servers tells it."),
            "toolset": _place_schema("Only tools of this toolset."),
            "detail": {
                "type": "string",
                "enum": [*AnswerDetail],
                "default": AnswerDetail.COMPACT.value,
                "description": "full: with the whole description and input schema of each tool.",
            },
            "explain": flag_schema("Tell which words made each rank, and what was left out."),
        },
        ["query"],
        READ_ONLY_HINTS,
    ),
    build_own_tool(
        DESCRIBE,
        "Get all that tools say of themselves: the whole description, input schema and output schema.",
        {
            "names": {
                "type": "array",
                "items": text_schema("A tool's name, as retrieve_tools gave it."),
                "minItems": 1,
                "maxItems": MAX_DESCRIBED,
                "description": "Which tools.",
            },
        },
        ["names"],
        READ_ONLY_HINTS,
    ),
    build_own_tool(
        CALL_TOOL,
        "Call a tool that retrieve_tools found.",
        {
            "name": text_schema("Its name, as retrieve_tools gave it."),
            "arguments": {
                "type": "object",
                "default": {},
                "description": "Its arguments, as its own input schema asks for them.",
            },
        },
        ["name"],
        DESTRUCTIVE_HINTS,
    ),
    build_own_tool(
        SERVERS,
        "List the servers that the tools come from, with their health; where tools are locked, how many and why.",
        {},
        [],
        READ_ONLY_HINTS,
    ),
)


def describe_tools(names: Sequence[str], resolution: Resolution, policy: Policy) -> JsonObject:
    """Each open one whole. One that is not is told in the words in which its call would be refused."""
    tools: list[Json] = []
    refused: list[Json] = []
    for name in dict.fromkeys(names):
        found = find_open_tool(name, resolution)
        if isinstance(found, OpenTool):
            tools.append(complete_entry(found.visible_tool, resolution, policy))
        else:
            refused.append({"name": name, "why": refusal_text(found, RETRIEVE)})
    return {"tools": tools, "refused": refused} if refused else {"tools": tools}
