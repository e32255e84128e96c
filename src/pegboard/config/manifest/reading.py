"""A manifest read from its text: all of it, or everything that is wrong with it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pegboard.config import keys as settings
from pegboard.config.declaring import Place, server
from pegboard.config.files import decoded
from pegboard.config.json_text import parse_json
from pegboard.config.problem import Problem
from pegboard.config.section import OWN_PREFIX, Key, T, Values
from pegboard.config.settings import Broken
from pegboard.config.telling import Placed, Telling, Wrong
from pegboard.config.tree import Node, Parsed, Table, plain
from pegboard.config.yaml_text import parse_yaml
from pegboard.core.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.own import Bounds
from pegboard.core.server import Server
from pegboard.core.tool import JsonObject

from . import keys
from .containers import container
from .model import Manifest, SecretEntry, ToolEntry
from .overriding import overrides
from .remarks import remarks

MAX_BYTES: Final = 2_000_000


def read_manifest(
    content: bytes | str, file: str, folder: Path, environ: Mapping[str, str] = os.environ
) -> Manifest | Broken:
    """`file` names the text in problems, and `folder` is what relative paths of the manifest's servers are taken from:
    where the toolset's files lie when it runs."""
    parsed = _parsed(content, file)
    tell = Telling(file, [*parsed.problems])
    if parsed.root is None and tell.problems:
        return Broken(file, tell.told())
    values = keys.TOOLSET.read(parsed.root or Table((), 1), "", tell)
    if isinstance(values, Wrong):
        return Broken(file, tell.told())
    about = _about(parsed.root)
    passed_over = any(warning.key not in about for warning in tell.warnings)
    read = _manifest(values, Place(file, folder, environ), tell)
    manifest = replace(read, about=about, passed_over=passed_over)
    return Broken(file, tell.told()) if tell.problems else manifest


def _about(root: Node | None) -> JsonObject:
    entries = root.entries if isinstance(root, Table) else ()
    return {
        entry.key: plain(entry.value)
        for entry in entries
        if entry.key in keys.TOOLSET.passed_over or entry.key.startswith(OWN_PREFIX)
    }


def _parsed(content: bytes | str, file: str) -> Parsed:
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(raw) > MAX_BYTES:
        what = f"larger than {MAX_BYTES // 1_000_000} MB, which is the limit. Is it the right file?"
        return Parsed(None, (Problem(file, 0, "", what),))
    text = decoded(raw, file)
    if isinstance(text, Problem):
        return Parsed(None, (text,))
    if file.lower().endswith((".json", ".jsonc")):
        return parse_json(text, file)
    parsed = parse_yaml(text, file)
    if parsed.root is None and parsed.problems and text.lstrip().startswith("{"):
        # Nearly all JSON is YAML; what is indented by tabs is not.
        as_json = parse_json(text, file)
        return as_json if not as_json.problems else parsed
    return parsed


def _manifest(values: Values, place: Place, tell: Telling) -> Manifest:
    id = ToolsetId(values.value(keys.ID, ""))
    tools = values.value(keys.TOOLS, ())
    servers = values.value(keys.MCP_SERVERS, ())
    containers = tuple(container(said, tell) for said in values.value(keys.CONTAINERS, ()))
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
    return remarks(overrides(manifest, values, tell), values, tell)


def _tool(said: Placed[Values]) -> ToolEntry:
    values = said.value
    entrypoint = values.get(keys.ENTRYPOINT)
    return ToolEntry(
        id=values.value(keys.TOOL_ID, ""),
        entrypoint="" if entrypoint is None else entrypoint.value,
        name=text(values, keys.TOOL_NAME),
        description=text(values, keys.TOOL_DESCRIPTION),
        requires_confirmation=text(values, keys.REQUIRES_CONFIRMATION),
        line=said.line if entrypoint is None else entrypoint.line,
    )


def text(values: Values, key: Key[T]) -> T | None:
    said = values.get(key)
    return None if said is None else said.value


def _server(toolset: ToolsetId, said: Placed[Values], place: Place, tell: Telling) -> Server:
    values = said.value
    transport, command = values.get(keys.TRANSPORT), values.get(settings.COMMAND)
    if transport is not None and (transport.value is None) != (command is not None) and len(values.found) > 1:
        what = "stdio goes only with command." if transport.value is None else "a command speaks stdio."
        tell.wrong(transport.line, transport.at, f"{what} Remove this, or correct it.")
    for path in (command, values.get(settings.CWD)):
        _check_inside(path, tell)
    # `stdio` is what a command means by itself.
    stdio = transport is not None and transport.value is None
    found = {name: placed for name, placed in values.found.items() if not (stdio and name == keys.TRANSPORT.name)}
    key = ServerKey(toolset, ServerId(values.value(keys.SERVER_ID, "")))
    return server(key, Placed(Values(found, values.wrong, values.line), said.at, said.line), place, tell)


def _check_inside(path: Placed[str] | None, tell: Telling) -> None:
    """A path that is relative is one of the toolset's files."""
    if path is None or "${" in path.value or path.value.startswith(("/", "\\", "~")):
        return
    if os.path.normpath(path.value.replace("\\", "/")).split("/")[0] == "..":
        what = "this leads out of the toolset's folder. Put what it needs into the toolset, or write an absolute path."
        tell.wrong(path.line, path.at, what)


def _secret(values: Values) -> SecretEntry:
    return SecretEntry(values.value(keys.SECRET_NAME, ""), values.value(keys.SECRET_DESCRIPTION, ""))


def _bounds(said: Placed[Values] | None) -> Bounds:
    usual = Bounds()
    if said is None:
        return usual
    return Bounds(
        memory=said.value.value(keys.LIMIT_MEMORY, usual.memory),
        seconds=said.value.value(keys.LIMIT_TIME, usual.seconds),
        processes=said.value.value(keys.LIMIT_PROCESSES, usual.processes),
    )


def _commands(values: Values) -> Iterator[Placed[Values]]:
    for said in values.value(keys.CONTAINERS, ()):
        yield from said.value.value(keys.CONTAINER_TOOLS, ())


def _ids(entries: Sequence[Placed[Values]] | Iterator[Placed[Values]], key: Key[str]) -> Iterator[Placed[str]]:
    for entry in entries:
        if (said := entry.value.get(key)) is not None:
            yield said


def _check_unique(kind: str, ids: Sequence[Placed[str]], tell: Telling) -> None:
    first: dict[str, Placed[str]] = {}
    for said in ids:
        if (before := first.setdefault(said.value, said)) is not said:
            what = f"there is a {kind} {said.value!r} already, at {before.at} on line {before.line}. Choose another id."
            tell.wrong(said.line, said.at, what)
