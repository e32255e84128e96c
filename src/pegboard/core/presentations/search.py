"""The tools of the search presentation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from pegboard.core.calls.call import find_open_tool, refusal_text
from pegboard.core.calls.tickets import TICKET, TICKET_ID
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution
from pegboard.core.decision.status import LockStatus
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import (
    Catalogue,
    Health,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
    is_listing_known,
)
from pegboard.core.model.ids import BuiltinKey, ProviderKey, ServerKey, SourceKey, ToolId
from pegboard.core.model.text import quote_name
from pegboard.core.model.tool import JsonSchema, canonical_json
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.entries import complete_entry
from pegboard.core.presentations.own_tools import (
    CALL_TOOL,
    DESTRUCTIVE_HINTS,
    READ_ONLY_HINTS,
    build_own_tool,
    flag_schema,
    text_schema,
    tools_by_name,
)
from pegboard.core.presentations.retrieval import DEFAULT_RESULTS, MAX_RESULTS, AnswerDetail, query_schemas
from pegboard.core.resources.visibility import ResourcesOutOfView, resource_visibility

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
            **query_schemas("How many callable tools to answer with at most.", DEFAULT_RESULTS, MAX_RESULTS),
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
            refused.append({"name": name, "message": refusal_text(found, RETRIEVE)})
    return {"tools": tools, "refused": refused} if refused else {"tools": tools}


# What a caller needs to mend a call whose arguments do not fit: the schema of the tool that it meant.

MAX_SCHEMA_CHARS: Final = 20_000
"""Characters of a schema that are sent unasked."""


def schema_hint(id: ToolId, resolution: Resolution, told_by: str) -> tuple[str, ...]:
    """Lines to be added to the refusal: as callers see the tool, and nothing of one that is not open to them. One that
    is too long is to be asked for with the tool that has it `told_by`."""
    schema = _schema(id, resolution)
    if schema is None:
        return ()
    text = canonical_json(schema).decode("utf-8", "replace")
    if len(text) > MAX_SCHEMA_CHARS:
        return (f"The input schema of {quote_name(id)} has {len(text)} characters; get it with {told_by}.",)
    return (f"The input schema of {quote_name(id)} is:", text)


def _schema(id: ToolId, resolution: Resolution) -> JsonSchema | None:
    if id == TICKET_ID:
        return TICKET.spec.input_schema
    verdict = resolution.verdicts.get(id)
    return verdict.visible_tool.spec.input_schema if isinstance(verdict, OpenTool) else None


# The per-server rollup: how many tools a server has callable, and how many are locked for which reason.


def tool_counts(resolution: Resolution) -> Mapping[SourceKey, Mapping[str, int]]:
    """`callable` and one key a status, zeros left out. Tools outside the view are not counted."""
    tallies: dict[SourceKey, Counter[str]] = {}
    for id, verdict in resolution.verdicts.items():
        match verdict:
            case HiddenTool():
                continue
            case OpenTool():
                tallies.setdefault(id.source, Counter())["callable"] += 1
            case LockedTool():
                tallies.setdefault(id.source, Counter())[verdict.status.value] += 1
    return {source: _in_status_order(tally) for source, tally in tallies.items()}


def locked_counts(resolution: Resolution) -> Mapping[SourceKey, Mapping[str, int]]:
    """Only the servers of which something is not callable."""
    return {source: tally for source, tally in tool_counts(resolution).items() if tally.keys() - {"callable"}}


def _in_status_order(tally: Counter[str]) -> Mapping[str, int]:
    stated = {status.value: tally[status.value] for status in LockStatus if tally[status.value]}
    return {"callable": tally["callable"], **stated}


# The servers that one caller may know of, with the counts of what is locked there.


def list_upstream_servers(catalogue: Catalogue, policy: Policy, resolution: Resolution) -> JsonObject:
    """A server is told of if a tool of it is in the view, or if the view would have whatever it lists. What a toolset
    brings itself is told of alike, without the id of a server.

    Of one that has not listed anything it is told that nothing is callable: that nothing is said means that all is.
    """
    seen = {id.source for id in resolution.names}
    opened = resource_visibility(catalogue, policy, resolution.view)
    counted = locked_counts(resolution)
    servers = [
        _entry(key, word.health, dict(counted.get(key, {} if is_listing_known(word) else {"callable": 0})))
        for key, word in catalogue.listings.items()
        if not isinstance(key, BuiltinKey) and (key in seen or not isinstance(opened[key], ResourcesOutOfView))
    ]
    return {"servers": [*servers]}


def _entry(key: ProviderKey, health: Health, tally: dict[str, int]) -> JsonObject:
    entry: JsonObject = {
        "id": str(key),
        "serverId": key.server if isinstance(key, ServerKey) else None,
        "toolsetId": key.toolset,
        "health": health_word(health),
    }
    return {**entry, "tools": {**tally}} if tally else entry


def health_word(health: Health) -> str:
    match health:
        case ProviderUp():
            return "up"
        case ProviderStart():
            return "starting"
        case ProviderDown():
            return "down"
        case ProviderNeedsSignIn():
            return "needs_sign_in"
        case ProviderAsleep():
            return "asleep"
        case ProviderOff():
            return "off"
        case _:
            assert_never(health)
