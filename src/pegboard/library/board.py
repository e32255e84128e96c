"""A gateway around functions of your own: the same gate, the same checks and the same words as behind MCP."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any, Final, assert_never
from uuid import uuid4

from pegboard.core.builtin_verdict import closed_clause
from pegboard.core.call import (
    BadArguments,
    Call,
    Cancelled,
    Demanded,
    NeedsInput,
    NotConfirmed,
    Outcome,
    ProviderFailed,
    Refusal,
    Returned,
    ToolFailed,
    ToolIsLocked,
    UnknownTool,
    refusal_text,
)
from pegboard.core.ids import LOCAL, BadId, CallId, ProviderKey, ToolId, ToolsetId, ToolsetKey, WireName, toolset_id
from pegboard.core.launch import NO_FILTER, LaunchFilter
from pegboard.core.override import Override
from pegboard.core.own import Own, PythonTool
from pegboard.core.policy import Declared
from pegboard.core.prompting import Prompting
from pegboard.core.resolve import Open
from pegboard.core.server import Always, DeclaredAt, Server, Trust
from pegboard.core.tool import Json, JsonSchema
from pegboard.core.toolset import Toolset
from pegboard.core.view import View
from pegboard.gateway.automatic import automatic_search
from pegboard.gateway.builtin_verdicts import verdict_on_search
from pegboard.gateway.gateway import Gateway, open_gateway
from pegboard.ports import Progress, Provider
from pegboard.prompts.model import Model, model_facts
from pegboard.providers.python.local import LocalTools
from pegboard.tools import Function, described

from .memory import KeptHere, Unrecorded

if TYPE_CHECKING:
    from pegboard.prompts import Prompt

_HERE: Final = DeclaredAt("your program", 1)
_SETTLES: Final = 30.0


@dataclass(frozen=True)
class Shown:
    """A tool as a model would be shown it."""

    name: str
    title: str | None
    description: str
    input_schema: JsonSchema
    output_schema: JsonSchema | None


@dataclass(frozen=True)
class Found:
    """What a search brought, and why that: a sentence for each decision."""

    tools: tuple[Shown, ...]
    decisions: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """What a model is to be sent, and why that: a sentence for each decision."""

    prompt: "Prompt"
    request: Mapping[str, Json]
    """The body of a request to any server that speaks OpenAI's API."""
    decisions: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    text: str
    structured: Mapping[str, Json] | None = None
    is_error: bool = False
    """The text then says what went wrong, in words for a model."""


@dataclass(frozen=True)
class Board:
    gateway: Gateway
    """All there is to it, for whoever needs more than to list and to call."""

    def tools(self) -> tuple[Shown, ...]:
        """Those that can be called, in the order in which a client would get them."""
        return self._shown(self.gateway.board.resolution(View()).names)

    async def automatic_search(self, user_text: str, billions: float | None = None) -> Found:
        """Those that a model of so many billion parameters is to be shown before its first turn: the tools that fit
        what its user says, 2, 5 or 10 of them by its size, and 2 where that is unknown.

        Raises `TypeError` or `ValueError` for what is no text, or no number of parameters.
        """
        if not isinstance(user_text, str):
            raise TypeError(f"user_text is of type {type(user_text).__name__}: give what the user says, as a str.")
        if billions is not None:
            _check_size(billions)
        why_not = closed_clause(verdict_on_search(self.gateway, View()))
        automatic = await automatic_search(self.gateway, View(), user_text, Model(billions), why_not=why_not)
        return Found(self._shown(automatic.found.ids), tuple(map(str, automatic.decisions)))

    async def prompt(
        self,
        user_text: str,
        model: str,
        *,
        settings: Prompting | None = None,
        metadata: Mapping[str, Json] | None = None,
        launch: LaunchFilter = NO_FILTER,
    ) -> Told:
        """What a model is to be sent for what its user says: the prompt with the tools that fit, and the request.

        `model` is its name as its server writes it, `metadata` what the server tells of it. What the model answers is
        read by `pegboard.prompts.parse`, or is in the `tool_calls` of the answer where the prompt is native.
        """
        from pegboard.gateway.prompting import prompted
        from pegboard.prompts import chat_request

        if not isinstance(user_text, str):
            raise TypeError(f"user_text is of type {type(user_text).__name__}: give what the user says, as a str.")
        told = Prompting() if settings is None else settings
        facts = model_facts(model, metadata, told.models)
        made = await prompted(self.gateway, View(), facts, user_text, settings=told, launch=launch)
        rulings = (*made.prompt.capabilities.about_builtins, *made.prompt.capabilities.about_formats)
        request = chat_request(made.prompt, [{"role": "user", "content": user_text}] if user_text else [])
        return Told(made.prompt, request, (*map(str, rulings), *map(str, made.automatic.decisions)))

    def _shown(self, ids: Iterable[ToolId]) -> tuple[Shown, ...]:
        resolution = self.gateway.board.resolution(View())
        found = []
        for id in ids:
            verdict = resolution.verdicts.get(id)
            if isinstance(verdict, Open):
                spec, name = verdict.shown.spec, resolution.names[id]
                found.append(Shown(name, spec.title, spec.description, spec.input_schema, spec.output_schema))
        return tuple(found)

    async def call(
        self, name: str, arguments: Mapping[str, Json] | None = None, progress: Progress | None = None
    ) -> Result:
        """By the name that `tools` shows, or by the tool's id. Raises nothing for what goes wrong: it is told."""
        call = Call(CallId(uuid4().hex), WireName(name), dict(arguments or {}), LOCAL, _now(), client="your program")
        return _result(await self.gateway.caller.call(call, View(), progress))

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
    providers: dict[ProviderKey, LocalTools] = {}
    servers: dict[ProviderKey, Server] = {}
    known: dict[ToolsetId, Toolset] = {}
    overrides: list[Override] = []
    for text, functions in toolsets.items():
        id = toolset_id(text)
        if isinstance(id, BadId):
            raise ValueError(f"{id.why}.")
        key = ToolsetKey(id)
        made = _named(text, functions)
        own = Own("", tuple(PythonTool(name, function.spec) for name, function in made.items()))
        servers[key] = Server(key, own, _HERE, trust=Trust.OPEN, starts=Always())
        known[id] = Toolset(id, _HERE, user_mcp=False)
        providers[key] = LocalTools(key, made, _now, servers[key].timeouts.call)
        overrides += [
            Override(id, ToolId(key, name), requires_confirmation=True, manifest=True)
            for name, function in made.items()
            if function.marks.requires_confirmation
        ]

    def provider_for(server: Server) -> Provider:
        return providers[server.key]

    declared = Declared(servers=servers, toolsets=known, overrides=tuple(overrides))
    async with open_gateway(declared, KeptHere(), Unrecorded(), provider_for, _now) as gateway:
        await gateway.settled(_SETTLES)
        yield Board(gateway)


def _named(toolset: str, functions: Iterable[Callable[..., Any]]) -> dict[str, Function]:
    given: object = functions
    if not isinstance(given, Iterable) or isinstance(given, str):
        name = getattr(given, "__name__", "…")
        raise TypeError(f"{toolset} must be a list of functions, and it is {_kind(given)}: {toolset}=[{name}]")
    made: dict[str, Function] = {}
    for function in map(described, functions):
        if function.spec.name in made:
            name = function.spec.name
            raise ValueError(f"two functions of {toolset} are called {name!r}. Give one another name: @tool(name=…).")
        made[function.spec.name] = function
    return made


def _kind(given: object) -> str:
    return "one function" if callable(given) else f"of the type {type(given).__name__}"


def _now() -> datetime:
    return datetime.now(UTC)


def _result(ended: Outcome | Refusal) -> Result:
    match ended:
        case Returned(body) | ToolFailed(body):
            told = json.loads(body)
            text = "\n".join(block["text"] for block in told["content"] if block["type"] == "text")
            return Result(text, told.get("structuredContent"), isinstance(ended, ToolFailed))
        case ProviderFailed(why, may_have_run):
            return Result(f"{why}.{' It may have run.' if may_have_run else ''}", is_error=True)
        case ToolIsLocked() | BadArguments() | NotConfirmed() | UnknownTool():
            return Result(refusal_text(ended), is_error=True)
        case NeedsInput() | Demanded():
            return Result("The tool asks its caller something, and a program cannot be asked.", is_error=True)
        case Cancelled():
            return Result("The call was given up.", is_error=True)
        case _:
            assert_never(ended)
