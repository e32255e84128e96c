"""The search presentation: three tools instead of all. One finds tools, one calls what was found, one lists servers.

None of them approves, enables or widens anything.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from typing import Final

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams

from pegboard.core.call import Arguments, BadArguments, Returned, UnknownTool, refusal_text
from pegboard.core.ids import BuiltinKey, ToolId, WireName
from pegboard.core.retrieval import BLANK, FEW, LONGEST_QUERY, MOST, Retrieval
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.tool import Json, JsonObject, Tool, ToolSpec
from pegboard.core.upstream import upstream_servers
from pegboard.core.view import View
from pegboard.gateway.answering import Answered
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.validation import Validators

from .answer import Ended, error_result, result_of
from .direct import BadCursor, Page, tool_document
from .presentation import Own
from .wire import sound_object, sound_text

SETTLE: Final = 3.0
"""Seconds that a search waits for servers that are starting: what is not listed yet cannot be found."""

NAME: Final = "search"
RETRIEVE: Final = "retrieve_tools"
CALL: Final = "call_tool"
SERVERS: Final = "upstream_servers"

INSTRUCTIONS: Final = (
    "Tools of several servers are behind this gateway. Find them with retrieve_tools, in a few words of what you want "
    "to do, and call what you found with call_tool. A call that is refused says why and what to do; when it tells you "
    "to ask the user, ask, and do not look for a way around it."
)


def _flag(what: str) -> JsonObject:
    return {"type": "boolean", "default": False, "description": what}


def _tool(name: str, description: str, properties: JsonObject, required: list[Json], annotations: JsonObject) -> Tool:
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    spec = ToolSpec(name, description=description, input_schema=schema, annotations=annotations)
    return Tool(ToolId(BuiltinKey(), name), spec)


_READS: Final[JsonObject] = {"readOnlyHint": True, "openWorldHint": False}
TOOLS: Final[Mapping[str, Tool]] = {
    RETRIEVE: _tool(
        RETRIEVE,
        "Find tools by what they do. Answers with the tools that can be called, best first, each with its name and its "
        "input schema; call one with call_tool. With include_disabled, tools that exist but are locked are listed too, "
        "with the reason and what to do.",
        {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_QUERY,
                "description": "What you want to do, in a few words; or a part of a tool's name.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST,
                "default": FEW,
                "description": "How many callable tools to answer with at most.",
            },
            "include_disabled": _flag("Also list tools that match but are locked, and what unlocks them."),
            "read_only_only": _flag("Only tools that say they change nothing."),
            "exclude_destructive": _flag("Leave out tools that may destroy something."),
            "exclude_open_world": _flag("Leave out tools that reach beyond their own system."),
        },
        ["query"],
        _READS,
    ),
    CALL: _tool(
        CALL,
        "Call a tool that retrieve_tools found.",
        {
            "name": {"type": "string", "minLength": 1, "description": "Its name, as retrieve_tools gave it."},
            "arguments": {
                "type": "object",
                "default": {},
                "description": "Its arguments, as its own input schema asks for them.",
            },
        },
        ["name"],
        {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    ),
    SERVERS: _tool(
        SERVERS,
        "List the servers that the tools come from, with their health; where tools are locked, how many and why.",
        {},
        [],
        _READS,
    ),
}
_LIST: Final = tuple(tool_document(tool, WireName(name)) for name, tool in TOOLS.items())
_MARK: Final = hashlib.sha256(json.dumps(_LIST).encode()).digest()


class Search:
    """The list never changes. What is found does, and is asked of the board each time."""

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        """Until `ready`, a search waits; without it, a moment for what is starting."""
        self._gateway = gateway
        self._ready = ready
        self._validators = Validators()

    @property
    def name(self) -> str:
        return NAME

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def page(self, view: View, cursor: str | None) -> Page | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return Page(_LIST, None)

    def mark(self, view: View) -> bytes:
        return _MARK

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        tool = TOOLS.get(name)
        return None if tool is None else dict(tool.spec.input_schema)

    def meant(self, asked: CallToolRequestParams, view: View) -> CallToolRequestParams | Own:
        if asked.name == TICKET_TOOL:
            # Not listed here, but the answer to a call that must be confirmed tells of it.
            return asked
        tool, arguments = TOOLS.get(asked.name), asked.arguments or {}
        if tool is None:
            return _refused(UnknownTool(asked.name, tuple(TOOLS)), None)
        if problems := self._validators.problems(tool, arguments):
            return _refused(BadArguments(tool.id, problems), tool.id)
        if asked.name == RETRIEVE and not str(arguments["query"]).strip():
            return _refused(BadArguments(tool.id, (f"query: {BLANK}",)), tool.id)
        if asked.name == CALL:
            return CallToolRequestParams(name=arguments["name"], arguments=arguments.get("arguments", {}))
        finds = asked.name == RETRIEVE
        answer = partial(self._found, _retrieval(arguments), view) if finds else partial(self._servers, view)
        return Own(tool.id, answer, partial(_told, asked.name))

    async def _found(self, asked: Retrieval, view: View) -> Returned:
        await self._settled()
        return _returned(await self._gateway.finder.retrieve(asked, view))

    async def _servers(self, view: View) -> Returned:
        board = self._gateway.board
        return _returned(upstream_servers(board.catalogue, board.policy, board.resolution(view)))

    def result(self, name: str, ended: Ended) -> JsonObject:
        """That there is no such tool is for the model to read: it made up the name, not its client."""
        if isinstance(ended, UnknownTool):
            return error_result(f"{refusal_text(ended)} Names are found with retrieve_tools.")
        return result_of(name, ended)

    async def _settled(self) -> None:
        if self._ready is not None:
            await self._ready.wait()
        else:
            await self._gateway.settled(SETTLE)


def _retrieval(arguments: Arguments) -> Retrieval:
    """The arguments fit the schema, so each is of its kind. An integer may have been written as 5.0."""
    query, limit = arguments["query"], arguments.get("limit", FEW)
    assert isinstance(query, str)
    assert isinstance(limit, int | float)

    def says(name: str) -> bool:
        return arguments.get(name) is True

    return Retrieval(
        query,
        int(limit),
        include_disabled=says("include_disabled"),
        read_only_only=says("read_only_only"),
        exclude_destructive=says("exclude_destructive"),
        exclude_open_world=says("exclude_open_world"),
    )


def _refused(refusal: BadArguments | UnknownTool, tool: ToolId | None) -> Own:
    async def answer() -> BadArguments | UnknownTool:
        return refusal

    return Own(tool, answer, partial(_told, ""))


def _told(name: str, ended: Answered) -> JsonObject:
    """A tool that the presentation does not list is the client's mistake, and told by the protocol's error."""
    if isinstance(ended, UnknownTool):
        told = f"{refusal_text(ended)} What retrieve_tools finds is called with call_tool."
        raise MCPError(INVALID_PARAMS, sound_text(told))
    return result_of(name, ended)


def _returned(body: JsonObject) -> Returned:
    text = json.dumps(sound_object(body), ensure_ascii=False, separators=(",", ":"))
    return Returned(json.dumps({"content": [{"type": "text", "text": text}]}, ensure_ascii=False).encode())
