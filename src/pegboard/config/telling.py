"""What a file says and where it says so, and all that is wrong with it: collected while it is read."""

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from .problem import Problem

T_co = TypeVar("T_co", covariant=True)

MAX_PROBLEMS: Final = 200


@dataclass(frozen=True, slots=True)
class Placed(Generic[T_co]):
    """A value and where it was written."""

    value: T_co
    at: str
    line: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """What was written is not a value; why has been told."""


@dataclass
class Telling:
    """Collects what is wrong with one file. The first two hundred problems are enough for any person."""

    file: str
    problems: list[Problem] = field(default_factory=list[Problem])
    untold: int = 0
    warnings: list[Problem] = field(default_factory=list[Problem])
    """What is passed over, or may not be meant; the file is good all the same."""

    @property
    def is_full(self) -> bool:
        return len(self.problems) >= MAX_PROBLEMS

    def wrong(self, line: int, at: str, what: str) -> Wrong:
        if self.is_full:
            self.untold += 1
        else:
            self.problems.append(Problem(self.file, line, at, what))
        return Wrong()

    def warn(self, line: int, at: str, what: str) -> None:
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(Problem(self.file, line, at, what))

    def told(self) -> tuple[Problem, ...]:
        """In the order of the file, as a person works through it."""
        told = sorted(self.problems, key=lambda problem: problem.line)
        if self.untold:
            told.append(Problem(self.file, 0, "", f"and {self.untold} more problems. Mend these first."))
        return tuple(told)
