"""NAME=VALUE on a command line, and the JSON of a call's arguments: read before anything is started for a command."""

import json
import sys
from typing import Any, NoReturn

import click


def parse_pairs(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """What is wrong is told by its place alone: the text may be a secret."""
    found: dict[str, str] = {}
    for place, text in enumerate(texts, start=1):
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"number {place} is not NAME=VALUE", context, option)
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice", context, option)
        found[name] = value
    return found


def parse_names(context: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    """A list with commas; empty for none of them, and None where nothing was said."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def parse_json_pairs(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Each value as JSON where it is JSON, else as text."""
    return {name: _parse_value(text) for name, text in parse_pairs(context, option, texts).items()}


def parse_json_object(context: click.Context, argument: click.Parameter, text: str | None) -> dict[str, Any]:
    """A JSON object, from standard input for `-`."""

    def no(why: str) -> NoReturn:
        raise click.BadParameter(why, context, argument)

    is_call = isinstance(argument, click.Argument)
    if text is None:
        return {}
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            no(f"standard input is not UTF-8 text, from byte {error.start} on")
    try:
        given = json.loads(text, parse_constant=_reject_constant)
    except ValueError as error:
        other = ", or use --arg name=1" if is_call else ""
        no(f"this is not JSON: {error}. Write an object, like '{{\"name\": 1}}'{other}")
    except RecursionError:
        no("this is nested too deeply")
    if not isinstance(given, dict):
        what = "the arguments" if is_call else "this"
        no(f"{what} must be a JSON object, like '{{\"name\": 1}}'")
    return given


def parse_optional_json_object(
    context: click.Context, option: click.Parameter, text: str | None
) -> dict[str, Any] | None:
    """A JSON object; `None` where the option is not given, because `{}` is a value."""
    return None if text is None else parse_json_object(context, option, text)


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return text


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
