"""Where it is kept when each API token was used last."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


class TokenUses(Protocol):
    """By the ids of tokens. Raises `StoreAway`."""

    async def keep(self, uses: Mapping[str, datetime]) -> None: ...

    async def latest(self) -> Mapping[str, datetime]: ...
