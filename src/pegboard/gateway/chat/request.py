"""A chat request, and the model server that serves its model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

import anyio

from pegboard.config.keys.features import ChatLimits, ChatSettings
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.patterns import NO_FILTER, LaunchFilter
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.model.tool import canonical_json
from pegboard.ports.models import ModelServer, ModelServerError

# What a client asks of a chat, and who asks it. Nothing in it can open a tool.


class ToolChoiceMode(Enum):
    """Whether the model calls tools."""

    AUTO = "auto"
    NEVER = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class SpecificTool:
    """The model is to call this one."""

    name: str


ToolChoice: TypeAlias = ToolChoiceMode | SpecificTool


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that the client runs itself."""

    name: str
    description: str
    parameters: JsonObject
    document: JsonObject
    """As it came."""


@dataclass(frozen=True)
class ChatInput:
    messages: tuple[JsonObject, ...]
    model: str | None = None
    tools: tuple[ClientTool, ...] = ()
    choice: ToolChoice = ToolChoiceMode.AUTO
    one_at_a_time: bool = False
    executes_tools: bool = True
    """Whether tools of the board are called here; otherwise the client gets the calls that the model wants."""
    wait_s: float = 0.0
    """Seconds to wait for a person's decision about a call, for a client that tells that person."""
    launch: LaunchFilter = NO_FILTER
    """On top of the one in the settings: it takes away, and opens nothing."""
    sampling: JsonObject = field(default_factory=dict)
    """What is passed on to the model server as it came: temperature, max_tokens and all that we do not know."""

    @property
    def user_texts(self) -> list[str]:
        """What the user said, the latest first."""
        return [message_text(message) for message in reversed(self.messages) if message.get("role") == "user"]


def always_authorized() -> bool:
    return True


@dataclass(frozen=True)
class ChatCaller:
    view: View
    client: str = ""
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False)
    """Of the client's own request, for servers that are called in its caller's name."""
    is_authorized: Callable[[], bool] = always_authorized
    """Asked before each call: an answer takes long, and the operator may take the caller's token away meanwhile."""


def message_text(message: JsonObject) -> str:
    """The texts in a message; pictures and sounds have none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


# How far a conversation has gone, and which limit ends it.


class ChatLimit(Enum):
    """By the keys of chat.limits."""

    TURNS = "turns"
    CALLS = "calls"
    REPEATED_ERRORS = "repeated_errors"
    REPEATED_CALLS = "repeated_calls"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class LimitHit:
    limit: ChatLimit
    why: str


@dataclass
class LimitCounter:
    limits: ChatLimits
    turns: int = 0
    calls: int = 0
    errors: int = 0
    """One after the other."""
    exceeded_limit: LimitHit | None = None
    """Why a call was one too many: there are no more."""
    _repeats: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def check_call(self, name: str, arguments: Json) -> LimitHit | None:
        """Why this call is one too many. One that is not is counted."""
        self.exceeded_limit = self.exceeded_limit or self._excess(name, arguments)
        return self.exceeded_limit

    def _excess(self, name: str, arguments: Json) -> LimitHit | None:
        if self.calls >= self.limits.calls:
            return LimitHit(
                ChatLimit.CALLS, f"{_count_text(self.calls, 'tool call was', 'tool calls were')} made for one answer"
            )
        key = canonical_json([name, arguments])
        count = self._repeats.get(key, 0)
        if count >= self.limits.repeated_calls:
            times = "once" if count == 1 else f"{count} times"
            return LimitHit(ChatLimit.REPEATED_CALLS, f"{name[:64]!r} was called {times} with the very same arguments")
        self._repeats[key] = count + 1
        self.calls += 1
        return None

    def count_result(self, *, failed: bool) -> None:
        self.errors = self.errors + 1 if failed else 0

    @property
    def turn_limit(self) -> LimitHit | None:
        """What forbids another turn with tools. One turn is kept for the answer without them."""
        if self.exceeded_limit is not None:
            return self.exceeded_limit
        if self.errors >= self.limits.repeated_errors:
            return LimitHit(
                ChatLimit.REPEATED_ERRORS, f"{_count_text(self.errors, 'call', 'calls')} failed one after the other"
            )
        if self.calls >= self.limits.calls:
            return LimitHit(
                ChatLimit.CALLS, f"{_count_text(self.calls, 'tool call was', 'tool calls were')} made for one answer"
            )
        if self.turns >= self.limits.turns - 1:
            return LimitHit(
                ChatLimit.TURNS, f"the model was asked {_count_text(self.turns, 'time', 'times')} for one answer"
            )
        return None


def _count_text(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


CACHE_TTL_S: Final = 30.0
"""For how long a list of models is good."""
_MAX_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class ModelRoute:
    server: ModelServer
    model: str
    """As its server knows it."""


@dataclass(frozen=True, slots=True)
class NoModel:
    why: str


@dataclass(frozen=True, slots=True)
class ModelList:
    models: tuple[tuple[str, str], ...]
    """The name that clients use, and the server that has it."""
    problems: tuple[tuple[str, ModelServerError], ...]
    """Servers that do not tell what they have."""


@dataclass
class _CachedModels:
    models: tuple[str, ...]
    at: float


@dataclass
class ModelDirectory:
    settings: ChatSettings
    servers: Mapping[str, ModelServer]
    _cached: dict[str, _CachedModels] = field(default_factory=dict[str, _CachedModels])

    async def list_models(self, *, fresh: bool = True) -> ModelList:
        """In the order of the servers; if not `fresh`, as they said it a moment ago.

        A name that an earlier server has is the later one's only with its server.
        """
        found: dict[str, str] = {}
        troubles: dict[str, ModelServerError] = {}
        models: dict[str, Sequence[str]] = {}
        async with anyio.create_task_group() as tasks:
            for name in self.servers:
                tasks.start_soon(self._fetch_models, name, models, troubles, fresh)
        for name in self.servers:
            for model in models.get(name, ()):
                found.setdefault(model if model not in found else f"{name}/{model}", name)
        in_order = [(name, troubles[name]) for name in self.servers if name in troubles]
        return ModelList(tuple(found.items()), tuple(in_order))

    async def find_route(self, named: str | None) -> ModelRoute | NoModel:
        """The server to ask. A single server is asked for whatever is named: it knows best what it has."""
        wanted = named or self.settings.default_model
        if wanted is None:
            return await self._single_route()
        for name, server in self.servers.items():
            if wanted in self.settings.servers[name].models:
                return ModelRoute(server, wanted)
        before, slash, after = wanted.partition("/")
        if slash and after and before in self.servers:
            return ModelRoute(self.servers[before], after)
        if len(self.servers) == 1:
            (server,) = self.servers.values()
            declared = self.settings.servers[server.name].models
            return ModelRoute(server, wanted) if not declared else NoModel(_unknown_model_message(wanted, declared))
        listed = await self.list_models(fresh=False)
        for model, name in listed.models:
            if model == wanted:
                return ModelRoute(self.servers[name], model)
        for name, _ in listed.problems:
            if not self.settings.servers[name].models:
                # It does not tell what it has. Asked for it, it answers, or says why not.
                return ModelRoute(self.servers[name], wanted)
        return NoModel(_unknown_model_message(wanted, [model for model, _ in listed.models]))

    async def _single_route(self) -> ModelRoute | NoModel:
        listed = await self.list_models(fresh=False)
        if len(listed.models) == 1:
            ((model, name),) = listed.models
            return ModelRoute(self.servers[name], model)
        return NoModel(
            "The request names no model, and there is not just one. Name one of those that /v1/models lists, or have "
            "the operator write chat.default_model in pegboard.yaml."
        )

    async def _fetch_models(
        self, name: str, models: dict[str, Sequence[str]], troubles: dict[str, ModelServerError], fresh: bool
    ) -> None:
        known, now = self._cached.get(name), anyio.current_time()
        if not fresh and known is not None and now - known.at < CACHE_TTL_S:
            models[name] = known.models
            return
        try:
            models[name] = tuple(await self.servers[name].models())
        except ModelServerError as trouble:
            troubles[name] = trouble
            return
        self._cached[name] = _CachedModels(tuple(models[name]), now)


def _unknown_model_message(wanted: str, known: Sequence[str]) -> str:
    near = closest_names(wanted, known)
    meant = f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else "See /v1/models."
    return f"There is no model {wanted[:_MAX_SHOWN]!r} here. {meant}"
