"""How long DocSpace is waited for, and how much of it is taken."""

from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes."""

    connect: float = 15.0
    answer: float = 120.0
    """For one request, from its first byte to the last of its answer."""
    operation: float = 600.0
    """For what DocSpace does in the background: deletions, copies, conversions."""
    body: int = 8 * MIB
    """Of an answer of the API, of which fifty entries are far below one."""
    download: int = 64 * MIB
    """Of a file as text."""
    patience: float = 20.0
    """For requests of others that are in the way."""
    tries: int = 3
    """How often a question is put that DocSpace is too busy for."""
    pause: float = 0.3
    """Before the second try, where DocSpace does not say how long; twice that before each further one."""
    longest_pause: float = 30.0
    """A DocSpace that wants to be left alone for longer is not waited for."""
