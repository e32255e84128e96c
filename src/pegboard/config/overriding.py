"""From what a file says under `overrides` to the overrides of the core, each field with its line."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pegboard.core.argument import Argument, held
from pegboard.core.ids import BadId, ToolId, ToolsetId
from pegboard.core.override import Override, target
from pegboard.core.pattern import Pattern
from pegboard.core.renderers import config_problems
from pegboard.core.server import DeclaredAt, Origin

from . import keys
from . import override_keys as own
from .references import has_reference
from .section import Key, T, Values
from .telling import Placed, Telling
from .tree import under


def overrides(values: Values, file: str, tell: Telling) -> Iterator[Override]:
    for toolset, said in values.value(keys.OVERRIDES, {}).items():
        for text, row in said.value.items():
            about = target(text, ToolsetId(toolset))
            if isinstance(about, BadId):
                tell.wrong(row.line, row.at, f"{about.why}.")
                continue
            yield replace(override(ToolsetId(toolset), about, row, file, tell), declared=True)


def override(toolset: ToolsetId, about: ToolId | Pattern, row: Placed[Values], file: str, tell: Telling) -> Override:
    _check(row, tell)
    arguments = row.value.value(own.ARGUMENTS, {})
    _check_arguments(arguments, tell)
    return Override(
        toolset,
        about,
        renderer=_said(row.value, own.RENDERER),
        renderer_config=_said(row.value, own.RENDERER_CONFIG),
        name_override=_said(row.value, own.NAME_OVERRIDE),
        description_override=_said(row.value, own.DESCRIPTION_OVERRIDE),
        requires_confirmation=_said(row.value, own.REQUIRES_CONFIRMATION),
        confirmation=_said(row.value, own.TOOL_CONFIRMATION),
        enabled=_said(row.value, own.ENABLED),
        arguments={name: _argument(one.value) for name, one in arguments.items()} or None,
        origins=_origins(row.value, arguments, file),
        optional=row.value.value(own.OPTIONAL, False),
    )


def _said(values: Values, key: Key[T]) -> T | None:
    placed = values.get(key)
    return None if placed is None else placed.value


def _argument(values: Values) -> Argument:
    pin, default = values.get(own.PIN), values.get(own.DEFAULT)
    return Argument(
        pin=None if pin is None else held(pin.value),
        hide=_said(values, own.HIDE),
        default=None if default is None else held(default.value),
        description=_said(values, own.DESCRIPTION),
    )


def _origins(values: Values, arguments: Mapping[str, Placed[Values]], file: str) -> Mapping[str, Origin]:
    beside = (own.ARGUMENTS.name, own.OPTIONAL.name)
    fields = {name: placed for name, placed in values.found.items() if name not in beside}
    lines = {name: placed.line for name, placed in fields.items()}
    lines |= {f"{own.ARGUMENTS.name}.{name}": placed.line for name, placed in arguments.items()}
    return {name: DeclaredAt(file, line) for name, line in lines.items()}


def _check(row: Placed[Values], tell: Telling) -> None:
    if not row.value.found.keys() - {own.OPTIONAL.name} and not _is_told(row, tell):
        names = ", ".join(key.name for key in own.OVERRIDE.keys if key is not own.OPTIONAL)
        tell.wrong(row.line, row.at, f"this says nothing. Write one of {names}.")
    renderer, config = row.value.get(own.RENDERER), row.value.get(own.RENDERER_CONFIG)
    if renderer is not None and config is not None:
        for key, what in config_problems(renderer.value, config.value):
            tell.wrong(config.line, under(config.at, key), what)


def _check_arguments(arguments: Mapping[str, Placed[Values]], tell: Telling) -> None:
    for placed in arguments.values():
        values = placed.value
        pin, default = values.get(own.PIN), values.get(own.DEFAULT)
        if not values.found and not _is_told(placed, tell):
            tell.wrong(placed.line, placed.at, "this says nothing. Write pin, hide, default or description.")
        fixed = "pinned" if pin is not None else "hidden" if _said(values, own.HIDE) else None
        shown = default or values.get(own.DESCRIPTION)
        if fixed is not None and shown is not None:
            why = f"what is {fixed} has no default and no words for callers, who do not see it."
            tell.wrong(shown.line, shown.at, f"{why} Keep one of them.")
        if default is not None and any(has_reference(text) for text in texts_in(default.value)):
            why = "a default is shown to callers, so it cannot stand for something else. Pin it, or write it out;"
            tell.wrong(default.line, default.at, f"{why} for a plain ${{ write $${{.")


def _is_told(placed: Placed[Values], tell: Telling) -> bool:
    """Whether something in it has been told already: then it says something, if not what was meant."""
    return any(problem.key.startswith(placed.at) for problem in tell.problems)


def texts_in(value: object) -> Iterator[str]:
    """Every text of a value of any kind."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)
