"""A tool of DocSpace: what it is called with, what it does, and what it answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.core.tool import Json, JsonObject, ToolSpec

from .api import Answer, Api
from .checking import DIALECT, Kind, Many, Number, Optional, Party, Shape, Text
from .shapes import enveloped
from .trouble import Trouble

Act: TypeAlias = Callable[[Api, JsonObject], Awaitable[str | Answer | JsonObject]]
"""Takes arguments that fit. A text is the result; an answer is told whole; anything else is told as JSON. Raises
`Trouble`."""

COUNT: Final = Optional(Number("How many items to answer with.", least=1, most=50), 30)


@dataclass(frozen=True)
class DocSpaceTool:
    name: str
    description: str
    arguments: Shape
    act: Act
    reads: bool = False
    answers: Kind | None = None
    """What is in the envelope that the tool answers with, where it answers with one."""
    checks: bool = True
    """Whether what a caller sends is looked at."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            input_schema={"$schema": DIALECT, **self.arguments.schema(Party.CALLER)},
            output_schema=None if self.answers is None else enveloped(self.answers),
            annotations={"readOnlyHint": self.reads, "destructiveHint": not self.reads},
        )


def fields(choices: tuple[str, ...]) -> Many:
    return Many(Text(choices=choices), "Which members to answer with. All of them for an empty list.")


def only(choices: tuple[str, ...]) -> Shape:
    """Filters that choose members, and nothing else."""
    return Shape({"fields": fields(choices)}, "Keeps the answer small.")


def number(given: Mapping[str, Json], name: str) -> float:
    value = given[name]
    assert isinstance(value, int | float)
    return value


def filters(given: Mapping[str, Json]) -> JsonObject:
    value = given["filters"]
    assert isinstance(value, dict)
    return value


def without(given: Mapping[str, Json], *names: str) -> JsonObject:
    """The rest of the arguments, as a body: what was left out stays out."""
    return {name: value for name, value in given.items() if name not in names}


async def told(step: str, answer: Awaitable[Answer]) -> Answer:
    """Whatever goes wrong goes wrong in this step."""
    try:
        return await answer
    except Trouble as failed:
        raise Trouble(step, failed) from failed
