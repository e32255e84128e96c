"""Where it is kept since when tools wait for a person."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol

from pegboard.core.ids import ToolId
from pegboard.core.tool import Fingerprint


class PendingSinceStore(Protocol):
    """By the ids of tools, each with the definition that waits. Raises `StoreAway`."""

    async def record_pending(
        self, waiting: Mapping[ToolId, Fingerprint], settled: Collection[ToolId], at: datetime
    ) -> Mapping[ToolId, datetime]:
        """Since when each of those waits, exactly so; `at` for what was not known to. Of what is settled nothing is
        kept any longer."""
        ...
