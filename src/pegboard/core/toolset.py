"""A toolset: a namespace, an override layer and a switch over the tools of many providers."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .ids import ToolsetId
from .server import Origin


class ToolsetOrigin(StrEnum):
    FOLDER = "folder"
    GIT = "git"
    ZIP = "zip"
    MANIFEST = "manifest"
    UPLOAD = "upload"


@dataclass(frozen=True, slots=True)
class ToolsetImport:
    """Where a toolset was last imported from, and when. It is told to the operator, and given away with no export."""

    kind: ToolsetOrigin
    at: datetime
    path: str = ""
    """On the gateway's machine; empty for what was uploaded."""
    commit: str = ""
    """Of a Git checkout: the commit that it was at."""
    is_dirty: bool = False
    """Whether the checkout held something that this commit does not have so."""


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
    imported_from: ToolsetImport | None = None


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
    executable: bool = False
