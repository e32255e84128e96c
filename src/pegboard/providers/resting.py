"""A provider that never starts: what a command uses that only reads or writes the policy."""

from collections.abc import Sequence

import anyio

from pegboard.core.call import Admitted, Outcome, ProviderFailed
from pegboard.core.catalogue import Listing, Off
from pegboard.core.ids import Source
from pegboard.ports import Peer, Progress, Ring


class Resting:
    library = None

    def __init__(self, source: Source) -> None:
        self.source = source

    def listing(self) -> Listing:
        return Listing(self.source, Off())

    async def run(self, ring: Ring) -> None:
        await anyio.sleep_forever()

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        return ProviderFailed(f"{self.source} is not running", may_have_run=False)

    def restart(self) -> None:
        """There is nothing to start over."""

    def log(self) -> Sequence[str]:
        return ()
