"""A toolset as its manifest describes it."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from pegboard.config.references import escape_literal
from pegboard.config.schema.document import FileProblem
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.server import DeclaredAt, EveryTool, Server, Stdio
from pegboard.core.model.tool import ContainerImage, ToolsetLimits
from pegboard.core.overrides.model import Override

# Paths of a toolset's servers: absolute where they run, and from the toolset's folder where they are written.


def relative_path(path: str, folder: Path) -> str | None:
    """The path from the folder, if it leads into it. Both hold `${…}` references, or signs that stand for none."""
    above = escape_literal(str(folder))
    if path == above:
        return "."
    prefix = above if above.endswith(os.sep) else above + os.sep
    return path.removeprefix(prefix).replace(os.sep, "/") if path.startswith(prefix) else None


def with_relative_paths(server: Server, folder: Path) -> Server:
    """The server with its paths as a manifest says them: a program of the toolset begins with `./`, and who says
    nothing of a working directory means the toolset's folder."""
    if not isinstance(server.connection, Stdio):
        return server
    command, cwd = server.connection.command, server.connection.cwd
    inner = relative_path(command, folder)
    within = "." if cwd is None else relative_path(cwd, folder)
    return replace(
        server,
        connection=replace(
            server.connection,
            command=command if inner is None else f"./{inner.removeprefix('./')}",
            cwd=None if within == "." else cwd if within is None else within,
        ),
    )


MANIFEST_FILE_NAME: Final = "toolset.yaml"


@dataclass(frozen=True)
class ToolEntry:
    """A Python function that becomes a tool. What is `None` is for the function itself to say."""

    id: str
    entrypoint: str
    """`package.module:function`."""
    name: str | None = None
    """What people see. Models keep the id."""
    description: str | None = None
    requires_confirmation: bool | None = None
    """As it is said here; it is among the manifest's overrides too."""
    line: int = field(default=0, compare=False)
    """Where the entrypoint is written."""

    @property
    def module_files(self) -> tuple[str, str]:
        """The files that the module may be."""
        path = self.entrypoint.partition(":")[0].replace(".", "/")
        return f"{path}.py", f"{path}/__init__.py"


@dataclass(frozen=True)
class CommandEntry:
    """A command in a container that becomes a tool: JSON arguments on its input, JSON or text on its output."""

    id: str
    command: tuple[str, ...]
    description: str = ""
    name: str | None = None
    input_schema: JsonObject = field(default_factory=lambda: {"type": "object"})
    output_schema: JsonObject | None = None
    seconds: float | None = None
    requires_confirmation: bool | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class McpOnStdio:
    """The container is an MCP server on its input and output: `toolset~id`."""


@dataclass(frozen=True, slots=True)
class DeclaredCommands:
    tools: tuple[CommandEntry, ...]


@dataclass(frozen=True, slots=True)
class ToolsFromLabel:
    """What there is stands in the image's label `io.pegboard.tools`, which is read when the toolset is imported."""


ContainerOffer: TypeAlias = McpOnStdio | DeclaredCommands | ToolsFromLabel


@dataclass(frozen=True)
class ContainerEntry:
    id: str
    image: ContainerImage
    offers: ContainerOffer = field(default_factory=ToolsFromLabel)
    idle: float | None = None
    """Seconds without a call after which it is stopped."""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class SecretEntry:
    """A secret that the toolset needs, by its name. The value is never in a manifest."""

    name: str
    description: str = ""


@dataclass(frozen=True, eq=False)
class Manifest:
    """Two are equal when they say the same, wherever it stands in their files and wherever those lie."""

    id: ToolsetId
    name: str = ""
    version: str = ""
    description: str = ""
    tools: tuple[ToolEntry, ...] = ()
    servers: tuple[Server, ...] = ()
    """Of `mcp_servers`. Containers that speak MCP are among `containers`."""
    containers: tuple[ContainerEntry, ...] = ()
    overrides: tuple[Override, ...] = ()
    """Everything that it changes of its tools, `tools[].renderer` and each `requires_confirmation` included."""
    requirements: tuple[str, ...] = ()
    secrets: tuple[SecretEntry, ...] = ()
    workspace: bool = False
    bounds: ToolsetLimits = field(default_factory=ToolsetLimits)
    folder: Path = Path("/")
    """What relative paths of its servers are taken from."""
    file: str = MANIFEST_FILE_NAME
    warnings: tuple[FileProblem, ...] = ()
    """What is passed over, and what may not be meant."""
    metadata: JsonObject = field(default_factory=dict[str, Json])
    """What it says of itself that nothing here uses: its author, its licence, and keys of its own. It is given on."""
    has_unread_keys: bool = False
    """Whether its text says more than is read and given on: keys of another system."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self._comparable == other._comparable

    def __hash__(self) -> int:
        return hash((self.id, self.version))

    @property
    def commands(self) -> tuple[CommandEntry, ...]:
        """Of all containers."""
        offers = (container.offers for container in self.containers)
        return tuple(entry for offered in offers if isinstance(offered, DeclaredCommands) for entry in offered.tools)

    @property
    def own_tools(self) -> tuple[ToolId, ...]:
        """Those that are known from the manifest alone."""
        names = (*(entry.id for entry in self.tools), *(entry.id for entry in self.commands))
        return tuple(ToolId(ToolsetKey(self.id), name) for name in names)

    @property
    def server_keys(self) -> tuple[ServerKey, ...]:
        """Of its servers, those in containers included."""
        named = (each.id for each in self.containers if isinstance(each.offers, McpOnStdio))
        keys = (server.key for server in self.servers)
        return (
            *(key for key in keys if isinstance(key, ServerKey)),
            *(ServerKey(self.id, ServerId(id)) for id in named),
        )

    @property
    def _comparable(self) -> tuple[object, ...]:
        return (
            *(self.id, self.name, self.version, self.description, self.tools),
            tuple(_without_positions(with_relative_paths(server, self.folder)) for server in self.servers),
            self.containers,
            tuple(replace(row, origins={}, is_declared=False, from_manifest=False) for row in self.overrides),
            *(self.requirements, self.secrets, self.workspace, self.bounds, self.metadata),
        )


def _without_positions(server: Server) -> Server:
    limit = server.limit if isinstance(server.limit, EveryTool) else replace(server.limit, at=None, lines=())
    return replace(server, origin=DeclaredAt(MANIFEST_FILE_NAME, 0), limit=limit)
