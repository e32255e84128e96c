"""What is kept so that only this gateway can read it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class UnreadableSecret:
    """Something is kept, and nobody can read it: a sentence that says why, and what to do."""

    why: str


class SecretsUnavailable(Exception):  # noqa: N818 - it is told to a person as a sentence
    """Secrets can neither be read nor kept now; the message says why, and what to do."""


class SecretStore(Protocol):
    """What is kept encrypted, by name. Raises `SecretsAway`."""

    async def load(self, name: str) -> bytes | UnreadableSecret | None: ...

    async def save(self, name: str, value: bytes) -> None: ...

    async def delete(self, name: str) -> None: ...
