"""What toolsets bring themselves, to rows and back: how it is run, each tool, the containers and the files."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from pegboard.core.ids import ToolsetId, ToolsetKey
from pegboard.core.own import Bounds, ContainerTool, Image, Own, PythonTool
from pegboard.core.policy import Decided
from pegboard.core.server import Server
from pegboard.core.tool import ToolSpec
from pegboard.core.toolset import FileKind, ToolsetFile

from .decisions import Specs, key_text, spec_of, spec_row
from .images import image_document, image_of
from .installed import server_from, terms_row
from .targets import valid_toolset
from .text import Row, checked, checked_texts, document, key, read_json, whole

OwnTool: TypeAlias = PythonTool | ContainerTool
ToolPlace: TypeAlias = tuple[ToolsetId, int, str]
"""The toolset, the tool's place among those of its kind, and its name."""
FilePlace: TypeAlias = tuple[ToolsetId, str]
ImagePlace: TypeAlias = tuple[ToolsetId, str]


def own_servers(decided: Decided) -> Mapping[ToolsetKey, Server]:
    return {key: server for key, server in decided.servers.items() if isinstance(key, ToolsetKey)}


def own_tools(decided: Decided) -> Mapping[ToolPlace, OwnTool]:
    found: dict[ToolPlace, OwnTool] = {}
    for toolset, own in _owns(decided).items():
        found |= {(toolset, place, tool.spec.name): tool for place, tool in enumerate(own.python)}
        found |= {(toolset, place, tool.spec.name): tool for place, tool in enumerate(own.commands)}
    return found


def own_images(decided: Decided) -> Mapping[ImagePlace, Image]:
    return {(toolset, id): image for toolset, own in _owns(decided).items() for id, image in own.containers.items()}


def own_files(decided: Decided) -> Mapping[FilePlace, ToolsetFile]:
    return {(toolset, file.path): file for toolset, files in decided.files.items() for file in files}


def _owns(decided: Decided) -> Mapping[ToolsetId, Own]:
    found = ((key.toolset, server.connection) for key, server in decided.servers.items())
    return {toolset: own for toolset, own in found if isinstance(own, Own)}


def own_row(source: ToolsetKey, server: Server) -> Row:
    """Without its tools and containers, which have rows of their own."""
    own = server.connection
    assert isinstance(own, Own)
    said = {
        "digest": own.digest,
        "requirements": list(own.requirements),
        "secrets": list(own.secrets),
        "workspace": own.workspace,
        "bounds": asdict(own.bounds),
        "linked": own.linked,
    }
    return {"toolset_id": source.toolset, "own": document(said), **terms_row(server)}


def own_of(row: Row) -> tuple[ToolsetKey, Server]:
    source = ToolsetKey(valid_toolset(row["toolset_id"]))
    said: dict[str, Any] = checked(read_json(row["own"]), dict)
    own = Own(
        checked(said["digest"], str),
        requirements=checked_texts(said["requirements"]),
        secrets=checked_texts(said["secrets"]),
        workspace=checked(said["workspace"], bool),
        bounds=Bounds(**{name: checked(bound, int, float) for name, bound in said["bounds"].items()}),
        linked=checked(said["linked"], str, None),
    )
    return source, server_from(row, source, own)


def tool_row(place: ToolPlace, tool: OwnTool) -> Row:
    toolset, order, name = place
    row = {"toolset_id": toolset, "tool_id": key(name), "whole": whole(name), "place": order}
    match tool:
        case PythonTool(entrypoint, spec):
            how = {"entrypoint": entrypoint, "container": None, "command": None, "seconds": None}
        case ContainerTool(container, command, spec, seconds):
            bound = None if seconds is None else document(seconds)
            how = {"entrypoint": None, "container": container, "command": document(list(command)), "seconds": bound}
    return {**row, **how, "spec": spec_row(spec)}


def tool_of(row: Row, specs: Specs | None = None) -> tuple[ToolPlace, OwnTool]:
    name = key_text(row, "tool_id")
    spec = spec_of(row["spec"]) if specs is None else specs.read(row["spec"])
    if spec.name != name:
        raise ValueError("the row's key and its spec name different tools")
    return (valid_toolset(row["toolset_id"]), row["place"], name), _executed(row, spec)


def locked_tool_of(row: Row) -> tuple[ToolPlace, OwnTool]:
    """The tool of a row whose spec alone cannot be read, so that it can be shown as locked. Nothing may call it."""
    name = key_text(row, "tool_id")
    return (valid_toolset(row["toolset_id"]), checked(row["place"], int), name), _executed(row, ToolSpec(name))


def _executed(row: Row, spec: ToolSpec) -> OwnTool:
    if row["entrypoint"] is not None:
        return PythonTool(checked(row["entrypoint"], str), spec)
    seconds = None if row["seconds"] is None else checked(read_json(row["seconds"]), int, float)
    return ContainerTool(checked(row["container"], str), checked_texts(read_json(row["command"])), spec, seconds)


def image_row(place: ImagePlace, image: Image) -> Row:
    return {"toolset_id": place[0], "container_id": place[1], "image": document(image_document(image))}


def image_in(row: Row) -> tuple[ImagePlace, Image]:
    return (valid_toolset(row["toolset_id"]), row["container_id"]), image_of(checked(read_json(row["image"]), dict))


def file_row(place: FilePlace, file: ToolsetFile) -> Row:
    toolset, path = place
    named = {"toolset_id": toolset, "path": key(path), "whole": whole(path)}
    facts = {"kind": file.kind.value, "sha256": file.sha256, "size": file.size}
    return {**named, **facts, "executable": file.executable or None}


def file_of(row: Row) -> tuple[FilePlace, ToolsetFile]:
    path = key_text(row, "path")
    facts = FileKind(row["kind"]), row["sha256"], row["size"], bool(row["executable"])
    return (valid_toolset(row["toolset_id"]), path), ToolsetFile(path, *facts)


def filled(
    servers: Mapping[ToolsetKey, Server], tools: Mapping[ToolPlace, OwnTool], images: Mapping[ImagePlace, Image]
) -> dict[ToolsetKey, Server]:
    """The servers of `own_of` with their tools and containers, in one order whatever the engine gave."""
    ordered = [(place[0], tool) for place, tool in sorted(tools.items(), key=lambda item: item[0])]
    pictured = sorted(images.items())

    def whole_of(toolset: ToolsetId, own: Own) -> Own:
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
        if isinstance(server.connection, Own)
    }


def by_toolset(files: Mapping[FilePlace, ToolsetFile]) -> dict[ToolsetId, tuple[ToolsetFile, ...]]:
    found: dict[ToolsetId, list[ToolsetFile]] = {}
    for (toolset, _), file in sorted(files.items()):
        found.setdefault(toolset, []).append(file)
    return {toolset: tuple(found[toolset]) for toolset in sorted(found)}
