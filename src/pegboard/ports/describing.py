"""What a toolset's own tools are, found out once, when it is brought onto the board."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from pegboard.core.own import Bounds
from pegboard.core.tool import ToolSpec

USUAL: Final = Bounds()


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that is to be a tool. What is `None` is for the function itself to say."""

    name: str
    """The tool's id within its toolset."""
    entrypoint: str
    """`package.module:function`."""
    title: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Described:
    spec: ToolSpec
    requires_confirmation: bool | None = None
    """What the function says of itself; `None` when it says nothing."""


@dataclass(frozen=True, slots=True)
class Wished:
    """What a manifest that is being edited names now."""

    entries: Sequence[Entry]
    unheeded: tuple[str, ...] = ()
    """Keys that say something else than before, and count only when the toolset is imported again."""


class CannotDescribe(Exception):  # noqa: N818 - it is told to a person, a line for each problem
    """Why functions or images cannot be tools: each problem with its file and line, where it has one."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Describe(Protocol):
    """Runs the code of a toolset, in a process and an environment of its own, and only to ask what its tools are."""

    async def __call__(
        self,
        folder: Path,
        entries: Sequence[Entry],
        requirements: Sequence[str],
        told: Callable[[str], None],
        bounds: Bounds = USUAL,
    ) -> tuple[Described, ...]:
        """One for each entry, in order, within what the toolset may take when it runs. `told` hears what is going on
        meanwhile. Raises `CannotDescribe`."""
        ...


ReadLabel: TypeAlias = Callable[[str, Callable[[str], None]], Awaitable[str | None]]
"""The label `io.pegboard.tools` of an image, by the image's name. The second hears what is going on meanwhile. Raises
`CannotDescribe`."""
