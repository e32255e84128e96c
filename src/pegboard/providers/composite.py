"""Two providers as one: for toolsets with Python functions and container commands."""

from collections.abc import Iterable, Sequence
from typing import Final

import anyio

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.ports.providers import ChangeCallback, ClientPeer, Drainable, Progress, Provider, ResourceProvider

_WORST_FIRST: Final = (ProviderDown, ProviderNeedsSignIn, ProviderStart, ProviderOff, ProviderAsleep, ProviderUp)
"""The source is as well as the worse of the two: what one of them lacks is told, and a call never finds it out."""


class CompositeProvider:
    """Their tools stand in the order of the providers; where both have a name, the first has it."""

    resources: ResourceProvider | None = None

    def __init__(self, first: Provider, second: Provider) -> None:
        assert first.source == second.source
        self._providers = (first, second)

    @property
    def source(self) -> SourceKey:
        return self._providers[0].source

    def listing(self) -> Listing:
        first, second = (provider.listing() for provider in self._providers)
        names = first.by_id
        return Listing(
            self.source,
            _worse(first.health, second.health),
            (*first.tools, *(tool for tool in second.tools if tool.id not in names)),
            (*first.problems, *second.problems),
            is_remembered=first.is_remembered or second.is_remembered,
        )

    async def run(self, ring: ChangeCallback) -> None:
        async with anyio.create_task_group() as tasks:
            for provider in self._providers:
                tasks.start_soon(provider.run, ring)

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        for provider in self._providers:
            if admitted.tool.id in provider.listing().by_id:
                return await provider.call(admitted, progress, peer)
        gone = f"{self.source} has no tool {admitted.tool.id.name!r} now. List the tools again"
        return ProviderFailure(gone, may_have_run=False)

    def restart(self) -> None:
        for provider in self._providers:
            provider.restart()

    def drain(self, why: str) -> None:
        for provider in self._providers:
            if isinstance(provider, Drainable):
                provider.drain(why)

    def log(self) -> Sequence[str]:
        first, second = (provider.log() for provider in self._providers)
        return (*first, *second)


def _worse(one: Health, other: Health) -> Health:
    return min(one, other, key=lambda health: _WORST_FIRST.index(type(health)))


# A provider that never starts: what a command uses that only reads or writes the policy.

_OFF: Final = ProviderOff()


class IdleProvider:
    resources = None

    def __init__(self, source: SourceKey, specs: Iterable[ToolSpec] = (), health: Health = _OFF) -> None:
        """`specs` are those of tools that are known although nothing runs; `health` is what would become of a call."""
        self.source = source
        tools = tuple(Tool(ToolId(source, spec.name), spec) for spec in specs)
        self._listing = Listing(source, health, tools)

    def listing(self) -> Listing:
        return self._listing

    async def run(self, ring: ChangeCallback) -> None:
        await anyio.sleep_forever()

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        return ProviderFailure(f"{self.source} is not running", may_have_run=False)

    def restart(self) -> None:
        """There is nothing to start over."""

    def log(self) -> Sequence[str]:
        return ()
