"""What Pegboard does otherwise than it was recorded, each by a name: what is then expected instead, to the letter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .comparing import Did, Expected
from .recordings import Recording


@dataclass(frozen=True)
class Case:
    """A recorded call, and what ours did."""

    recording: Recording
    did: Did


@dataclass(frozen=True)
class Difference:
    name: str
    why: str
    expects: Callable[[Case, Expected], Expected | None]
    """What is expected instead; None where this does not apply."""


DIFFERENCES: Sequence[Difference] = ()
