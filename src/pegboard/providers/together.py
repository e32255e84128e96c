"""Two providers of one source as one: a toolset may bring Python functions and commands in containers."""

from collections.abc import Sequence
from typing import Final

import anyio

from pegboard.core.call import Admitted, Outcome, ProviderFailed
from pegboard.core.catalogue import Asleep, Down, Health, Listing, NeedsSignIn, Off, Starting, Up
from pegboard.core.ids import Source
from pegboard.ports import Leaves, Library, Peer, Progress, Provider, Ring

_FIRST_TOLD: Final = (Down, NeedsSignIn, Starting, Off, Asleep, Up)
"""The source is as well as the worse of the two: what one of them lacks is told, and a call never finds it out."""


class Together:
    """Their tools stand in the order of the providers; where both have a name, the first has it."""

    library: Library | None = None

    def __init__(self, first: Provider, second: Provider) -> None:
        assert first.source == second.source
        self._both = (first, second)

    @property
    def source(self) -> Source:
        return self._both[0].source

    def listing(self) -> Listing:
        first, second = (provider.listing() for provider in self._both)
        names = first.by_id
        return Listing(
            self.source,
            _worse(first.health, second.health),
            (*first.tools, *(tool for tool in second.tools if tool.id not in names)),
            (*first.flaws, *second.flaws),
            remembered=first.remembered or second.remembered,
        )

    async def run(self, ring: Ring) -> None:
        async with anyio.create_task_group() as tasks:
            for provider in self._both:
                tasks.start_soon(provider.run, ring)

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        for provider in self._both:
            if admitted.tool.id in provider.listing().by_id:
                return await provider.call(admitted, progress, peer)
        gone = f"{self.source} has no tool {admitted.tool.id.name!r} now. List the tools again"
        return ProviderFailed(gone, may_have_run=False)

    def restart(self) -> None:
        for provider in self._both:
            provider.restart()

    def leave(self, why: str) -> None:
        for provider in self._both:
            if isinstance(provider, Leaves):
                provider.leave(why)

    def log(self) -> Sequence[str]:
        first, second = (provider.log() for provider in self._both)
        return (*first, *second)


def _worse(one: Health, other: Health) -> Health:
    return min(one, other, key=lambda health: _FIRST_TOLD.index(type(health)))
