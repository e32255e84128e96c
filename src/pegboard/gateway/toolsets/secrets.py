"""Secrets of toolsets: stored encrypted, listed by name, filled in at start."""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.config.references import MalformedText, parse_references
from pegboard.core.decision.status import UnsetSecret
from pegboard.core.model.ids import ProviderKey, ToolsetId
from pegboard.core.model.tool import OwnTools
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.providers import ProviderRegistry
from pegboard.ports.providers import Expand, ExpandForCaller, UnresolvedReference
from pegboard.ports.stores import SecretStore, SecretsUnavailable, UnreadableSecret

log = logging.getLogger(__name__)

MAX_SECRET_BYTES: Final = 65_536
_VARIABLE: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}")


def secret_name(toolset: ToolsetId, name: str) -> str:
    return f"toolset/{toolset}/{name}"


@dataclass
class ToolsetSecrets:
    """What was set, of the toolsets on the board. Read from the store once, and again when it may differ: a server
    that starts cannot wait for the store."""

    store: SecretStore
    expand: Expand
    """What a value stands for that is a reference itself."""
    _known: dict[tuple[ToolsetId, str], str | UnresolvedReference] = field(
        default_factory=dict[tuple[ToolsetId, str], str | UnresolvedReference]
    )

    requested: Mapping[ToolsetId, tuple[str, ...]] = field(default_factory=dict[ToolsetId, tuple[str, ...]])
    """The names that were loaded last, by toolset."""

    async def load(self, asked: Mapping[ToolsetId, tuple[str, ...]]) -> frozenset[ToolsetId]:
        """Of these toolsets, the secrets of these names; others are not known any more. Those of which anything differs
        from before. Raises `SecretsUnavailable`."""
        known: dict[tuple[ToolsetId, str], str | UnresolvedReference] = {}
        for toolset, names in asked.items():
            for name in names:
                match await self.store.load(secret_name(toolset, name)):
                    case None:
                        pass
                    case UnreadableSecret(why):
                        known[toolset, name] = UnresolvedReference(
                            f"the secret {name} of {toolset} cannot be read: {why}"
                        )
                    case bytes() as value:
                        known[toolset, name] = value.decode()
        former, before = self._known, self.requested
        self._known, self.requested = known, asked
        values = {place[0] for place in {**former, **known} if former.get(place) != known.get(place)}
        return frozenset(values | {each for each in {**before, **asked} if before.get(each) != asked.get(each)})

    async def save(self, toolset: ToolsetId, name: str, value: str) -> None:
        """Raises `SecretsUnavailable`."""
        await self.store.save(secret_name(toolset, name), value.encode())
        self._known[toolset, name] = value

    async def delete(self, toolset: ToolsetId, name: str) -> None:
        """Raises `SecretsUnavailable`."""
        await self.store.delete(secret_name(toolset, name))
        self._known.pop((toolset, name), None)

    def invalid_reason(self, value: str) -> str | None:
        """Why this cannot be a secret, if it cannot. The value is not told."""
        if "\0" in value:
            return "A secret is text, and this holds a NUL character."
        if len(value.encode("utf-8", "surrogatepass")) > MAX_SECRET_BYTES:
            return f"A secret has at most {MAX_SECRET_BYTES // 1024} KiB."
        split = parse_references(value)
        return f"This looks like a reference and is none: {split.why}" if isinstance(split, MalformedText) else None

    def is_set(self, toolset: ToolsetId, name: str) -> bool:
        return (toolset, name) in self._known

    def value(self, toolset: ToolsetId, name: str) -> str | UnresolvedReference:
        """What it stands for now."""
        match self._known.get((toolset, name)):
            case None:
                return UnresolvedReference(str(UnsetSecret(toolset, name)))
            case UnresolvedReference() as unreadable:
                return unreadable
            case text:
                value = self.expand(text)
                if isinstance(value, UnresolvedReference):
                    return UnresolvedReference(f"the secret {name} of {toolset} stands for nothing: {value.why}")
                return value

    def values(self, toolset: ToolsetId, names: Iterable[str]) -> Mapping[str, str] | UnresolvedReference:
        """All of them, or which one is missing, and the command that sets it."""
        found: dict[str, str] = {}
        for name in names:
            value = self.value(toolset, name)
            if isinstance(value, UnresolvedReference):
                return value
            found[name] = value
        return found

    def expander_for(self, toolset: ToolsetId, otherwise: Expand) -> Expand:
        """References in what a toolset brings: its own secrets stand before the environment."""

        def expand(text: str) -> str | UnresolvedReference:
            own = self.requested.get(toolset, ())
            values = {name: self.value(toolset, name) for name in own if f"${{{name}" in text}
            return _substitute(text, values, otherwise) if values else otherwise(text)

        return expand

    def caller_expander_for(self, toolset: ToolsetId, otherwise: ExpandForCaller) -> ExpandForCaller:
        return lambda headers: self.expander_for(toolset, otherwise(headers))


def requested_secrets(policy: Policy) -> Mapping[ToolsetId, tuple[str, ...]]:
    owns = ((key.toolset, server.connection) for key, server in policy.servers.items())
    return {id: own.secrets for id, own in owns if isinstance(own, OwnTools) and own.secrets}


async def follow_secrets(board: BoardState, provider_registry: ProviderRegistry, secrets: ToolsetSecrets) -> None:
    """Another process may have set one, or installed what asks for others: they are read, and what uses them starts
    anew."""
    followed = board.policy.version
    with board.changes.subscribe() as bell:
        while True:
            policy = board.policy
            asked = requested_secrets(policy)
            if (policy.version != followed and asked) or asked != secrets.requested:
                for key in await _providers_with_changes(secrets, asked, policy):
                    provider_registry.restart(key)
            followed = policy.version
            await bell.wait()


async def _providers_with_changes(
    secrets: ToolsetSecrets, asked: Mapping[ToolsetId, tuple[str, ...]], policy: Policy
) -> list[ProviderKey]:
    try:
        changed = await secrets.load(asked)
    except SecretsUnavailable as error:
        log.warning("Secrets of toolsets cannot be read: %s", error)
        return []
    return [key for key in policy.servers if key.toolset in changed]


def _substitute(
    text: str, values: Mapping[str, str | UnresolvedReference], otherwise: Expand
) -> str | UnresolvedReference:
    """Part by part, so that a value which looks like a reference is never taken for one."""
    filled, at = "", 0
    for found in _VARIABLE.finditer(text):
        value = values.get(found[1])
        if isinstance(value, UnresolvedReference):
            return value
        if value is None:
            continue
        before = otherwise(text[at : found.start()])
        if isinstance(before, UnresolvedReference):
            return before
        filled, at = f"{filled}{before}{value}", found.end()
    rest = otherwise(text[at:])
    return rest if isinstance(rest, UnresolvedReference) else f"{filled}{rest}"
