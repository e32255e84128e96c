"""Where it is kept when each API token was used last."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


class TokenUsageStore(Protocol):
    """By the ids of tokens. Raises `StoreAway`."""

    async def save_uses(self, uses: Mapping[str, datetime]) -> None: ...

    async def last_uses(self) -> Mapping[str, datetime]: ...
