"""Why a call failed, as the chain of what was being done: a line for each step, one tab further in each time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

ValuePath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong with a value, and where in it."""

    path: ValuePath
    code: str
    message: str
    fatal: bool = False
    """Whether the value is of another kind, so that nothing more can be asked of it."""

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.code} {self.message}" if self.path else f"{self.code}: {self.message}"


def format_path(path: ValuePath) -> str:
    """`filters.fields[0]`. Clients know paths without their first character, whatever that is, so an index at the root
    is `0]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


class DocSpaceError(Exception):
    """A step that failed. `why` is the step within it that did, or all that is wrong with a value."""

    def __init__(self, step: str, why: "DocSpaceError | Sequence[Issue] | Sequence[str] | None" = None) -> None:
        super().__init__(step)
        self.step = step
        self.why = why

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        yield "\t" * depth + self.step
        match self.why:
            case None:
                return
            case DocSpaceError():
                yield from self.why._lines(depth + 1)
            case _:
                for line in self.why:
                    # What is wrong with a value stands one level further in than a step would.
                    tabs = "\t" * (depth + (2 if isinstance(line, Issue) else 1))
                    yield f"{tabs}{line}"
