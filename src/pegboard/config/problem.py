"""What is wrong with a file, where, and what to do about it."""

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pegboard.core.ids import ProviderKey
from pegboard.core.pattern import Pattern

ENVIRONMENT_NOTE: Final = "This was looked up in the environment of this command; what counts is that of the gateway."


@dataclass(frozen=True, slots=True)
class FileProblem:
    """`line` is 0 when the file as a whole is meant, and `key` is empty when no key is."""

    file: str
    line: int
    key: str
    message: str
    depends_on_environment: bool = False
    """Whether it depends on where it was asked: on the environment of a process, or on what its user may read."""

    def __str__(self) -> str:
        return f"{self.location}: {self.key}: {self.message}" if self.key else f"{self.location}: {self.message}"

    @property
    def location(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class UndeclaredToolset:
    """A toolset that a file names and does not have: a slip of the pen, unless people have installed it."""

    toolset: str
    problem: FileProblem
    is_error: bool = False
    """Whether a file that says so is refused (ADR 16); otherwise it is a warning."""
    may_be_server: bool = False
    """Whether a server's id or key would do as well: it is the scope of a denial."""
    within: str | None = None
    """The toolset whose servers alone would do."""

    def is_unknown(self, toolsets: Container[str], servers: Iterable[ProviderKey]) -> bool:
        """Whether it is right, given what is installed."""
        if self.within is not None:
            servers = [key for key in servers if key.toolset == self.within]
        elif self.toolset in toolsets:
            return False
        elif not self.may_be_server:
            return True
        return not any(map(Pattern(self.toolset, "*").matches_source, servers))


@dataclass(frozen=True, slots=True)
class UndeclaredCaller:
    """A caller that a file grants toolsets and does not declare: nobody, unless people have made it a token."""

    caller: str
    problem: FileProblem


@dataclass(frozen=True, slots=True)
class ConfigWarnings:
    """What will not work of a file that was loaded."""

    warnings: tuple[FileProblem, ...] = ()
    undeclared_toolsets: tuple[UndeclaredToolset, ...] = ()
    undeclared_callers: tuple[UndeclaredCaller, ...] = ()
    read_by_command: bool = False
    """Whether a command read the file for its own use, so that a gateway may see it differently."""

    def applicable(
        self, toolsets: Container[str], callers: Container[str] = (), servers: Collection[ProviderKey] = ()
    ) -> Iterator[FileProblem]:
        """What stands on a board with these toolsets, callers and servers, in the order of the file."""
        standing = [doubt.problem for doubt in self.undeclared_toolsets if doubt.is_unknown(toolsets, servers)]
        standing += [stranger.problem for stranger in self.undeclared_callers if stranger.caller not in callers]
        yield from sorted((*self.warnings, *standing), key=lambda problem: problem.line)

    def format_problem(self, problem: FileProblem) -> str:
        return (
            f"{problem} {ENVIRONMENT_NOTE}" if self.read_by_command and problem.depends_on_environment else str(problem)
        )
