"""What an override says of single parameters, and whose word each of its fields is, to text and back."""

from collections.abc import Mapping
from typing import assert_never

from pegboard.core.argument import ArgumentOverride, freeze_json
from pegboard.core.ids import PrincipalId
from pegboard.core.server import DeclaredAt, InstalledBy, Origin
from pegboard.core.tool import Json, JsonObject

from .text import check_type, parse_instant, read_json, to_json_text


def arguments_row(arguments: Mapping[str, ArgumentOverride] | None) -> str | None:
    return (
        None
        if arguments is None
        else to_json_text({name: _argument_members(argument) for name, argument in arguments.items()})
    )


def arguments_of(text: str | None) -> Mapping[str, ArgumentOverride] | None:
    return (
        None
        if text is None
        else {name: _parse_argument(said) for name, said in check_type(read_json(text), dict).items()}
    )


def origins_row(origins: Mapping[str, Origin]) -> str | None:
    return to_json_text({name: _origin_members(origin) for name, origin in origins.items()}) if origins else None


def origins_of(text: str | None) -> Mapping[str, Origin]:
    return (
        {} if text is None else {name: _parse_origin(said) for name, said in check_type(read_json(text), dict).items()}
    )


def _argument_members(argument: ArgumentOverride) -> JsonObject:
    values = {"pin": argument.pin, "default": argument.default}
    said: JsonObject = {name: held.value for name, held in values.items() if held is not None}
    if argument.hide is not None:
        said["hide"] = argument.hide
    if argument.description is not None:
        said["description"] = argument.description
    return said


def _parse_argument(said: Mapping[str, Json]) -> ArgumentOverride:
    if set(said) - {"pin", "default", "hide", "description"}:
        raise ValueError("an override says something of an argument that this Pegboard does not know")
    hide, description = check_type(said.get("hide"), bool, None), check_type(said.get("description"), str, None)
    return ArgumentOverride(
        pin=freeze_json(said["pin"]) if "pin" in said else None,
        hide=hide,
        default=freeze_json(said["default"]) if "default" in said else None,
        description=description,
    )


def _origin_members(origin: Origin) -> JsonObject:
    match origin:
        case DeclaredAt(file, line):
            return {"file": file, "line": line}
        case InstalledBy(by, at):
            return {"by": by, "at": at.isoformat()}
        case _:
            assert_never(origin)


def _parse_origin(said: Mapping[str, object]) -> Origin:
    match said:
        case {"file": str() as file, "line": int() as line}:
            return DeclaredAt(file, line)
        case {"by": str() as by, "at": str() as at}:
            return InstalledBy(PrincipalId(by), parse_instant(at))
        case _:
            raise ValueError("A row says of an override's origin what this Pegboard does not know.")
