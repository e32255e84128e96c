"""A manifest read from its text: all of it, or everything that is wrong with it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pegboard.config import keys as settings
from pegboard.config.declaring import FileContext, declare_server
from pegboard.config.files import decode_text
from pegboard.config.json_text import parse_json
from pegboard.config.problem import FileProblem
from pegboard.config.section import EXTENSION_PREFIX, ConfigKey, ConfigValues, T
from pegboard.config.settings import InvalidFile
from pegboard.config.telling import Invalid, LocatedValue, ProblemCollector
from pegboard.config.tree import MapNode, Node, ParsedFile, to_json
from pegboard.config.yaml_text import parse_yaml
from pegboard.core.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.own import ToolsetLimits
from pegboard.core.server import Server
from pegboard.core.tool import JsonObject

from . import keys
from .containers import read_container
from .model import Manifest, SecretEntry, ToolEntry
from .overriding import apply_overrides
from .remarks import add_warnings

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
