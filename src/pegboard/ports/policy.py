"""Where what people decided is kept."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pegboard.core.ids import PrincipalId
from pegboard.core.policy import PolicyDecisions


@dataclass(frozen=True, slots=True)
class SavedVersion:
    version: int


@dataclass(frozen=True, slots=True)
class StaleVersion:
    """Someone else decided meanwhile: nothing was written. Load again and look before deciding."""

    current_version: int


class PolicyStore(Protocol):
    async def load(self) -> PolicyDecisions: ...

    async def save(
        self, before: PolicyDecisions, after: PolicyDecisions, *, by: PrincipalId, what: str, at: datetime
    ) -> SavedVersion | StaleVersion:
        """All of the change or nothing of it, and only if `before` is still what the store holds."""
        ...

    def changes(self) -> AsyncIterator[None]:
        """Yields when another process may have saved."""
        ...
