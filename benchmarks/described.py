"""Tools that are described as real servers describe theirs, made the same way each time: some hundred words and a
schema each, no two alike."""

from random import Random
from typing import Final

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.tool import Tool, ToolSpec

TOOLS_PER_SERVER: Final = 20


def _each(written: str) -> tuple[str, ...]:
    return tuple(written.split("|"))


_VERBS: Final = _each("list|get|create|update|archive|export|count|find|compare|schedule|assign|merge|validate|render")
_THINGS: Final = _each(
    "invoice|ticket|repository|branch|customer|shipment|calendar|event|dashboard|metric|document|folder|contact|lead"
    "|order|product|warehouse|sensor|reading|forecast|route|station|playlist|recipe|exercise|course|lesson|translation"
    "|certificate|domain|record|job|pipeline|cluster|volume|snapshot|queue|topic|subscription|payment|refund"
)
_SIDES: Final = _each(
    "by its owner|since a date|of one project|in a region|with its comments|across all teams|for a quarter"
    "|in a given currency|with paging|sorted by age|including archived ones|as a table"
)
_SENTENCES: Final = _each(
    "Results are ordered by the time of their last change, newest first.|Use `limit` and `page` to walk on in lists."
    "|Returns an empty list if nothing fits.|Dates are in ISO 8601 and in UTC unless a time zone is given."
    "|Needs the permission to read the project.|The answer holds the identifier, the title and the state of each."
    "|Amounts are in the smallest unit of the currency.|If several fit, the first one is taken."
    "|Large answers are cut after a thousand rows; the answer then says so.|Call it again with the cursor for more."
    "|Names are compared without regard to case.|An unknown identifier gives an error that names it."
)
_PARAMETERS: Final = _each(
    "limit:integer:How many at most, 1 to 200|page:integer:Which page, from 1|query:string:Words to look for"
    "|since:string:Only what changed after this moment|owner:string:Name or address of the owner"
    "|format:string:How the answer is written|region:string:Two letters, as in the address"
    "|verbose:boolean:Whether to tell details|tags:array:Only what has all of these"
    "|cursor:string:Where the former answer ended"
)


def tools_of(count: int, seed: int = 0, first: int = 0) -> tuple[Tool, ...]:
    """Of servers with twenty tools each. Another seed gives other tools, of the same length on average; their names
    count on from the first number."""
    random = Random(seed)
    return tuple(_tool(number, random) for number in range(first, first + count))


def _tool(number: int, random: Random) -> Tool:
    server = number // TOOLS_PER_SERVER
    key = ServerKey(ToolsetId(f"set{server}"), ServerId(f"server{server}"))
    verb, thing, side = random.choice(_VERBS), random.choice(_THINGS), random.choice(_SIDES)
    name = f"{verb}_{thing}_{number}"
    what = f"{verb.capitalize()} {thing} number {number} {side}."
    description = " ".join((what, *random.sample(_SENTENCES, random.randint(1, 8))))
    return Tool(ToolId(key, name), ToolSpec(name, f"{verb} {thing}".title(), description, _schema(thing, random)))


def _schema(thing: str, random: Random) -> JsonObject:
    properties: dict[str, Json] = {f"{thing}_id": {"type": "string", "description": f"Identifier of the {thing}"}}
    for written in random.sample(_PARAMETERS, random.randint(1, 6)):
        name, kind, description = written.split(":")
        properties[name] = {"type": kind, "description": f"{description}."}
    return {"type": "object", "properties": properties, "required": [f"{thing}_id"]}
