"""What a toolset brings itself, beside MCP servers: Python functions, and commands that run in containers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .tool import ToolSpec

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ToolsetLimits:
    """What one toolset may take: bytes of memory for a process, seconds for a call, processes at a time."""

    memory: int = 512 * MIB
    seconds: float = 60.0
    processes: int = 4


@dataclass(frozen=True)
class ContainerImage:
    """A container as the manifest asks for it. What it does not ask for, it does not get."""

    image: str
    args: tuple[str, ...] = ()
    """Added to the engine's `run IMAGE`: what the image's entrypoint gets."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Values may hold `${…}` references; they are read only when the container starts."""
    network: bool = False
    workspace: bool = False
    """Whether the toolset's own folder is mounted at `/workspace`, for reading and writing."""
    memory: int = 256 * MIB
    pids: int = 64
    cpus: float | None = None


@dataclass(frozen=True)
class PythonTool:
    """A function of the toolset's own files, as it was described when it was installed."""

    entrypoint: str
    """`package.module:function`."""
    spec: ToolSpec
    """Its name is the tool's id within the toolset."""


@dataclass(frozen=True)
class ContainerTool:
    """A command that reads JSON arguments from its input and writes JSON or text."""

    container: str
    """The container's id in the manifest."""
    command: tuple[str, ...]
    spec: ToolSpec
    seconds: float | None = None


@dataclass(frozen=True)
class OwnTools:
    """How a toolset's own tools are reached: in worker processes with its files, and in its containers."""

    digest: str
    """Names its files, all of them and their content: `toolsets/{toolset}/{digest}` in the data directory."""
    python: tuple[PythonTool, ...] = ()
    requirements: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    """The names of those that its tools ask for. Their values are kept elsewhere, encrypted."""
    workspace: bool = False
    bounds: ToolsetLimits = field(default_factory=ToolsetLimits)
    containers: Mapping[str, ContainerImage] = field(default_factory=dict[str, ContainerImage])
    commands: tuple[ContainerTool, ...] = ()
    linked: str | None = None
    """The folder of its author, where it runs from and is followed; `None` for files that were copied."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return (*(tool.spec for tool in self.python), *(tool.spec for tool in self.commands))
