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
    """Milliseconds that Pegboard may take, where there is such a goal."""
    calls: int
    goal_times: float | None = None
    """How many times the floor it may take, where that is the goal."""

    @property
    def times(self) -> float | None:
        return ratio(self.pegboard, self.floor)
