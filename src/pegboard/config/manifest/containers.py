"""Containers of a manifest, and the commands in them that are tools: from the manifest, or from an image's label."""

from collections.abc import Mapping
from typing import Final

from pegboard.config.json_text import parse_json
from pegboard.config.section import ConfigKey, ConfigValues, T
from pegboard.config.settings import InvalidFile
from pegboard.config.shape import ListField
from pegboard.config.telling import Invalid, LocatedValue, ProblemCollector
from pegboard.config.tree import join_key
from pegboard.core.own import ContainerImage
from pegboard.core.tool import JsonObject

from . import keys
from .model import CommandEntry, ContainerEntry, ContainerOffer, DeclaredCommands, McpOnStdio, ToolsFromLabel

TOOLS_LABEL: Final = "io.pegboard.tools"
_DEFAULTS: Final = ContainerImage("")


def read_container(said: LocatedValue[ConfigValues], tell: ProblemCollector) -> ContainerEntry:
    values = said.value
    image = ContainerImage(
        image=values.value(keys.IMAGE, ""),
        args=tuple(arg.value for arg in values.value(keys.CONTAINER_ARGS, ())),
        env={name: placed.value for name, placed in values.value(keys.CONTAINER_ENV, {}).items()},
        network=values.value(keys.NETWORK, _DEFAULTS.network),
        workspace=values.value(keys.CONTAINER_WORKSPACE, _DEFAULTS.workspace),
        memory=values.value(keys.MEMORY, _DEFAULTS.memory),
        pids=values.value(keys.PIDS, _DEFAULTS.pids),
        cpus=_optional_value(values, keys.CPUS),
    )
    return ContainerEntry(
        id=values.value(keys.CONTAINER_ID, ""),
        image=image,
        offers=_read_offer(values, tell),
        idle=_optional_value(values, keys.IDLE_STOP),
        line=said.line,
    )


def read_label(text: str, image: str) -> tuple[CommandEntry, ...] | InvalidFile:
    """The tools that an image's label tells: a JSON list of what stands under `tools` of a container."""
    place = f"label {TOOLS_LABEL} of {image}"
    parsed = parse_json(text, place)
    tell = ProblemCollector(place, [*parsed.problems])
    if parsed.root is None:
        if not tell.problems:
            tell.add_problem(0, "", "it is empty. Write a JSON list of tools, or name them in toolset.yaml.")
        return InvalidFile(place, tell.sorted_problems())
    said = ListField(keys.COMMAND_SECTION, null_is_empty=False).parse(parsed.root, "", tell)
    entries = () if isinstance(said, Invalid) else tuple(_read_command(each, tell) for each in said)
    names: set[str] = set()
    for entry in entries:
        if entry.id in names:
            tell.add_problem(entry.line, "", f"there is a tool {entry.id!r} already. Choose another id.")
        names.add(entry.id)
    return InvalidFile(place, tell.sorted_problems()) if tell.problems else entries


def _read_offer(values: ConfigValues, tell: ProblemCollector) -> ContainerOffer:
    speaks, tools = values.get(keys.MCP), values.get(keys.CONTAINER_TOOLS)
    if speaks is not None and speaks.value:
        if tools is not None:
            what = "an image that speaks MCP tells its tools itself. Remove this, or mcp: true."
            tell.add_problem(tools.line, tools.key, what)
        return McpOnStdio()
    if tools is None:
        return ToolsFromLabel()
    if not tools.value and not values.invalid_keys:
        tell.add_problem(
            tools.line, tools.key, "there are none. Write a tool, or remove the key to use the image's label."
        )
    return DeclaredCommands(tuple(_read_command(said, tell) for said in tools.value))


def _read_command(said: LocatedValue[ConfigValues], tell: ProblemCollector) -> CommandEntry:
    values = said.value
    command = values.get(keys.COMMAND)
    if command is not None and not any(word.value.strip() for word in command.value[:1]):
        tell.add_problem(command.line, command.key, "this names no program. Write a list: [program, argument].")
    for key in (keys.INPUT_SCHEMA, keys.OUTPUT_SCHEMA):
        _check_schema(values.get(key), tell)
    return CommandEntry(
        id=values.value(keys.COMMAND_ID, ""),
        command=() if command is None else tuple(word.value for word in command.value),
        description=values.value(keys.COMMAND_DESCRIPTION, ""),
        name=_optional_value(values, keys.COMMAND_NAME),
        input_schema=_as_object_schema(values.value(keys.INPUT_SCHEMA, {})),
        output_schema=None
        if (output := _optional_value(values, keys.OUTPUT_SCHEMA)) is None
        else _as_object_schema(output),
        seconds=_optional_value(values, keys.TIMEOUT),
        requires_confirmation=_optional_value(values, keys.REQUIRES_CONFIRMATION),
        line=said.line,
    )


def _as_object_schema(schema: JsonObject) -> JsonObject:
    """What is said of properties is said of an object, which the protocol wants written."""
    return schema if "type" in schema else {"type": "object", **schema}


def _check_schema(said: LocatedValue[JsonObject] | None, tell: ProblemCollector) -> None:
    if said is None:
        return
    if said.value.get("type", "object") != "object":
        what = "arguments and results are objects: write type: object, and what you mean as one of its properties."
        tell.add_problem(said.line, join_key(said.key, "type"), what)
    elif (why := _schema_error(said.value)) is not None:
        tell.add_problem(said.line, said.key, f"this is no JSON Schema: {why}.")


def _schema_error(schema: Mapping[str, object]) -> str | None:
    import jsonschema_rs  # Only here, because most toolsets have no container.

    try:
        jsonschema_rs.meta.validate(dict(schema))
    except jsonschema_rs.ValidationError as error:
        where = "/".join(map(str, error.instance_path))
        return f"{error.message[:200]} (at {where})" if where else error.message[:200]
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        return str(error)[:200]
    return None


def _optional_value(values: ConfigValues, key: ConfigKey[T]) -> T | None:
    said = values.get(key)
    return None if said is None else said.value
