"""toolset.yaml, the manifest of a toolset: read, checked against the toolset's files, and written again."""

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

__all__ = [
    "CommandEntry",
    "Commands",
    "ContainerEntry",
    "Labelled",
    "Manifest",
    "Offered",
    "SecretEntry",
    "SpeaksMcp",
    "ToolEntry",
]
