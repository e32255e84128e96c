"""Facts about a model that decide what it is told."""

from dataclasses import dataclass
from typing import Final

MEDIUM: Final = 7.0
LARGE: Final = 30.0
FEW, SOME, MANY = 2, 5, 10


@dataclass(frozen=True, slots=True)
class Model:
    billions: float | None = None
    """Of parameters; `None` where nobody knows."""

    @property
    def most_found(self) -> int:
        """How many tools that a search found it is shown: a small model loses its way among many."""
        if self.billions is None or self.billions < MEDIUM:
            return FEW
        return SOME if self.billions <= LARGE else MANY

    @property
    def size(self) -> str:
        """In a clause, for whoever asks why it is shown that many."""
        if self.billions is None:
            return "the size of the model is unknown, so it is taken for a small one"
        told = f"the model has {self.billions:g} billion parameters"
        if self.billions < MEDIUM:
            return f"{told}, fewer than {MEDIUM:g}"
        return f"{told}, {MEDIUM:g} to {LARGE:g}" if self.billions <= LARGE else f"{told}, more than {LARGE:g}"
