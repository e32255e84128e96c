"""toolset.yaml, the manifest of a toolset: read, checked against the toolset's files, and written again."""

from .checking import check_files
from .containers import LABEL, read_label
from .model import (
    CommandEntry,
    Commands,
    ContainerEntry,
    Labelled,
    Manifest,
    Offered,
    SecretEntry,
    SpeaksMcp,
    ToolEntry,
)
from .reading import read_manifest
from .template import new_toolset
from .writing import Written, written, written_without_secrets

__all__ = [
    "LABEL",
    "CommandEntry",
    "Commands",
    "ContainerEntry",
    "Labelled",
    "Manifest",
    "Offered",
    "SecretEntry",
    "SpeaksMcp",
    "ToolEntry",
    "Written",
    "check_files",
    "new_toolset",
    "read_label",
    "read_manifest",
    "written",
    "written_without_secrets",
]
