"""Which server has which model: by what the operator wrote, by what clients name, and by what the servers list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from pegboard.config.chat_keys import ChatSettings
from pegboard.core.reference import closest_names
from pegboard.ports.models import ModelServer, ModelServerError

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
