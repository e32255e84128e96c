"""How long DocSpace is waited for, and how much of it is taken."""

from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DocSpaceLimits:
    """Seconds and bytes."""

    connect_timeout_s: float = 15.0
    answer_timeout_s: float = 120.0
    """For one request, from its first byte to the last of its answer."""
    operation_timeout_s: float = 600.0
    """For what DocSpace does in the background: deletions, copies, conversions."""
    max_body_bytes: int = 8 * MIB
    """Of an answer of the API, of which fifty entries are far below one."""
    max_download_bytes: int = 64 * MIB
    """Of a file as text."""
    queue_timeout_s: float = 20.0
    """For requests of others that are in the way."""
    max_tries: int = 3
    """How often a question is put that DocSpace is too busy for."""
    retry_pause_s: float = 0.3
    """Before the second try, where DocSpace does not say how long; twice that before each further one."""
    max_retry_pause_s: float = 30.0
    """A DocSpace that wants to be left alone for longer is not waited for."""
