"""From a checked toolset to the command that installs it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, assert_never

from pegboard.core.commands.toolset_install import InstallToolset
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetKey
from pegboard.core.model.server import (
    Connection,
    Container,
    EveryTool,
    Http,
    InstalledBy,
    Server,
    StartOnDemand,
    Stdio,
    Timeouts,
    ToolFilter,
)
from pegboard.core.model.text import quote_name
from pegboard.core.model.tool import ContainerTool, OwnTools, PythonTool, ToolSpec
from pegboard.core.model.toolset import FileKind, Toolset, ToolsetFile, ToolsetImport
from pegboard.core.model.web_api import WebApi
from pegboard.core.overrides.model import Override
from pegboard.core.toolsets.preview import ConnectionDescriber, describe_connection
from pegboard.ports.providers import DescribedTool

if TYPE_CHECKING:
    from pegboard.config.manifest.model import CommandEntry, Manifest
    from pegboard.gateway.toolsets.reader import StagedToolset


DEFAULT_IDLE_S: Final = 600.0
"""Seconds after which what runs a toolset's own tools is stopped, unless it says otherwise."""
CALL_GRACE_S: Final = 5.0
"""Seconds beyond a toolset's own deadline for a call, in which its worker tells that it has passed."""


def make_install_command(
    read: "StagedToolset",
    described: Sequence[DescribedTool],
    labelled: Mapping[str, tuple["CommandEntry", ...]],
    origin: InstalledBy,
    *,
    linked: str | None,
    brought: ToolsetImport | None = None,
) -> InstallToolset:
    """`labelled` are the tools of containers that carry them in a label, by the container's id.

    Relative paths of its servers must be those of the place where the files will lie.
    """
    manifest = read.manifest
    own = OwnTools(
        digest=read.digest,
        python=tuple(
            PythonTool(entry.entrypoint, each.spec) for entry, each in zip(manifest.tools, described, strict=True)
        ),
        requirements=manifest.requirements,
        secrets=tuple(secret.name for secret in manifest.secrets),
        workspace=manifest.workspace,
        bounds=manifest.bounds,
        containers={each.id: each.image for each in manifest.containers if not _speaks_mcp(each.offers)},
        commands=_commands(manifest, labelled),
        linked=linked,
    )
    overrides = _confirmation_overrides(manifest, described, labelled)
    return InstallToolset(
        toolset=Toolset(
            manifest.id,
            origin,
            manifest.name or manifest.id,
            manifest.version,
            manifest.description,
            user_mcp=False,
            imported_from=brought,
        ),
        servers=(_toolset_server(manifest, own, origin), *_servers(manifest, origin)),
        overrides=tuple(replace(row, origins=dict.fromkeys(row.fields_set, origin)) for row in overrides),
        files=tuple(
            ToolsetFile(name, file_kind_of(name, read.manifest_name), facts.sha256, facts.size, facts.executable)
            for name, facts in read.files.items()
        ),
    )


def _toolset_server(manifest: "Manifest", own: OwnTools, origin: InstalledBy) -> Server:
    idles = [each.idle for each in manifest.containers if each.idle is not None and not _speaks_mcp(each.offers)]
    seconds = max([own.bounds.seconds, *(each.seconds for each in own.commands if each.seconds is not None)])
    return Server(
        ToolsetKey(manifest.id),
        own,
        origin,
        timeouts=Timeouts(call=seconds + CALL_GRACE_S),
        starts=StartOnDemand(max(idles, default=DEFAULT_IDLE_S)),
    )


def _servers(manifest: "Manifest", origin: InstalledBy) -> Sequence[Server]:
    inside = [
        Server(
            ServerKey(manifest.id, ServerId(each.id)),
            Container(each.image),
            origin,
            starts=StartOnDemand(DEFAULT_IDLE_S if each.idle is None else each.idle),
        )
        for each in manifest.containers
        if _speaks_mcp(each.offers)
    ]
    declared = [replace(server, origin=origin, limit=_without_place(server.limit)) for server in manifest.servers]
    return (*declared, *inside)


def _speaks_mcp(offers: object) -> bool:
    from pegboard.config.manifest.model import McpOnStdio

    return isinstance(offers, McpOnStdio)


def _commands(manifest: "Manifest", labelled: Mapping[str, tuple["CommandEntry", ...]]) -> tuple[ContainerTool, ...]:
    return tuple(
        ContainerTool(container, entry.command, _spec(entry), entry.seconds)
        for container, entries in _entries(manifest, labelled).items()
        for entry in entries
    )


def _entries(
    manifest: "Manifest", labelled: Mapping[str, tuple["CommandEntry", ...]]
) -> Mapping[str, tuple["CommandEntry", ...]]:
    from pegboard.config.manifest.model import DeclaredCommands

    return {
        each.id: each.offers.tools if isinstance(each.offers, DeclaredCommands) else labelled.get(each.id, ())
        for each in manifest.containers
        if not _speaks_mcp(each.offers)
    }


def _spec(entry: "CommandEntry") -> ToolSpec:
    return ToolSpec(entry.id, entry.name, entry.description, entry.input_schema, entry.output_schema)


def _confirmation_overrides(
    manifest: "Manifest", described: Sequence[DescribedTool], labelled: Mapping[str, tuple["CommandEntry", ...]]
) -> tuple[Override, ...]:
    """What the manifest says of its tools; where it is silent, a function that wants to be confirmed is."""
    rows = {row.target: row for row in manifest.overrides}
    wanted = {entry.id: each.requires_confirmation for entry, each in zip(manifest.tools, described, strict=True)}
    wanted |= {entry.id: entry.requires_confirmation for entries in labelled.values() for entry in entries}
    for name, confirms in wanted.items():
        target = ToolId(ToolsetKey(manifest.id), name)
        row = rows.get(target) or Override(manifest.id, target)
        if confirms is not None and row.requires_confirmation is None:
            rows[target] = replace(row, requires_confirmation=confirms)
    return tuple(rows.values())


def _without_place(limit: ToolFilter) -> ToolFilter:
    """The manifest is left behind: what it limits stands in no file of the operator's."""
    return limit if isinstance(limit, EveryTool) else replace(limit, at=None)


def file_kind_of(name: str, manifest: str) -> FileKind:
    if name == manifest:
        return FileKind.CONFIG
    if name.startswith("artifacts/"):
        return FileKind.ARTIFACT
    return FileKind.PYTHON if name.endswith(".py") else FileKind.ASSET


# What the servers and containers of a toolset run, reach and read, told before it is imported: and never a secret.


def reach_describer(secrets: Collection[str]) -> ConnectionDescriber:
    """`secrets` are those that it asks for: what it reads beside them is the gateway's own."""

    def describe_reach(connection: Connection) -> tuple[str, ...]:
        return (describe_connection(_masked_connection(connection)), *_outside_reads(connection, secrets))

    return describe_reach


def _masked_connection(connection: Connection) -> Connection:
    """By the rule by which an export tells secrets in arguments from the rest."""
    from pegboard.config.manifest.secrets import display_args, display_text

    match connection:
        case Stdio(command, args, _, _):
            return replace(
                connection, command=display_text(command), args=_masked_arguments(display_args(command, args))
            )
        case Container(image):
            return Container(replace(image, args=_masked_arguments(display_args("", image.args))))
        case Http(url):
            return replace(connection, url=display_text(url))
        case OwnTools() | WebApi():
            return connection
        case _:
            assert_never(connection)


def _masked_arguments(args: tuple[str, ...]) -> tuple[str, ...]:
    """In the word that a text without secrets uses for them, so that it is not hidden again."""
    from pegboard.config.masked_servers import MASK

    return tuple(arg.replace(MASK, "[hidden]") for arg in args)


def _outside_reads(connection: Connection, secrets: Collection[str]) -> Iterator[str]:
    from pegboard.config.references import FileReference, VariableReference, parse_references
    from pegboard.config.watch import connection_texts

    split = [
        part
        for text in connection_texts(connection)
        if isinstance(found := parse_references(text), tuple)
        for part in found
    ]
    names = {part.name: None for part in split if isinstance(part, VariableReference) and part.name not in secrets}
    files = {part.path: None for part in split if isinstance(part, FileReference)}
    if names:
        what = "variable" if len(names) == 1 else "variables"
        yield f"gets the {what} {', '.join(map(quote_name, names))} of the gateway's own environment"
    if files:
        what = "file" if len(files) == 1 else "files"
        yield f"gets the {what} {', '.join(map(quote_name, files))} of this machine"
