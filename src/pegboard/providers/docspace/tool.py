"""A tool of DocSpace: what it is called with, what it does, and what it answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.core.tool import Json, JsonObject, ToolSpec

from .api import DocSpaceAnswer, DocSpaceApi
from .checking import (
    JSON_SCHEMA_DIALECT,
    ListType,
    NumberType,
    ObjectType,
    OptionalMember,
    TextType,
    ValueSender,
    ValueType,
)
from .shapes import envelope_schema
from .trouble import DocSpaceError

ToolFunction: TypeAlias = Callable[[DocSpaceApi, JsonObject], Awaitable[str | DocSpaceAnswer | JsonObject]]
"""Takes arguments that fit. A text is the result; an answer is told whole; anything else is told as JSON. Raises
`Trouble`."""

COUNT_ARGUMENT: Final = OptionalMember(NumberType("How many items to answer with.", minimum=1, maximum=50), 30)


@dataclass(frozen=True)
class DocSpaceTool:
    name: str
    description: str
    arguments: ObjectType
    function: ToolFunction
    is_read_only: bool = False
    response_type: ValueType | None = None
    """What is in the envelope that the tool answers with, where it answers with one."""
    checks_arguments: bool = True
    """Whether what a caller sends is looked at."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            input_schema={"$schema": JSON_SCHEMA_DIALECT, **self.arguments.schema(ValueSender.CALLER)},
            output_schema=None if self.response_type is None else envelope_schema(self.response_type),
            annotations={"readOnlyHint": self.is_read_only, "destructiveHint": not self.is_read_only},
        )


def fields_argument(choices: tuple[str, ...]) -> ListType:
    return ListType(TextType(choices=choices), "Which members to answer with. All of them for an empty list.")


def filters_argument(choices: tuple[str, ...]) -> ObjectType:
    """Filters that choose members, and nothing else."""
    return ObjectType({"fields": fields_argument(choices)}, "Keeps the answer small.")


def number_argument(given: Mapping[str, Json], name: str) -> float:
    value = given[name]
    assert isinstance(value, int | float)
    return value


def filters_of(given: Mapping[str, Json]) -> JsonObject:
    value = given["filters"]
    assert isinstance(value, dict)
    return value


def without_members(given: Mapping[str, Json], *names: str) -> JsonObject:
    """The rest of the arguments, as a body: what was left out stays out."""
    return {name: value for name, value in given.items() if name not in names}


async def run_step(step: str, answer: Awaitable[DocSpaceAnswer]) -> DocSpaceAnswer:
    """Whatever goes wrong goes wrong in this step."""
    try:
        return await answer
    except DocSpaceError as failed:
        raise DocSpaceError(step, failed) from failed
