"""One line of the table."""

from dataclasses import dataclass

from benchmarks.sample import ratio


@dataclass(frozen=True)
class Row:
    job: str
    floor: float
    """Milliseconds of each."""
    pegboard: float
    goal: float | None
    """Milliseconds that Pegboard may take, or None where the ratio is the goal."""
    calls: int

    @property
    def times(self) -> float | None:
        return ratio(self.pegboard, self.floor)
