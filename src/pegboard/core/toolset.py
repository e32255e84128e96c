"""A toolset: a namespace, an override layer and a switch over the tools of many providers."""

from dataclasses import dataclass
from enum import StrEnum

from .ids import ToolsetId
from .server import Origin


@dataclass(frozen=True)
class Toolset:
    id: ToolsetId
    origin: Origin
    name: str = ""
    version: str = ""
    description: str = ""
    enabled: bool = True
    user_mcp: bool = True
    """Made by adding one standalone server. It only routes the UI; nothing decides by it."""


class FileKind(StrEnum):
    """What a file of a toolset is for, by its place in it."""

    PYTHON = "python"
    ARTIFACT = "artifact"
    ASSET = "asset"
    CONFIG = "config"


@dataclass(frozen=True, slots=True)
class ToolsetFile:
    """One file of a toolset that was imported. Its content lies in the data directory."""

    path: str
    """From the toolset's own folder, with `/` between its parts."""
    kind: FileKind
    sha256: str
    size: int
