"""What a toolset's own tools are, found out once, when it is brought onto the board."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from pegboard.core.own import ToolsetLimits
from pegboard.core.tool import ToolSpec

DEFAULT_BOUNDS: Final = ToolsetLimits()


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A function that is to be a tool. What is `None` is for the function itself to say."""

    name: str
    """The tool's id within its toolset."""
    entrypoint: str
    """`package.module:function`."""
    title: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class DescribedTool:
    spec: ToolSpec
    requires_confirmation: bool | None = None
    """What the function says of itself; `None` when it says nothing."""


@dataclass(frozen=True, slots=True)
class ManifestEntries:
    """What a manifest that is being edited names now."""

    entries: Sequence[FunctionEntry]
    ignored_keys: tuple[str, ...] = ()
    """Keys that say something else than before, and count only when the toolset is imported again."""


class ToolDescriptionError(Exception):
    """Why functions or images cannot be tools: each problem with its file and line, where it has one."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class ToolDescriber(Protocol):
    """Runs the code of a toolset, in a process and an environment of its own, and only to ask what its tools are."""

    async def __call__(
        self,
        folder: Path,
        entries: Sequence[FunctionEntry],
        requirements: Sequence[str],
        told: Callable[[str], None],
        bounds: ToolsetLimits = DEFAULT_BOUNDS,
    ) -> tuple[DescribedTool, ...]:
        """One for each entry, in order, within what the toolset may take when it runs. `told` hears what is going on
        meanwhile. Raises `CannotDescribe`."""
        ...


ReadLabel: TypeAlias = Callable[[str, Callable[[str], None]], Awaitable[str | None]]
"""The label `io.pegboard.tools` of an image, by the image's name. The second hears what is going on meanwhile. Raises
`CannotDescribe`."""
