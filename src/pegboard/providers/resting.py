"""A provider that never starts: what a command uses that only reads or writes the policy."""

from collections.abc import Iterable, Sequence
from typing import Final

import anyio

from pegboard.core.call import AdmittedCall, Outcome, ProviderFailure
from pegboard.core.catalogue import Health, Listing, ProviderOff
from pegboard.core.ids import SourceKey, ToolId
from pegboard.core.tool import Tool, ToolSpec
from pegboard.ports import ChangeCallback, ClientPeer, Progress

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
