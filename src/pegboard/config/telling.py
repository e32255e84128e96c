"""What a file says and where it says so, and all that is wrong with it: collected while it is read."""

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from .problem import FileProblem

T_co = TypeVar("T_co", covariant=True)

MAX_PROBLEMS: Final = 200


@dataclass(frozen=True, slots=True)
class LocatedValue(Generic[T_co]):
    """A value and where it was written."""

    value: T_co
    key: str
    line: int


@dataclass(frozen=True, slots=True)
class Invalid:
    """What was written is not a value; why has been told."""


@dataclass
class ProblemCollector:
    """Collects what is wrong with one file. The first two hundred problems are enough for any person."""

    file: str
    problems: list[FileProblem] = field(default_factory=list[FileProblem])
    omitted_count: int = 0
    warnings: list[FileProblem] = field(default_factory=list[FileProblem])
    """What is passed over, or may not be meant; the file is good all the same."""

    @property
    def is_full(self) -> bool:
        return len(self.problems) >= MAX_PROBLEMS

    def add_problem(self, line: int, at: str, what: str) -> Invalid:
        if self.is_full:
            self.omitted_count += 1
        else:
            self.problems.append(FileProblem(self.file, line, at, what))
        return Invalid()

    def add_warning(self, line: int, at: str, what: str) -> None:
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(FileProblem(self.file, line, at, what))

    def sorted_problems(self) -> tuple[FileProblem, ...]:
        """In the order of the file, as a person works through it."""
        told = sorted(self.problems, key=lambda problem: problem.line)
        if self.omitted_count:
            told.append(FileProblem(self.file, 0, "", f"and {self.omitted_count} more problems. Mend these first."))
        return tuple(told)
