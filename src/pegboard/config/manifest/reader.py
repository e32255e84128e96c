"""Reads toolset.yaml into a `Manifest`, or returns all its problems."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from pegboard.config.declare import FileContext, declare_server
from pegboard.config.keys import access
from pegboard.config.keys import root as settings
from pegboard.config.manifest import keys
from pegboard.config.manifest.keys import RendererChoice
from pegboard.config.manifest.model import (
    CommandEntry,
    ContainerEntry,
    ContainerOffer,
    DeclaredCommands,
    Manifest,
    McpOnStdio,
    SecretEntry,
    ToolEntry,
    ToolsFromLabel,
    relative_path,
)
from pegboard.config.overrides import read_override, texts_in
from pegboard.config.paths import decode_text
from pegboard.config.references import FileReference, VariableReference, parse_references
from pegboard.config.schema.document import (
    FileProblem,
    Invalid,
    LocatedValue,
    MapNode,
    Node,
    ParsedFile,
    ProblemCollector,
    join_key,
    to_json,
)
from pegboard.config.schema.fields import ListField
from pegboard.config.schema.parse import parse_json, parse_yaml
from pegboard.config.schema.section import EXTENSION_PREFIX, ConfigKey, ConfigValues, T
from pegboard.config.settings import InvalidFile
from pegboard.config.watch import connection_texts
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import BadId, ServerId, ServerKey, ToolId, ToolsetId, ToolsetKey, parse_server_key
from pegboard.core.model.patterns import Pattern, is_pattern
from pegboard.core.model.references import closest_names
from pegboard.core.model.server import DeclaredAt, Server, Stdio
from pegboard.core.model.tool import ContainerImage, ToolsetLimits
from pegboard.core.overrides.model import OVERRIDE_FIELDS, Override, parse_target
from pegboard.core.renderers.catalogue import PAGE_SUFFIXES, KeyType, find_renderer
from pegboard.core.renderers.render import config_problems

# A manifest held against the files of its toolset: what it names must be there.


def check_files(manifest: Manifest, names: Iterable[str]) -> tuple[FileProblem, ...]:
    """`names` are those of the toolset's files, with slashes, taken from the manifest's folder."""
    files = frozenset(names)
    found = (*_check_tools(manifest, files), *_check_servers(manifest, files), *_check_renderers(manifest, files))
    return tuple(sorted(found, key=lambda problem: problem.line))


def _check_tools(manifest: Manifest, files: frozenset[str]) -> Iterator[FileProblem]:
    for place, entry in enumerate(manifest.tools):
        if not files.isdisjoint(entry.module_files):
            continue
        what = f"there is no file {entry.module_files[0]!r} in the toolset.{_module_hint(entry.module_files[0], files)}"
        yield FileProblem(manifest.file, entry.line, f"tools[{place}].entrypoint", what)


def _module_hint(wanted: str, files: frozenset[str]) -> str:
    modules = {name for name in files if name.endswith(".py")}
    same = sorted(name for name in modules if PurePosixPath(name).name == PurePosixPath(wanted).name)
    near = closest_names(wanted, modules) or same[:3]
    spelled = (name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".") for name in near)
    return (
        f" Did you mean {' or '.join(map(repr, dict.fromkeys(spelled)))}?" if near else " Add it, or correct the path."
    )


def _check_servers(manifest: Manifest, files: frozenset[str]) -> Iterator[FileProblem]:
    for place, each in enumerate(manifest.servers):
        if not isinstance(each.connection, Stdio):
            continue
        at = f"mcp_servers[{place}]"
        command = _path_inside(each.connection.command, manifest)
        if command is not None and command not in files:
            what = f"there is no file {command!r} in the toolset.{_file_hint(command, files)}"
            yield FileProblem(manifest.file, _line(each), f"{at}.command", what)
        folder = None if each.connection.cwd is None else _path_inside(each.connection.cwd, manifest)
        if folder is not None and folder != "." and not any(name.startswith(f"{folder}/") for name in files):
            what = f"there is no folder {folder!r} in the toolset. Add it, or correct the path."
            yield FileProblem(manifest.file, _line(each), f"{at}.cwd", what)


def _path_inside(path: str, manifest: Manifest) -> str | None:
    """As the toolset's files are named. What a reference stands for is not known here."""
    name = relative_path(path, manifest.folder)
    return None if name is None or "${" in name else name


def _check_renderers(manifest: Manifest, files: frozenset[str]) -> Iterator[FileProblem]:
    for row in manifest.overrides:
        known = None if row.renderer is None else find_renderer(row.renderer)
        for key in () if known is None else known.keys:
            said = (row.renderer_config or {}).get(key.name)
            if key.type is not KeyType.FILE or not isinstance(said, str) or said.startswith("$"):
                continue
            name = os.path.normpath(said.replace("\\", "/")).replace(os.sep, "/")
            if name not in files:
                what = (
                    f"there is no file {name!r} in the toolset for the renderer of "
                    f"{row.target}.{_file_hint(name, files)}"
                )
            elif not name.lower().endswith(PAGE_SUFFIXES):
                what = f"{name!r} is no page for the renderer of {row.target}. Name an .html or .htm file."
            else:
                continue
            at = row.origin("renderer_config")
            yield FileProblem(manifest.file, at.line if isinstance(at, DeclaredAt) else 0, key.name, what)


def _file_hint(wanted: str, files: frozenset[str]) -> str:
    return _format_hint(closest_names(wanted, files))


def _format_hint(near: Iterable[str]) -> str:
    named = " or ".join(map(repr, near))
    return f" Did you mean {named}?" if named else " Add it, or correct the path."


def _line(server: Server) -> int:
    return server.origin.line if isinstance(server.origin, DeclaredAt) else 0


# What is worth a word in a manifest that is good all the same: references that whoever imports it may not expect.

_COMMON_VARIABLES: Final = frozenset(
    {"HOME", "PATH", "USER", "LANG", "PWD", "SHELL", "TMPDIR", "TEMP", "TMP", "USERPROFILE"}
)


def add_warnings(manifest: Manifest, values: ConfigValues, tell: ProblemCollector) -> Manifest:
    known = {secret.name for secret in manifest.secrets}
    for said, texts in _texts(manifest, values):
        split = [part for text in texts if isinstance(found := parse_references(text), tuple) for part in found]
        variables = {part.name for part in split if isinstance(part, VariableReference) and part.default is None}
        for name in sorted(variables - known - _COMMON_VARIABLES):
            what = (
                f"${{{name}}} is taken from the environment of the gateway. Name it under secrets, so that whoever "
                "imports the toolset is asked for it."
            )
            tell.add_warning(said.line, said.key, what)
        for part in dict.fromkeys(part for part in split if isinstance(part, FileReference)):
            tell.add_warning(
                said.line, said.key, f"{part} reads a file of whoever imports the toolset. Ask for a secret instead."
            )
    if not (manifest.tools or manifest.servers or manifest.containers):
        tell.add_warning(0, "", "this toolset brings no tools. Write tools, mcp_servers or containers.")
    return replace(manifest, warnings=tuple(sorted(tell.warnings, key=lambda problem: problem.line)))


def _texts(manifest: Manifest, values: ConfigValues) -> Iterator[tuple[LocatedValue[ConfigValues], Iterable[str]]]:
    for said, each in zip(values.value(keys.MCP_SERVERS, ()), manifest.servers, strict=True):
        yield said, connection_texts(each.connection)
    for said, container in zip(values.value(keys.CONTAINERS, ()), manifest.containers, strict=True):
        yield said, (*container.image.args, *container.image.env.values())
    rows = values.value(keys.TOOL_OVERRIDES, ())
    for said in rows:
        arguments = said.value.value(access.ARGUMENTS, {})
        pins = [placed.value.get(access.PIN) for placed in arguments.values()]
        yield said, [text for pin in pins if pin is not None for text in texts_in(pin.value)]


_MAX_NAMED: Final = 8


def apply_overrides(manifest: Manifest, values: ConfigValues, tell: ProblemCollector) -> Manifest:
    """The manifest with its overrides: those of single tools by id, then those by pattern in the order of the file."""
    found: dict[ToolId | Pattern, Override] = {}
    for entry in _entry_overrides(manifest, values):
        found[entry.target] = _merge_override(found.get(entry.target), entry)
    written: dict[ToolId | Pattern, int] = {}
    naming = _TargetResolver(
        manifest.id, frozenset(manifest.own_tools), manifest.server_keys, _knows_all_tools(manifest), tell
    )
    for said in values.value(keys.TOOL_OVERRIDES, ()):
        about = naming.resolve_target(said)
        if isinstance(about, BadId):
            continue
        if about in written:
            where = f"{str(about)!r} stands on line {written[about]} too."
            tell.add_warning(said.line, said.key, f"{where} What is said here lies on top. Keep one of them.")
        written[about] = said.line
        # The default renderer is what there is when nothing is said.
        told = {name: placed for name, placed in said.value.located_values.items() if placed.value is not None}
        own = {name: placed for name, placed in told.items() if name != keys.OVERRIDE_TARGET.name}
        if not own and len(told) < len(said.value.located_values):
            continue
        row = LocatedValue(ConfigValues(own, said.value.invalid_keys, said.value.line), said.key, said.line)
        found[about] = _merge_override(found.get(about), read_override(manifest.id, about, row, manifest.file, tell))
        _check_config(found[about], row, tell)
    exact = sorted((row for row in found.values() if isinstance(row.target, ToolId)), key=lambda row: str(row.target))
    patterned = (row for row in found.values() if isinstance(row.target, Pattern))
    return replace(manifest, overrides=(*exact, *patterned))


def _entry_overrides(manifest: Manifest, values: ConfigValues) -> Iterator[Override]:
    for said in values.value(keys.MCP_SERVERS, ()):
        confirm = said.value.get(keys.SERVER_CONFIRMATION)
        if confirm is not None:
            server = ServerKey(manifest.id, ServerId(said.value.value(keys.SERVER_ID, "")))
            yield _confirmation_override(manifest, Pattern(str(server), "*"), "requires_confirmation", confirm)
    containers = values.value(keys.CONTAINERS, ())
    commands = (entry for said in containers for entry in said.value.value(keys.CONTAINER_TOOLS, ()))
    for said in (*values.value(keys.TOOLS, ()), *commands):
        tool = ToolId(ToolsetKey(manifest.id), said.value.value(keys.TOOL_ID, ""))
        confirm, renderer = said.value.get(keys.REQUIRES_CONFIRMATION), said.value.get(keys.RENDERER)
        if confirm is not None:
            yield _confirmation_override(manifest, tool, "requires_confirmation", confirm)
        if renderer is not None and renderer.value.renderer is not None:
            yield _renderer_override(manifest, tool, renderer)


def _confirmation_override(
    manifest: Manifest, about: ToolId | Pattern, field: str, said: LocatedValue[bool]
) -> Override:
    origins = {field: DeclaredAt(manifest.file, said.line)}
    return Override(manifest.id, about, requires_confirmation=said.value, origins=origins)


def _renderer_override(manifest: Manifest, tool: ToolId, said: LocatedValue[RendererChoice]) -> Override:
    at = DeclaredAt(manifest.file, said.line)
    origins = {"renderer": at} if said.value.config is None else {"renderer": at, "renderer_config": at}
    renderer, config = said.value.renderer, said.value.config
    return Override(manifest.id, tool, renderer=renderer, renderer_config=config, origins=origins)


def _merge_override(below: Override | None, row: Override) -> Override:
    if below is None:
        return row
    # A configuration is one renderer's own: another renderer begins with none.
    if row.renderer is not None and row.renderer != below.renderer:
        below = replace(below, renderer_config=None)
    arguments = {**(below.arguments or {}), **(row.arguments or {})}
    chosen = {name: getattr(row if getattr(row, name) is not None else below, name) for name in OVERRIDE_FIELDS}
    merged = replace(row, **{**chosen, "arguments": arguments or None})
    origins = {**below.origins, **row.origins}
    kept = {*merged.fields_set, *(f"arguments.{name}" for name in arguments)}
    return replace(merged, origins={name: at for name, at in origins.items() if name in kept})


def _check_config(row: Override, said: LocatedValue[ConfigValues], tell: ProblemCollector) -> None:
    """Where the tool itself names the renderer; where the row does, it has been told."""
    config = said.value.get(access.RENDERER_CONFIG)
    if config is None or said.value.get(access.RENDERER) is not None or row.renderer is None:
        return
    for key, what in config_problems(row.renderer, config.value):
        tell.add_problem(config.line, join_key(config.key, key), what)


def _knows_all_tools(manifest: Manifest) -> bool:
    """Whether every tool that the toolset brings itself is known: an image's label is read only later."""
    return not any(isinstance(container.offers, ToolsFromLabel) for container in manifest.containers)


@dataclass(frozen=True)
class _TargetResolver:
    """What a `tool_id` means within one manifest, in which the ids of servers and most tools are known."""

    toolset: ToolsetId
    own_tools: frozenset[ToolId]
    servers: tuple[ServerKey, ...]
    knows_all: bool
    collector: ProblemCollector

    def resolve_target(self, row: LocatedValue[ConfigValues]) -> ToolId | Pattern | BadId:
        said = row.value.get(keys.OVERRIDE_TARGET)
        assert said is not None
        about = parse_target(said.value, self.toolset)
        match about:
            case BadId(_, why):
                self.collector.add_problem(said.line, said.key, f"{why}.")
            case Pattern():
                about = self._resolve_pattern(about, said)
            case ToolId(ServerKey() as key) if key not in self.servers:
                self._warn_of_server(key.server, said)
            case ToolId():
                pass
        return about

    def _resolve_pattern(self, pattern: Pattern, said: LocatedValue[str]) -> ToolId | Pattern:
        toolset, own = self.toolset, ToolsetKey(self.toolset)
        named = ":" in said.value.removeprefix("mcp:") or said.value.startswith("mcp:")
        scope = pattern.scope if named else toolset
        if is_pattern(scope):
            return pattern
        exact = not is_pattern(pattern.name)
        if scope == toolset and exact and ToolId(own, pattern.name) in self.own_tools:
            return ToolId(own, pattern.name)
        server = next((key for key in self.servers if scope in (key.server, str(key))), None)
        if server is not None and named:
            return ToolId(server, pattern.name) if exact else Pattern(str(server), pattern.name)
        if scope != toolset:
            self._warn_of_server(scope, said)
            return pattern
        if not exact or self.servers:
            return pattern
        self._warn_of_tool(pattern.name, said)
        return ToolId(own, pattern.name)

    def _warn_of_server(self, scope: str, said: LocatedValue[str]) -> None:
        known = [self.toolset, *(key.server for key in self.servers)]
        meant = parse_server_key(scope)
        near = closest_names(meant.server if isinstance(meant, ServerKey) else scope, known)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {_shorten_list(known)}."
        self.collector.add_warning(
            said.line, said.key, f"the toolset has no server {scope!r}, so that this fits nothing. {hint}"
        )

    def _warn_of_tool(self, name: str, said: LocatedValue[str]) -> None:
        if not self.knows_all:
            return
        known = sorted(tool.name for tool in self.own_tools)
        near = closest_names(name, known)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {_shorten_list(known)}."
        self.collector.add_warning(
            said.line, said.key, f"the toolset has no tool {name!r}, so that this fits nothing. {hint}"
        )


def _shorten_list(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}" or "none"


# Containers of a manifest, and the commands in them that are tools: from the manifest, or from an image's label.

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


# A manifest read from its text: all of it, or everything that is wrong with it.

MAX_MANIFEST_BYTES: Final = 2_000_000


def read_manifest(
    content: bytes | str, file: str, folder: Path, environ: Mapping[str, str] = os.environ
) -> Manifest | InvalidFile:
    """`file` names the text in problems, and `folder` is what relative paths of the manifest's servers are taken from:
    where the toolset's files lie when it runs."""
    parsed = _parse_content(content, file)
    tell = ProblemCollector(file, [*parsed.problems])
    if parsed.root is None and tell.problems:
        return InvalidFile(file, tell.sorted_problems())
    values = keys.TOOLSET.parse(parsed.root or MapNode((), 1), "", tell)
    if isinstance(values, Invalid):
        return InvalidFile(file, tell.sorted_problems())
    about = _read_metadata(parsed.root)
    passed_over = any(warning.key not in about for warning in tell.warnings)
    read = _build_manifest(values, FileContext(file, folder, environ), tell)
    manifest = replace(read, metadata=about, has_unread_keys=passed_over)
    return InvalidFile(file, tell.sorted_problems()) if tell.problems else manifest


def _read_metadata(root: Node | None) -> JsonObject:
    entries = root.entries if isinstance(root, MapNode) else ()
    return {
        entry.key: to_json(entry.value)
        for entry in entries
        if entry.key in keys.TOOLSET.ignored_keys or entry.key.startswith(EXTENSION_PREFIX)
    }


def _parse_content(content: bytes | str, file: str) -> ParsedFile:
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(raw) > MAX_MANIFEST_BYTES:
        what = f"larger than {MAX_MANIFEST_BYTES // 1_000_000} MB, which is the limit. Is it the right file?"
        return ParsedFile(None, (FileProblem(file, 0, "", what),))
    text = decode_text(raw, file)
    if isinstance(text, FileProblem):
        return ParsedFile(None, (text,))
    if file.lower().endswith((".json", ".jsonc")):
        return parse_json(text, file)
    parsed = parse_yaml(text, file)
    if parsed.root is None and parsed.problems and text.lstrip().startswith("{"):
        # Nearly all JSON is YAML; what is indented by tabs is not.
        as_json = parse_json(text, file)
        return as_json if not as_json.problems else parsed
    return parsed


def _build_manifest(values: ConfigValues, place: FileContext, tell: ProblemCollector) -> Manifest:
    id = ToolsetId(values.value(keys.ID, ""))
    tools = values.value(keys.TOOLS, ())
    servers = values.value(keys.MCP_SERVERS, ())
    containers = tuple(read_container(said, tell) for said in values.value(keys.CONTAINERS, ()))
    _check_unique("tool", [*_ids(tools, keys.TOOL_ID), *_ids(_commands(values), keys.COMMAND_ID)], tell)
    _check_unique(
        "server or container",
        [*_ids(servers, keys.SERVER_ID), *_ids(values.value(keys.CONTAINERS, ()), keys.CONTAINER_ID)],
        tell,
    )
    _check_unique("secret", [*_ids(values.value(keys.SECRETS, ()), keys.SECRET_NAME)], tell)
    manifest = Manifest(
        id=id,
        name=values.value(keys.NAME, ""),
        version=values.value(keys.VERSION, ""),
        description=values.value(keys.DESCRIPTION, ""),
        tools=tuple(_tool(said) for said in tools),
        servers=tuple(_server(id, said, place, tell) for said in servers),
        containers=containers,
        requirements=tuple(said.value for said in values.value(keys.REQUIREMENTS, ())),
        secrets=tuple(_secret(said.value) for said in values.value(keys.SECRETS, ())),
        workspace=values.value(keys.WORKSPACE, False),
        bounds=_bounds(values.get(keys.LIMITS)),
        folder=place.folder,
        file=place.file,
    )
    if tell.problems:
        return manifest
    return add_warnings(apply_overrides(manifest, values, tell), values, tell)


def _tool(said: LocatedValue[ConfigValues]) -> ToolEntry:
    values = said.value
    entrypoint = values.get(keys.ENTRYPOINT)
    return ToolEntry(
        id=values.value(keys.TOOL_ID, ""),
        entrypoint="" if entrypoint is None else entrypoint.value,
        name=optional_value(values, keys.TOOL_NAME),
        description=optional_value(values, keys.TOOL_DESCRIPTION),
        requires_confirmation=optional_value(values, keys.REQUIRES_CONFIRMATION),
        line=said.line if entrypoint is None else entrypoint.line,
    )


def optional_value(values: ConfigValues, key: ConfigKey[T]) -> T | None:
    said = values.get(key)
    return None if said is None else said.value


def _server(toolset: ToolsetId, said: LocatedValue[ConfigValues], place: FileContext, tell: ProblemCollector) -> Server:
    values = said.value
    transport, command = values.get(keys.TRANSPORT), values.get(settings.COMMAND)
    if transport is not None and (transport.value is None) != (command is not None) and len(values.located_values) > 1:
        what = "stdio goes only with command." if transport.value is None else "a command speaks stdio."
        tell.add_problem(transport.line, transport.key, f"{what} Remove this, or correct it.")
    for path in (command, values.get(settings.CWD)):
        _check_inside(path, tell)
    # `stdio` is what a command means by itself.
    stdio = transport is not None and transport.value is None
    found = {
        name: placed for name, placed in values.located_values.items() if not (stdio and name == keys.TRANSPORT.name)
    }
    key = ServerKey(toolset, ServerId(values.value(keys.SERVER_ID, "")))
    return declare_server(
        key, LocatedValue(ConfigValues(found, values.invalid_keys, values.line), said.key, said.line), place, tell
    )


def _check_inside(path: LocatedValue[str] | None, tell: ProblemCollector) -> None:
    """A path that is relative is one of the toolset's files."""
    if path is None or "${" in path.value or path.value.startswith(("/", "\\", "~")):
        return
    if os.path.normpath(path.value.replace("\\", "/")).split("/")[0] == "..":
        what = "this leads out of the toolset's folder. Put what it needs into the toolset, or write an absolute path."
        tell.add_problem(path.line, path.key, what)


def _secret(values: ConfigValues) -> SecretEntry:
    return SecretEntry(values.value(keys.SECRET_NAME, ""), values.value(keys.SECRET_DESCRIPTION, ""))


def _bounds(said: LocatedValue[ConfigValues] | None) -> ToolsetLimits:
    usual = ToolsetLimits()
    if said is None:
        return usual
    return ToolsetLimits(
        memory=said.value.value(keys.LIMIT_MEMORY, usual.memory),
        seconds=said.value.value(keys.LIMIT_TIME, usual.seconds),
        processes=said.value.value(keys.LIMIT_PROCESSES, usual.processes),
    )


def _commands(values: ConfigValues) -> Iterator[LocatedValue[ConfigValues]]:
    for said in values.value(keys.CONTAINERS, ()):
        yield from said.value.value(keys.CONTAINER_TOOLS, ())


def _ids(
    entries: Sequence[LocatedValue[ConfigValues]] | Iterator[LocatedValue[ConfigValues]], key: ConfigKey[str]
) -> Iterator[LocatedValue[str]]:
    for entry in entries:
        if (said := entry.value.get(key)) is not None:
            yield said


def _check_unique(kind: str, ids: Sequence[LocatedValue[str]], tell: ProblemCollector) -> None:
    first: dict[str, LocatedValue[str]] = {}
    for said in ids:
        if (before := first.setdefault(said.value, said)) is not said:
            what = (
                f"there is a {kind} {said.value!r} already, at {before.key} on line {before.line}. Choose another id."
            )
            tell.add_problem(said.line, said.key, what)
