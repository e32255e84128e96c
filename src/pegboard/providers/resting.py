"""A provider that never starts: what a command uses that only reads or writes the policy."""

from collections.abc import Iterable, Sequence

import anyio

from pegboard.core.call import Admitted, Outcome, ProviderFailed
from pegboard.core.catalogue import Listing, Off
from pegboard.core.ids import Source, ToolId
from pegboard.core.tool import Tool, ToolSpec
from pegboard.ports import Peer, Progress, Ring


class Resting:
    library = None

    def __init__(self, source: Source, specs: Iterable[ToolSpec] = ()) -> None:
        """`specs` are those of tools that are known although nothing runs."""
        self.source = source
        self._tools = tuple(Tool(ToolId(source, spec.name), spec) for spec in specs)

    def listing(self) -> Listing:
        return Listing(self.source, Off(), self._tools)

    async def run(self, ring: Ring) -> None:
        await anyio.sleep_forever()

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        return ProviderFailed(f"{self.source} is not running", may_have_run=False)

    def restart(self) -> None:
        """There is nothing to start over."""

    def log(self) -> Sequence[str]:
        return ()
