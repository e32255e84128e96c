"""Containers of a manifest, and the commands in them that are tools: from the manifest, or from an image's label."""

from collections.abc import Mapping
from typing import Final

from pegboard.config.json_text import parse_json
from pegboard.config.section import Key, T, Values
from pegboard.config.settings import Broken
from pegboard.config.shape import ListOf
from pegboard.config.telling import Placed, Telling, Wrong
from pegboard.config.tree import under
from pegboard.core.own import Image
from pegboard.core.tool import JsonObject

from . import keys
from .model import CommandEntry, Commands, ContainerEntry, Labelled, Offered, SpeaksMcp

LABEL: Final = "io.pegboard.tools"
_USUAL: Final = Image("")


def container(said: Placed[Values], tell: Telling) -> ContainerEntry:
    values = said.value
    image = Image(
        image=values.value(keys.IMAGE, ""),
        args=tuple(arg.value for arg in values.value(keys.CONTAINER_ARGS, ())),
        env={name: placed.value for name, placed in values.value(keys.CONTAINER_ENV, {}).items()},
        network=values.value(keys.NETWORK, _USUAL.network),
        workspace=values.value(keys.CONTAINER_WORKSPACE, _USUAL.workspace),
        memory=values.value(keys.MEMORY, _USUAL.memory),
        pids=values.value(keys.PIDS, _USUAL.pids),
        cpus=_said(values, keys.CPUS),
    )
    return ContainerEntry(
        id=values.value(keys.CONTAINER_ID, ""),
        image=image,
        offers=_offered(values, tell),
        idle=_said(values, keys.IDLE_STOP),
        line=said.line,
    )


def read_label(text: str, image: str) -> tuple[CommandEntry, ...] | Broken:
    """The tools that an image's label tells: a JSON list of what stands under `tools` of a container."""
    place = f"label {LABEL} of {image}"
    parsed = parse_json(text, place)
    tell = Telling(place, [*parsed.problems])
    if parsed.root is None:
        if not tell.problems:
            tell.wrong(0, "", "it is empty. Write a JSON list of tools, or name them in toolset.yaml.")
        return Broken(place, tell.told())
    said = ListOf(keys.COMMAND_SECTION, nothing_is_empty=False).read(parsed.root, "", tell)
    entries = () if isinstance(said, Wrong) else tuple(_command(each, tell) for each in said)
    names: set[str] = set()
    for entry in entries:
        if entry.id in names:
            tell.wrong(entry.line, "", f"there is a tool {entry.id!r} already. Choose another id.")
        names.add(entry.id)
    return Broken(place, tell.told()) if tell.problems else entries


def _offered(values: Values, tell: Telling) -> Offered:
    speaks, tools = values.get(keys.MCP), values.get(keys.CONTAINER_TOOLS)
    if speaks is not None and speaks.value:
        if tools is not None:
            what = "an image that speaks MCP tells its tools itself. Remove this, or mcp: true."
            tell.wrong(tools.line, tools.at, what)
        return SpeaksMcp()
    if tools is None:
        return Labelled()
    if not tools.value and not values.wrong:
        tell.wrong(tools.line, tools.at, "there are none. Write a tool, or remove the key to use the image's label.")
    return Commands(tuple(_command(said, tell) for said in tools.value))


def _command(said: Placed[Values], tell: Telling) -> CommandEntry:
    values = said.value
    command = values.get(keys.COMMAND)
    if command is not None and not any(word.value.strip() for word in command.value[:1]):
        tell.wrong(command.line, command.at, "this names no program. Write a list: [program, argument].")
    for key in (keys.INPUT_SCHEMA, keys.OUTPUT_SCHEMA):
        _check_schema(values.get(key), tell)
    return CommandEntry(
        id=values.value(keys.COMMAND_ID, ""),
        command=() if command is None else tuple(word.value for word in command.value),
        description=values.value(keys.COMMAND_DESCRIPTION, ""),
        name=_said(values, keys.COMMAND_NAME),
        input_schema=_of_objects(values.value(keys.INPUT_SCHEMA, {})),
        output_schema=None if (output := _said(values, keys.OUTPUT_SCHEMA)) is None else _of_objects(output),
        seconds=_said(values, keys.TIMEOUT),
        requires_confirmation=_said(values, keys.REQUIRES_CONFIRMATION),
        line=said.line,
    )


def _of_objects(schema: JsonObject) -> JsonObject:
    """What is said of properties is said of an object, which the protocol wants written."""
    return schema if "type" in schema else {"type": "object", **schema}


def _check_schema(said: Placed[JsonObject] | None, tell: Telling) -> None:
    if said is None:
        return
    if said.value.get("type", "object") != "object":
        what = "arguments and results are objects: write type: object, and what you mean as one of its properties."
        tell.wrong(said.line, under(said.at, "type"), what)
    elif (why := _misfit(said.value)) is not None:
        tell.wrong(said.line, said.at, f"this is no JSON Schema: {why}.")


def _misfit(schema: Mapping[str, object]) -> str | None:
    import jsonschema_rs  # Only here, because most toolsets have no container.

    try:
        jsonschema_rs.meta.validate(dict(schema))
    except jsonschema_rs.ValidationError as error:
        where = "/".join(map(str, error.instance_path))
        return f"{error.message[:200]} (at {where})" if where else error.message[:200]
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        return str(error)[:200]
    return None


def _said(values: Values, key: Key[T]) -> T | None:
    said = values.get(key)
    return None if said is None else said.value
