"""toolset.yaml, the manifest of a toolset: read, checked against the toolset's files, and written again."""

from .checking import check_files
from .containers import TOOLS_LABEL, read_label
from .model import (
    CommandEntry,
    ContainerEntry,
    ContainerOffer,
    DeclaredCommands,
    Manifest,
    McpOnStdio,
    SecretEntry,
    ToolEntry,
    ToolsFromLabel,
)
from .reading import read_manifest
from .template import new_toolset
from .writing import ManifestText, format_manifest, format_without_secrets

__all__ = [
    "TOOLS_LABEL",
    "CommandEntry",
    "ContainerEntry",
    "ContainerOffer",
    "DeclaredCommands",
    "Manifest",
    "ManifestText",
    "McpOnStdio",
    "SecretEntry",
    "ToolEntry",
    "ToolsFromLabel",
    "check_files",
    "format_manifest",
    "format_without_secrets",
    "new_toolset",
    "read_label",
    "read_manifest",
]
