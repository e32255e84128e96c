"""The five tools of the meta presentation."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.core.calls.call import LockedToolRefusal, UnknownTool, find_open_tool
from pegboard.core.decision.resolve import LockedTool, OpenTool, Resolution
from pegboard.core.decision.rules import server_is_reviewed
from pegboard.core.decision.status import LockStatus
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.references import ReferenceKind, UnknownReference, closest_names
from pegboard.core.model.tool import ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.entries import first_sentence, name_and_description, readable_schema
from pegboard.core.presentations.own_tools import (
    CALL_TOOL,
    DESTRUCTIVE_HINTS,
    READ_ONLY_HINTS,
    build_own_tool,
    text_schema,
    tools_by_name,
)

LIST_TOOLSETS: Final = "list_toolsets"
LIST_TOOLS: Final = "list_tools"
GET_INPUT_SCHEMA: Final = "get_tool_input_schema"
GET_OUTPUT_SCHEMA: Final = "get_tool_output_schema"

MAX_TOOLS: Final = 500
"""Tools in one answer; a larger toolset is read in parts."""

INSTRUCTIONS: Final = (
    "Tools of several toolsets are behind this gateway. See which toolsets there are with list_toolsets and what is in "
    "one with list_tools; read a tool's schema with get_tool_input_schema, then call it with call_tool. A call that is "
    "refused says why and what to do; when it tells you to ask the user, ask, and do not look for a way around it."
)

# Each description begins with the sentences of seed 001, word for word.
TOOLS: Final = tools_by_name(
    build_own_tool(
        LIST_TOOLSETS,
        "This is a meta tool for listing available toolsets. Toolset is a set of available tools.",
        {},
        [],
        READ_ONLY_HINTS,
    ),
    build_own_tool(
        LIST_TOOLS,
        "This is a meta tool for listing available tools of a specific toolset. The list of available toolsets can be "
        "obtained using the list_toolsets meta tool.",
        {
            "toolset": text_schema("The toolset's name, as list_toolsets gave it."),
            "offset": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": f"How many tools to pass over: an answer holds {MAX_TOOLS} at most.",
            },
        },
        ["toolset"],
        READ_ONLY_HINTS,
    ),
    build_own_tool(
        GET_INPUT_SCHEMA,
        "This is a meta tool for getting an input schema for a specific tool. The list of available tools can be "
        "obtained using the list_tools meta tool. The answer also has the tool's whole description.",
        {"tool": text_schema("The tool's name, as list_tools gave it.")},
        ["tool"],
        READ_ONLY_HINTS,
    ),
    build_own_tool(
        GET_OUTPUT_SCHEMA,
        "This is a meta tool for getting an output schema for a specific tool. The list of available tools can be "
        "obtained using the list_tools meta tool.",
        {"tool": text_schema("The tool's name, as list_tools gave it.")},
        ["tool"],
        READ_ONLY_HINTS,
    ),
    build_own_tool(
        CALL_TOOL,
        "This is a meta tool for calling a tool. The list of available tools can be obtained using the list_tools meta "
        "tool. The input schema can be obtained using the get_tool_input_schema meta tool.",
        {
            "tool": text_schema("The tool's name, as list_tools gave it."),
            "input": {
                "type": "object",
                "default": {},
                "description": "Its input, as its own input schema asks for it.",
            },
        },
        ["tool"],
        DESTRUCTIVE_HINTS,
    ),
)


@dataclass(frozen=True)
class NoSuchToolset:
    """A name that means no toolset of this caller's view."""

    unknown: UnknownReference

    def __str__(self) -> str:
        return f"{self.unknown} See which there are with {LIST_TOOLSETS}."


def list_toolsets(resolution: Resolution, policy: Policy) -> JsonObject:
    """Those of which this caller may know a tool. Where some are locked, how many of them and by what."""
    entries: list[JsonObject] = []
    for id, tally in _tallies(resolution).items():
        entry: JsonObject = {"name": id, "description": _description(id, tally, resolution, policy)}
        entries.append({**entry, "tools": {**tally}} if tally.keys() - {_CALLABLE} else entry)
    return {"toolsets": [*entries]}


def list_tools(toolset: str, offset: int, resolution: Resolution, policy: Policy) -> JsonObject | NoSuchToolset:
    """The open ones. Toolset ids are lower case, so a name in another case can mean only one."""
    tallies = _tallies(resolution)
    id = ToolsetId(toolset.strip().lower())
    if id not in tallies:
        return NoSuchToolset(
            UnknownReference(toolset[:_MAX_NAME_CHARS], ReferenceKind.TOOLSET, closest_names(toolset, tallies))
        )
    opened = [tool.id for tool in resolution.open_tools() if tool.id.toolset == id]
    part = opened[offset : offset + MAX_TOOLS]
    answer: JsonObject = {"tools": [_tool_line(tool, resolution, policy) for tool in part]}
    if (rest := len(opened) - offset - len(part)) > 0:
        answer["notice"] = f"There are {rest} more. List again with offset {offset + MAX_TOOLS}."
    locked = {status: count for status, count in tallies[id].items() if status != _CALLABLE}
    return {**answer, "locked": {**locked}} if locked else answer


def get_input_schema(name: str, resolution: Resolution, policy: Policy) -> JsonObject | UnknownTool | LockedToolRefusal:
    found = find_open_tool(name, resolution)
    if not isinstance(found, OpenTool):
        return found
    tool = found.visible_tool
    return {**name_and_description(tool, resolution, policy), "inputSchema": readable_schema(tool.spec.input_schema)}


def get_output_schema(name: str, resolution: Resolution) -> JsonObject | UnknownTool | LockedToolRefusal:
    found = find_open_tool(name, resolution)
    if not isinstance(found, OpenTool):
        return found
    shown = resolution.names[found.tool.id]
    schema = found.visible_tool.spec.output_schema
    if schema is None:
        told = f"{shown} has no output schema: it says nothing of what its answer looks like. Call it all the same."
        return {"name": shown, "outputSchema": None, "notice": told}
    return {"name": shown, "outputSchema": readable_schema(schema)}


_CALLABLE: Final = "callable"
_MAX_NAME_CHARS: Final = 128


def _tallies(resolution: Resolution) -> Mapping[ToolsetId, Mapping[str, int]]:
    """By toolset, in their order: how many tools are callable, and how many locked by what."""
    counted: dict[ToolsetId, Counter[str]] = {}
    for id, verdict in resolution.verdicts.items():
        match verdict:
            case OpenTool():
                counted.setdefault(id.toolset, Counter())[_CALLABLE] += 1
            case LockedTool():
                counted.setdefault(id.toolset, Counter())[verdict.status.value] += 1
            case _:
                pass
    return {id: _in_status_order(counted[id]) for id in sorted(counted)}


def _in_status_order(tally: Counter[str]) -> Mapping[str, int]:
    stated = {status.value: tally[status.value] for status in LockStatus if tally[status.value]}
    return {_CALLABLE: tally[_CALLABLE], **stated}


def _description(id: ToolsetId, tally: Mapping[str, int], resolution: Resolution, policy: Policy) -> str:
    """Of a toolset that nobody has let in, its own words are withheld as those of its tools are."""
    toolset = policy.toolsets.get(id)
    if toolset is None or not tally[_CALLABLE] or _is_reviewed(id, resolution, policy):
        return ""
    # A toolset that was imported wrote this itself, and no approval of a tool covers it.
    told = toolset.description or toolset.name
    return "" if _looks_poisoned(id, told) else told


def _looks_poisoned(id: ToolsetId, told: str) -> bool:
    # Loaded when it is needed: most gateways show no meta tools, and all its patterns take room.
    from pegboard.core.scan.findings import is_poisoned
    from pegboard.core.scan.scanner import scan_tool

    return is_poisoned(scan_tool(ToolSpec(id, description=told)))


def _is_reviewed(id: ToolsetId, resolution: Resolution, policy: Policy) -> bool:
    sources = {tool.source: tool for tool in resolution.names if tool.toolset == id}
    return any(server_is_reviewed(resolution.verdicts[tool].tool, None, policy) for tool in sources.values())


def _tool_line(id: ToolId, resolution: Resolution, policy: Policy) -> JsonObject:
    verdict = resolution.verdicts[id]
    assert isinstance(verdict, OpenTool)
    told = name_and_description(verdict.visible_tool, resolution, policy)
    description = told["description"]
    assert isinstance(description, str)
    return {"name": told["name"], "description": first_sentence(description)}
