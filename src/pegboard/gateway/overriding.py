"""Overrides held against what servers really take: with values, which only a check of schemas can judge."""

import shlex
from collections.abc import Iterator
from typing import Final, assert_never

from pegboard.config.pinned import ADVICE, clear_secrets
from pegboard.core.argument import Held
from pegboard.core.misfit import Misfit, misfits
from pegboard.core.override import Appearance, Override
from pegboard.core.rules import shape_of
from pegboard.core.server import DeclaredAt, InstalledBy, Origin
from pegboard.core.tool import Json, JsonObject, Tool, ToolSpec

from .doctor import Finding
from .gateway import Gateway
from .validation import Validators

_DEFINING: Final = ("$schema", "$defs", "definitions")


def all_misfits(gateway: Gateway) -> tuple[Misfit, ...]:
    board = gateway.board
    return (*misfits(board.catalogue, board.policy), *_values(gateway))


def unfit_overrides(gateway: Gateway) -> Iterator[Finding]:
    for misfit in all_misfits(gateway):
        row = misfit.override
        about = str(row.target if misfit.tool is None else misfit.tool)
        place = row.origin(misfit.field) if misfit.field is not None else next(iter(row.origins.values()), None)
        where = "" if place is None else f" ({_whose(place)})"
        mend = f"Edit {place}" if isinstance(place, DeclaredAt) else _command(row, misfit.field)
        yield Finding(about, f"Override of {row.target} in {row.toolset}{where}: {misfit.what}", mend, grave=False)


def clear_pins(gateway: Gateway) -> Iterator[Finding]:
    """Of the store alone: in a file of their own, operators may write what they like."""
    for row in gateway.board.policy.decided.overrides:
        for name, argument in (row.arguments or {}).items():
            for place in clear_secrets(name, argument):
                told = f"Override of {row.target} in {row.toolset}: what is pinned at {place} {ADVICE}."
                yield Finding(str(row.target), told, f"{_command(row, f'arguments.{name}')}   Then pin it again")


def _whose(origin: Origin) -> str:
    match origin:
        case DeclaredAt():
            return str(origin)
        case InstalledBy(by, at):
            return f"by {by} on {at:%Y-%m-%d}"
        case _:
            assert_never(origin)


def _command(row: Override, field: str | None) -> str:
    rest = f" {field}" if field is not None else ""
    return f"pegboard overrides clear {shlex.quote(str(row.target))}{rest} --toolset {row.toolset}"


def _values(gateway: Gateway) -> Iterator[Misfit]:
    board, validators = gateway.board, Validators()
    for tool in board.catalogue.tools.values():
        shape = shape_of(tool, board.policy)
        if shape is None:
            continue
        look = board.policy.overrides.for_tool(tool.id)
        for name, held in shape.defaults.items():
            if validators.problems(_alone(tool, name), {name: held.value}):
                yield _told(tool, look, name, "default", "its default does not fit what the tool takes there.")
        for name, held in shape.pins.items():
            if (why := _why_not(gateway, validators, tool, name, held)) is not None:
                yield _told(tool, look, name, "pin", f"{why} Calls of the tool are refused.")


def _why_not(gateway: Gateway, validators: Validators, tool: Tool, name: str, held: Held) -> str | None:
    """Nothing of the value itself: it may be a secret."""
    filled = gateway.filling.filled(held.value)
    if isinstance(filled, str):
        return filled
    wrong = validators.problems(_alone(tool, name), {name: filled.value})
    return "the pinned value does not fit what the tool takes there." if wrong else None


def _told(tool: Tool, look: Appearance, name: str, aspect: str, what: str) -> Misfit:
    place = f"arguments.{name}.{aspect}"
    return Misfit(look.origin[place], f"{name!r}: {what}", tool.id, f"arguments.{name}")


def _alone(tool: Tool, name: str) -> Tool:
    """The tool with this one parameter."""
    schema = tool.spec.input_schema
    properties = schema.get("properties")
    own: Json = properties.get(name) if isinstance(properties, dict) else None
    alone: JsonObject = {key: schema[key] for key in _DEFINING if key in schema}
    return Tool(tool.id, ToolSpec(tool.spec.name, input_schema={**alone, "properties": {name: own}}))
