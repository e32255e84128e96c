"""A board in your own program: its functions as tools, with the same checks as behind MCP."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final, assert_never
from uuid import uuid4

from pegboard.bootstrap.environment import now
from pegboard.bootstrap.in_memory import open_functions
from pegboard.core.calls.call import (
    BadArguments,
    CallCancellation,
    ConfirmationRefusal,
    LockedToolRefusal,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    Refusal,
    ToolCall,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    refusal_text,
)
from pegboard.core.decision.resolve import OpenTool
from pegboard.core.json.values import Json
from pegboard.core.model.ids import (
    LOCAL_PRINCIPAL,
    BadId,
    CallId,
    ProviderKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    WireName,
    parse_toolset_id,
)
from pegboard.core.model.patterns import NO_FILTER, LaunchFilter
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt, Server, StartWithGateway, Trust
from pegboard.core.model.settings import PromptSettings
from pegboard.core.model.tool import JsonSchema, OwnTools, PythonTool
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.core.presentations.builtins import describe_closed
from pegboard.gateway.gateway import Gateway
from pegboard.ports.providers import Progress
from pegboard.prompts.model import Model, model_facts
from pegboard.tools import FunctionTool, describe_function

if TYPE_CHECKING:
    from pegboard.prompts import BuiltPrompt


_ORIGIN: Final = DeclaredAt("your program", 1)
_STARTUP_WAIT_S: Final = 30.0


@dataclass(frozen=True)
class ToolDescription:
    """A tool as a model would be shown it."""

    name: str
    title: str | None
    description: str
    input_schema: JsonSchema
    output_schema: JsonSchema | None


@dataclass(frozen=True)
class ToolSearchResult:
    """What a search brought, and why that: a sentence for each decision."""

    tools: tuple[ToolDescription, ...]
    decisions: tuple[str, ...]


@dataclass(frozen=True)
class PromptAndRequest:
    """What a model is to be sent, and why that: a sentence for each decision."""

    prompt: "BuiltPrompt"
    request: Mapping[str, Json]
    """The body of a request to any server that speaks OpenAI's API."""
    decisions: tuple[str, ...]


@dataclass(frozen=True)
class ToolResult:
    text: str
    structured: Mapping[str, Json] | None = None
    is_error: bool = False
    """The text then says what went wrong, in words for a model."""


@dataclass(frozen=True)
class Board:
    gateway: Gateway
    """All there is to it, for whoever needs more than to list and to call."""

    def tools(self) -> tuple[ToolDescription, ...]:
        """Those that can be called, in the order in which a client would get them."""
        return self._describe_tools(self.gateway.board.resolution(View()).names)

    async def automatic_search(self, user_text: str, billions: float | None = None) -> ToolSearchResult:
        """Those that a model of so many billion parameters is to be shown before its first turn: the tools that fit
        what its user says, 2, 5 or 10 of them by its size, and 2 where that is unknown.

        Raises `TypeError` or `ValueError` for what is no text, or no number of parameters.
        """
        if not isinstance(user_text, str):
            raise TypeError(f"user_text is of type {type(user_text).__name__}: give what the user says, as a str.")
        if billions is not None:
            _check_size(billions)
        why_not = describe_closed(self.gateway.calls.verdict_on_search(View()))
        automatic = await self.gateway.prompts.automatic_search(View(), user_text, Model(billions), why_not=why_not)
        return ToolSearchResult(self._describe_tools(automatic.found_tools.ids), tuple(map(str, automatic.decisions)))

    async def prompt(
        self,
        user_text: str,
        model: str,
        *,
        settings: PromptSettings | None = None,
        metadata: Mapping[str, Json] | None = None,
        launch: LaunchFilter = NO_FILTER,
    ) -> PromptAndRequest:
        """What a model is to be sent for what its user says: the prompt with the tools that fit, and the request.

        `model` is its name as its server writes it, `metadata` what the server tells of it. What the model answers is
        read by `pegboard.prompts.parse`, or is in the `tool_calls` of the answer where the prompt is native.
        """
        from pegboard.prompts import chat_request

        if not isinstance(user_text, str):
            raise TypeError(f"user_text is of type {type(user_text).__name__}: give what the user says, as a str.")
        told = PromptSettings() if settings is None else settings
        facts = model_facts(model, metadata, told.models)
        made = await self.gateway.prompts.prompt(View(), facts, user_text, settings=told, launch=launch)
        rulings = (*made.prompt.capabilities.builtin_decisions, *made.prompt.capabilities.format_decisions)
        request = chat_request(made.prompt, [{"role": "user", "content": user_text}] if user_text else [])
        return PromptAndRequest(made.prompt, request, (*map(str, rulings), *map(str, made.automatic.decisions)))

    def _describe_tools(self, ids: Iterable[ToolId]) -> tuple[ToolDescription, ...]:
        resolution = self.gateway.board.resolution(View())
        found = []
        for id in ids:
            verdict = resolution.verdicts.get(id)
            if isinstance(verdict, OpenTool):
                spec, name = verdict.visible_tool.spec, resolution.names[id]
                found.append(ToolDescription(name, spec.title, spec.description, spec.input_schema, spec.output_schema))
        return tuple(found)

    async def call(
        self, name: str, arguments: Mapping[str, Json] | None = None, progress: Progress | None = None
    ) -> ToolResult:
        """By the name that `tools` shows, or by the tool's id. Raises nothing for what goes wrong: it is told."""
        call = ToolCall(
            CallId(uuid4().hex), WireName(name), dict(arguments or {}), LOCAL_PRINCIPAL, now(), client="your program"
        )
        return _result(await self.gateway.calls.call(call, View(), progress))

    async def serve_stdio(self) -> None:
        """Be an MCP server on standard input and output, until the client leaves."""
        from pegboard.surfaces.mcp.stdio import serve_stdio

        await serve_stdio(self.gateway)


def _check_size(billions: float) -> None:
    mend = "give the billions of the model's parameters, such as 8 or 0.5, or None where nobody knows."
    if isinstance(billions, bool) or not isinstance(billions, int | float):
        raise TypeError(f"billions is of type {type(billions).__name__}: {mend}")
    if not 0 < billions < inf:
        raise ValueError(f"billions is {billions!r}: {mend}")


@asynccontextmanager
async def open_board(**toolsets: Iterable[Callable[..., Any]]) -> AsyncIterator[Board]:
    """Functions by the toolset that they are to be in. They run in this process: async ones on this event loop, others
    in threads. Nothing is kept when the block ends.

    Raises `NotAToolError`, `ValueError` for a name that cannot be, and `TypeError` for a toolset that is no list.
    """
    given: dict[ToolsetKey, dict[str, FunctionTool]] = {}
    servers: dict[ProviderKey, Server] = {}
    known: dict[ToolsetId, Toolset] = {}
    overrides: list[Override] = []
    for text, functions in toolsets.items():
        id = parse_toolset_id(text)
        if isinstance(id, BadId):
            raise ValueError(f"{id.why}.")
        key = ToolsetKey(id)
        given[key] = made = _functions_by_name(text, functions)
        own = OwnTools("", tuple(PythonTool(name, function.spec) for name, function in made.items()))
        servers[key] = Server(key, own, _ORIGIN, trust=Trust.OPEN, starts=StartWithGateway())
        known[id] = Toolset(id, _ORIGIN, user_mcp=False)
        overrides += [
            Override(id, ToolId(key, name), requires_confirmation=True, from_manifest=True)
            for name, function in made.items()
            if function.metadata.requires_confirmation
        ]
    async with open_functions(
        DeclaredSettings(servers=servers, toolsets=known, overrides=tuple(overrides)), given
    ) as gateway:
        await gateway.board.wait_until_started(_STARTUP_WAIT_S)
        yield Board(gateway)


def _functions_by_name(toolset: str, functions: Iterable[Callable[..., Any]]) -> dict[str, FunctionTool]:
    given: object = functions
    if not isinstance(given, Iterable) or isinstance(given, str):
        name = getattr(given, "__name__", "…")
        raise TypeError(f"{toolset} must be a list of functions, and it is {_kind_text(given)}: {toolset}=[{name}]")
    made: dict[str, FunctionTool] = {}
    for function in map(describe_function, functions):
        if function.spec.name in made:
            name = function.spec.name
            raise ValueError(f"two functions of {toolset} are called {name!r}. Give one another name: @tool(name=…).")
        made[function.spec.name] = function
    return made


def _kind_text(given: object) -> str:
    return "one function" if callable(given) else f"of the type {type(given).__name__}"


def _result(ended: Outcome | Refusal) -> ToolResult:
    match ended:
        case ToolSuccess(body) | ToolFailure(body):
            told = json.loads(body)
            text = "\n".join(block["text"] for block in told["content"] if block["type"] == "text")
            return ToolResult(text, told.get("structuredContent"), isinstance(ended, ToolFailure))
        case ProviderFailure(why, may_have_run):
            return ToolResult(f"{why}.{' It may have run.' if may_have_run else ''}", is_error=True)
        case LockedToolRefusal() | BadArguments() | ConfirmationRefusal() | UnknownTool():
            return ToolResult(refusal_text(ended), is_error=True)
        case NeedsInput() | ProtocolErrorReply():
            return ToolResult("The tool asks its caller something, and a program cannot be asked.", is_error=True)
        case CallCancellation():
            return ToolResult("The call was given up.", is_error=True)
        case _:
            assert_never(ended)
