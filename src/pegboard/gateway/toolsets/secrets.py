"""The secrets that toolsets ask for: kept encrypted by a person, known by name, and filled in when something starts."""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.config.references import Malformed, parts
from pegboard.core.ids import ProviderKey, ToolsetId
from pegboard.core.outage import Unset
from pegboard.core.own import Own
from pegboard.core.policy import Policy
from pegboard.gateway.gateway import Gateway
from pegboard.ports import Expand, ExpandFor, Secrets, SecretsAway, Unreadable, Unresolved

log = logging.getLogger(__name__)

LONGEST: Final = 65_536
_VARIABLE: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}")


def place(toolset: ToolsetId, name: str) -> str:
    return f"toolset/{toolset}/{name}"


@dataclass
class ToolsetSecrets:
    """What was set, of the toolsets on the board. Read from the store once, and again when it may differ: a server
    that starts cannot wait for the store."""

    kept: Secrets
    expand: Expand
    """What a value stands for that is a reference itself."""
    _known: dict[tuple[ToolsetId, str], str | Unresolved] = field(
        default_factory=dict[tuple[ToolsetId, str], str | Unresolved]
    )

    asked: Mapping[ToolsetId, tuple[str, ...]] = field(default_factory=dict[ToolsetId, tuple[str, ...]])
    """The names that were loaded last, by toolset."""

    async def load(self, asked: Mapping[ToolsetId, tuple[str, ...]]) -> frozenset[ToolsetId]:
        """Of these toolsets, the secrets of these names; others are not known any more. Those of which anything differs
        from before. Raises `SecretsAway`."""
        known: dict[tuple[ToolsetId, str], str | Unresolved] = {}
        for toolset, names in asked.items():
            for name in names:
                match await self.kept.read(place(toolset, name)):
                    case None:
                        pass
                    case Unreadable(why):
                        known[toolset, name] = Unresolved(f"the secret {name} of {toolset} cannot be read: {why}")
                    case bytes() as value:
                        known[toolset, name] = value.decode()
        former, before = self._known, self.asked
        self._known, self.asked = known, asked
        values = {place[0] for place in {**former, **known} if former.get(place) != known.get(place)}
        return frozenset(values | {each for each in {**before, **asked} if before.get(each) != asked.get(each)})

    async def keep(self, toolset: ToolsetId, name: str, value: str) -> None:
        """Raises `SecretsAway`."""
        await self.kept.write(place(toolset, name), value.encode())
        self._known[toolset, name] = value

    async def forget(self, toolset: ToolsetId, name: str) -> None:
        """Raises `SecretsAway`."""
        await self.kept.forget(place(toolset, name))
        self._known.pop((toolset, name), None)

    def why_not(self, value: str) -> str | None:
        """Why this cannot be a secret, if it cannot. The value is not told."""
        if "\0" in value:
            return "A secret is text, and this holds a NUL character."
        if len(value.encode("utf-8", "surrogatepass")) > LONGEST:
            return f"A secret has at most {LONGEST // 1024} KiB."
        split = parts(value)
        return f"This looks like a reference and is none: {split.why}" if isinstance(split, Malformed) else None

    def is_set(self, toolset: ToolsetId, name: str) -> bool:
        return (toolset, name) in self._known

    def value(self, toolset: ToolsetId, name: str) -> str | Unresolved:
        """What it stands for now."""
        match self._known.get((toolset, name)):
            case None:
                return Unresolved(str(Unset(toolset, name)))
            case Unresolved() as unreadable:
                return unreadable
            case text:
                value = self.expand(text)
                if isinstance(value, Unresolved):
                    return Unresolved(f"the secret {name} of {toolset} stands for nothing: {value.why}")
                return value

    def values(self, toolset: ToolsetId, names: Iterable[str]) -> Mapping[str, str] | Unresolved:
        """All of them, or which one is missing, and the command that sets it."""
        found: dict[str, str] = {}
        for name in names:
            value = self.value(toolset, name)
            if isinstance(value, Unresolved):
                return value
            found[name] = value
        return found

    def expand_of(self, toolset: ToolsetId, otherwise: Expand) -> Expand:
        """References in what a toolset brings: its own secrets stand before the environment."""

        def expand(text: str) -> str | Unresolved:
            own = self.asked.get(toolset, ())
            values = {name: self.value(toolset, name) for name in own if f"${{{name}" in text}
            return _filled(text, values, otherwise) if values else otherwise(text)

        return expand

    def expand_for(self, toolset: ToolsetId, otherwise: ExpandFor) -> ExpandFor:
        return lambda headers: self.expand_of(toolset, otherwise(headers))


def secrets_asked(policy: Policy) -> Mapping[ToolsetId, tuple[str, ...]]:
    owns = ((key.toolset, server.connection) for key, server in policy.servers.items())
    return {id: own.secrets for id, own in owns if isinstance(own, Own) and own.secrets}


async def follow_secrets(gateway: Gateway, secrets: ToolsetSecrets) -> None:
    """Another process may have set one, or installed what asks for others: they are read, and what uses them starts
    anew."""
    followed = gateway.board.policy.version
    with gateway.board.changed.listen() as bell:
        while True:
            policy = gateway.board.policy
            asked = secrets_asked(policy)
            if (policy.version != followed and asked) or asked != secrets.asked:
                for key in await _differing(secrets, asked, policy):
                    gateway.roster.restart(key)
            followed = policy.version
            await bell.wait()


async def _differing(
    secrets: ToolsetSecrets, asked: Mapping[ToolsetId, tuple[str, ...]], policy: Policy
) -> list[ProviderKey]:
    try:
        changed = await secrets.load(asked)
    except SecretsAway as error:
        log.warning("Secrets of toolsets cannot be read: %s", error)
        return []
    return [key for key in policy.servers if key.toolset in changed]


def _filled(text: str, values: Mapping[str, str | Unresolved], otherwise: Expand) -> str | Unresolved:
    """Part by part, so that a value which looks like a reference is never taken for one."""
    filled, at = "", 0
    for found in _VARIABLE.finditer(text):
        value = values.get(found[1])
        if isinstance(value, Unresolved):
            return value
        if value is None:
            continue
        before = otherwise(text[at : found.start()])
        if isinstance(before, Unresolved):
            return before
        filled, at = f"{filled}{before}{value}", found.end()
    rest = otherwise(text[at:])
    return rest if isinstance(rest, Unresolved) else f"{filled}{rest}"
