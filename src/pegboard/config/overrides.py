"""`overrides` of pegboard.yaml as overrides of the core, each field with its line."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from pegboard.config.keys import access as own
from pegboard.config.keys import root
from pegboard.config.references import Literal, has_reference, parse_references
from pegboard.config.schema.document import LocatedValue, ProblemCollector, join_key
from pegboard.config.schema.section import ConfigKey, ConfigValues, T
from pegboard.core.json.values import Json
from pegboard.core.model.ids import BadId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.redaction import holds_secret, is_harmless_member, is_secret
from pegboard.core.model.server import DeclaredAt, Origin
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json, parse_target
from pegboard.core.renderers.render import config_problems


def read_overrides(values: ConfigValues, file: str, tell: ProblemCollector) -> Iterator[Override]:
    for toolset, said in values.value(root.OVERRIDES, {}).items():
        for text, row in said.value.items():
            about = parse_target(text, ToolsetId(toolset))
            if isinstance(about, BadId):
                tell.add_problem(row.line, row.key, f"{about.why}.")
                continue
            yield replace(read_override(ToolsetId(toolset), about, row, file, tell), is_declared=True)


def read_override(
    toolset: ToolsetId, about: ToolId | Pattern, row: LocatedValue[ConfigValues], file: str, tell: ProblemCollector
) -> Override:
    _check(row, tell)
    arguments = row.value.value(own.ARGUMENTS, {})
    _check_arguments(arguments, tell)
    return Override(
        toolset,
        about,
        renderer=_optional_value(row.value, own.RENDERER),
        renderer_config=_optional_value(row.value, own.RENDERER_CONFIG),
        name_override=_optional_value(row.value, own.NAME_OVERRIDE),
        description_override=_optional_value(row.value, own.DESCRIPTION_OVERRIDE),
        requires_confirmation=_optional_value(row.value, own.REQUIRES_CONFIRMATION),
        confirmation=_optional_value(row.value, own.TOOL_CONFIRMATION),
        enabled=_optional_value(row.value, own.ENABLED),
        arguments={name: _argument(one.value) for name, one in arguments.items()} or None,
        origins=_origins(row.value, arguments, file),
        is_optional=row.value.value(own.OPTIONAL, False),
    )


def _optional_value(values: ConfigValues, key: ConfigKey[T]) -> T | None:
    placed = values.get(key)
    return None if placed is None else placed.value


def _argument(values: ConfigValues) -> ArgumentOverride:
    pin, default = values.get(own.PIN), values.get(own.DEFAULT)
    return ArgumentOverride(
        pin=None if pin is None else freeze_json(pin.value),
        hide=_optional_value(values, own.HIDE),
        default=None if default is None else freeze_json(default.value),
        description=_optional_value(values, own.DESCRIPTION),
    )


def _origins(
    values: ConfigValues, arguments: Mapping[str, LocatedValue[ConfigValues]], file: str
) -> Mapping[str, Origin]:
    beside = (own.ARGUMENTS.name, own.OPTIONAL.name)
    fields = {name: placed for name, placed in values.located_values.items() if name not in beside}
    lines = {name: placed.line for name, placed in fields.items()}
    lines |= {f"{own.ARGUMENTS.name}.{name}": placed.line for name, placed in arguments.items()}
    return {name: DeclaredAt(file, line) for name, line in lines.items()}


def _check(row: LocatedValue[ConfigValues], tell: ProblemCollector) -> None:
    if not row.value.located_values.keys() - {own.OPTIONAL.name} and not _has_problem(row, tell):
        names = ", ".join(key.name for key in own.OVERRIDE.keys if key is not own.OPTIONAL)
        tell.add_problem(row.line, row.key, f"this says nothing. Write one of {names}.")
    renderer, config = row.value.get(own.RENDERER), row.value.get(own.RENDERER_CONFIG)
    if renderer is not None and config is not None:
        for key, what in config_problems(renderer.value, config.value):
            tell.add_problem(config.line, join_key(config.key, key), what)


def _check_arguments(arguments: Mapping[str, LocatedValue[ConfigValues]], tell: ProblemCollector) -> None:
    for placed in arguments.values():
        values = placed.value
        pin, default = values.get(own.PIN), values.get(own.DEFAULT)
        if not values.located_values and not _has_problem(placed, tell):
            tell.add_problem(placed.line, placed.key, "this says nothing. Write pin, hide, default or description.")
        fixed = "pinned" if pin is not None else "hidden" if _optional_value(values, own.HIDE) else None
        shown = default or values.get(own.DESCRIPTION)
        if fixed is not None and shown is not None:
            why = f"what is {fixed} has no default and no words for callers, who do not see it."
            tell.add_problem(shown.line, shown.key, f"{why} Keep one of them.")
        if default is not None and any(has_reference(text) for text in texts_in(default.value)):
            why = "a default is shown to callers, so it cannot stand for something else. Pin it, or write it out;"
            tell.add_problem(default.line, default.key, f"{why} for a plain ${{ write $${{.")


def _has_problem(placed: LocatedValue[ConfigValues], tell: ProblemCollector) -> bool:
    """Whether something in it has been told already: then it says something, if not what was meant."""
    return any(problem.key.startswith(placed.key) for problem in tell.problems)


def texts_in(value: object) -> Iterator[str]:
    """Every text of a value of any kind."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


# Pinned values that look like secrets: what is pinned at run time is kept in the store as it was written.

PIN_ADVICE: Final = (
    "looks like a secret, and what is pinned is kept in the store as it is written. Pin a reference instead, which is "
    "read at each call: ${NAME} for a variable of the gateway's environment, or ${file:path}"
)


def plaintext_secrets(name: str, argument: ArgumentOverride) -> tuple[str, ...]:
    """Where in what is pinned for this parameter something looks like a secret and is no reference."""
    if argument.pin is None:
        return ()
    return tuple(dict.fromkeys(_find_secrets(f"arguments.{name}.pin", name, argument.pin.value)))


def _find_secrets(path: str, name: str, value: Json) -> Iterator[str]:
    match value:
        case list():
            for item in value:
                yield from _find_secrets(path, name, item)
        case dict():
            for inner, item in value.items():
                yield from _find_secrets(f"{path}.{inner}", inner, item)
        case str():
            written, refers = _plaintext(value)
            if holds_secret(written) or (is_secret(name) and written.strip() and not refers):
                yield path
        case _:
            if is_secret(name) and not is_harmless_member(name, value):
                yield path


def _plaintext(text: str) -> tuple[str, bool]:
    """What of a text is written out, defaults included; and whether anything of it is not."""
    split = parse_references(text)
    if not isinstance(split, tuple):
        return text, False
    said = [part.text if isinstance(part, Literal) else getattr(part, "default", None) or "" for part in split]
    return "".join(said), any(not isinstance(part, Literal) and not getattr(part, "default", None) for part in split)
