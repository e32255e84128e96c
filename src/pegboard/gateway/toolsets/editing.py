"""The manifest of a folder that its author works in: which functions it names now, and what of it is not followed."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pegboard.ports.describing import ManifestEntries, ToolDescriptionError

from .files import FilesUnavailable
from .reading import InvalidToolsetError, entries_of, read_linked_toolset

if TYPE_CHECKING:
    from pegboard.config.manifest import Manifest

_IGNORED_KEYS: Final = {
    "mcp_servers": "servers",
    "containers": "containers",
    "tool_overrides": "overrides",
    "requirements": "requirements",
    "secrets": "secrets",
    "workspace": "workspace",
    "limits": "bounds",
}
"""Keys of a manifest that count when it is imported, and what they are of it."""


class ManifestEdits:
    """Compares with what was read first, which is as it was imported or as the gateway found it at its start."""

    def __init__(self) -> None:
        self._first: Manifest | None = None

    def __call__(self, folder: Path) -> ManifestEntries:
        """Raises `CannotDescribe`."""
        try:
            now = read_linked_toolset(folder, folder.name).manifest
        except InvalidToolsetError as unfit:
            raise ToolDescriptionError(*map(str, unfit.problems)) from None
        except FilesUnavailable as away:
            raise ToolDescriptionError(str(away)) from None
        first = self._first = self._first or now
        return ManifestEntries(
            entries_of(now), tuple(key for key, part in _IGNORED_KEYS.items() if _differs(first, now, part))
        )


def _differs(first: "Manifest", now: "Manifest", part: str) -> bool:
    """By what is said, wherever in the file it stands."""
    said: dict[str, Any] = {part: getattr(now, part)}
    return replace(first, **said) != first
