"""What toolsets bring themselves, to rows and back: how it is run, each tool, the containers and the files."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from pegboard.core.ids import ToolsetId, ToolsetKey
from pegboard.core.own import ContainerImage, ContainerTool, OwnTools, PythonTool, ToolsetLimits
from pegboard.core.policy import PolicyDecisions
from pegboard.core.server import Server
from pegboard.core.tool import ToolSpec
from pegboard.core.toolset import FileKind, ToolsetFile

from .decisions import SpecCache, key_text, spec_of, spec_row
from .images import image_document, image_of
from .installed import limits_row, server_from
from .targets import valid_toolset
from .text import Row, check_texts, check_type, index_key, overflow_text, read_json, to_json_text

OwnTool: TypeAlias = PythonTool | ContainerTool
OwnToolKey: TypeAlias = tuple[ToolsetId, int, str]
"""The toolset, the tool's place among those of its kind, and its name."""
OwnFileKey: TypeAlias = tuple[ToolsetId, str]
OwnImageKey: TypeAlias = tuple[ToolsetId, str]


def own_servers(decided: PolicyDecisions) -> Mapping[ToolsetKey, Server]:
    return {key: server for key, server in decided.servers.items() if isinstance(key, ToolsetKey)}


def own_tools(decided: PolicyDecisions) -> Mapping[OwnToolKey, OwnTool]:
    found: dict[OwnToolKey, OwnTool] = {}
    for toolset, own in _own_connections(decided).items():
        found |= {(toolset, place, tool.spec.name): tool for place, tool in enumerate(own.python)}
        found |= {(toolset, place, tool.spec.name): tool for place, tool in enumerate(own.commands)}
    return found


def own_images(decided: PolicyDecisions) -> Mapping[OwnImageKey, ContainerImage]:
    return {
        (toolset, id): image
        for toolset, own in _own_connections(decided).items()
        for id, image in own.containers.items()
    }


def own_files(decided: PolicyDecisions) -> Mapping[OwnFileKey, ToolsetFile]:
    return {(toolset, file.path): file for toolset, files in decided.files.items() for file in files}


def _own_connections(decided: PolicyDecisions) -> Mapping[ToolsetId, OwnTools]:
    found = ((key.toolset, server.connection) for key, server in decided.servers.items())
    return {toolset: own for toolset, own in found if isinstance(own, OwnTools)}


def own_row(source: ToolsetKey, server: Server) -> Row:
    """Without its tools and containers, which have rows of their own."""
    own = server.connection
    assert isinstance(own, OwnTools)
    said = {
        "digest": own.digest,
        "requirements": list(own.requirements),
        "secrets": list(own.secrets),
        "workspace": own.workspace,
        "bounds": asdict(own.bounds),
        "linked": own.linked,
    }
    return {"toolset_id": source.toolset, "own": to_json_text(said), **limits_row(server)}


def own_of(row: Row) -> tuple[ToolsetKey, Server]:
    source = ToolsetKey(valid_toolset(row["toolset_id"]))
    said: dict[str, Any] = check_type(read_json(row["own"]), dict)
    own = OwnTools(
        check_type(said["digest"], str),
        requirements=check_texts(said["requirements"]),
        secrets=check_texts(said["secrets"]),
        workspace=check_type(said["workspace"], bool),
        bounds=ToolsetLimits(**{name: check_type(bound, int, float) for name, bound in said["bounds"].items()}),
        linked=check_type(said["linked"], str, None),
    )
    return source, server_from(row, source, own)


def tool_row(place: OwnToolKey, tool: OwnTool) -> Row:
    toolset, order, name = place
    row = {"toolset_id": toolset, "tool_id": index_key(name), "whole": overflow_text(name), "place": order}
    match tool:
        case PythonTool(entrypoint, spec):
            how = {"entrypoint": entrypoint, "container": None, "command": None, "seconds": None}
        case ContainerTool(container, command, spec, seconds):
            bound = None if seconds is None else to_json_text(seconds)
            how = {"entrypoint": None, "container": container, "command": to_json_text(list(command)), "seconds": bound}
    return {**row, **how, "spec": spec_row(spec)}


def tool_of(row: Row, specs: SpecCache | None = None) -> tuple[OwnToolKey, OwnTool]:
    name = key_text(row, "tool_id")
    spec = spec_of(row["spec"]) if specs is None else specs.parse(row["spec"])
    if spec.name != name:
        raise ValueError("the row's key and its spec name different tools")
    return (valid_toolset(row["toolset_id"]), row["place"], name), _tool_from(row, spec)


def locked_tool_of(row: Row) -> tuple[OwnToolKey, OwnTool]:
    """The tool of a row whose spec alone cannot be read, so that it can be shown as locked. Nothing may call it."""
    name = key_text(row, "tool_id")
    return (valid_toolset(row["toolset_id"]), check_type(row["place"], int), name), _tool_from(row, ToolSpec(name))


def _tool_from(row: Row, spec: ToolSpec) -> OwnTool:
    if row["entrypoint"] is not None:
        return PythonTool(check_type(row["entrypoint"], str), spec)
    seconds = None if row["seconds"] is None else check_type(read_json(row["seconds"]), int, float)
    return ContainerTool(check_type(row["container"], str), check_texts(read_json(row["command"])), spec, seconds)


def image_row(place: OwnImageKey, image: ContainerImage) -> Row:
    return {"toolset_id": place[0], "container_id": place[1], "image": to_json_text(image_document(image))}


def image_entry_of(row: Row) -> tuple[OwnImageKey, ContainerImage]:
    return (valid_toolset(row["toolset_id"]), row["container_id"]), image_of(check_type(read_json(row["image"]), dict))


def file_row(place: OwnFileKey, file: ToolsetFile) -> Row:
    toolset, path = place
    named = {"toolset_id": toolset, "path": index_key(path), "whole": overflow_text(path)}
    facts = {"kind": file.kind.value, "sha256": file.sha256, "size": file.size}
    return {**named, **facts, "executable": file.executable or None}


def file_of(row: Row) -> tuple[OwnFileKey, ToolsetFile]:
    path = key_text(row, "path")
    facts = FileKind(row["kind"]), row["sha256"], row["size"], bool(row["executable"])
    return (valid_toolset(row["toolset_id"]), path), ToolsetFile(path, *facts)


def add_parts(
    servers: Mapping[ToolsetKey, Server],
    tools: Mapping[OwnToolKey, OwnTool],
    images: Mapping[OwnImageKey, ContainerImage],
) -> dict[ToolsetKey, Server]:
    """The servers of `own_of` with their tools and containers, in one order whatever the engine gave."""
    ordered = [(place[0], tool) for place, tool in sorted(tools.items(), key=lambda item: item[0])]
    pictured = sorted(images.items())

    def whole_of(toolset: ToolsetId, own: OwnTools) -> OwnTools:
        mine = [tool for owner, tool in ordered if owner == toolset]
        return replace(
            own,
            python=tuple(tool for tool in mine if isinstance(tool, PythonTool)),
            commands=tuple(tool for tool in mine if isinstance(tool, ContainerTool)),
            containers={id: image for (owner, id), image in pictured if owner == toolset},
        )

    return {
        source: replace(server, connection=whole_of(source.toolset, server.connection))
        for source, server in servers.items()
        if isinstance(server.connection, OwnTools)
    }


def files_by_toolset(files: Mapping[OwnFileKey, ToolsetFile]) -> dict[ToolsetId, tuple[ToolsetFile, ...]]:
    found: dict[ToolsetId, list[ToolsetFile]] = {}
    for (toolset, _), file in sorted(files.items()):
        found.setdefault(toolset, []).append(file)
    return {toolset: tuple(found[toolset]) for toolset in sorted(found)}
