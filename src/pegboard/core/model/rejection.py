"""A command that cannot be carried out, and the reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandRejection:
    why: str
