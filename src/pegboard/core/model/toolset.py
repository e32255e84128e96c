"""Toolsets, and the order of their versions."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from pegboard.core.model.ids import ToolsetId
from pegboard.core.model.server import Origin

# A toolset: a namespace, an override layer and a switch over the tools of many providers.


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


_PART: Final = re.compile(r"[0-9]{1,4000}|[a-z]+")
_PRE_RELEASE_RANKS: Final = {
    "dev": -4,
    "alpha": -3,
    "a": -3,
    "beta": -2,
    "b": -2,
    "preview": -1,
    "pre": -1,
    "rc": -1,
    "c": -1,
}
"""What comes before the release that it is named after; any other word does too, before all of these."""
_UNKNOWN_RANK: Final = -5
_POST_RELEASE_WORDS: Final = frozenset({"post", "rev", "r", "patch", "p"})

_Part: TypeAlias = tuple[int, int, str]
_END: Final[_Part] = (0, 0, "")
"""A release is later than what has a word after its numbers, and earlier than what goes on with one."""


def is_downgrade(old: str, new: str) -> bool:
    """Whether the new one comes before the old one. What is no version comes before all that are: otherwise two steps,
    with none between them, would go back from any version to any other."""
    before, after = _parse_version(old), _parse_version(new)
    return before is not None and (after is None or after < before)


def describe_downgrade(toolset: str, old: str, new: str) -> str:
    if _parse_version(new) is None:
        said = f"says {new.strip()!r}, which is no number" if new.strip() else "has no version"
        return f"{toolset} {old} is installed, and this {said}, so that it may be older."
    return f"{toolset} {old} is installed, and this is {new}, which is older."


def is_same_version(old: str, new: str) -> bool:
    """`1.0`, `v1` and `1.0.0+build` are one version."""
    before, after = _parse_version(old), _parse_version(new)
    return old.strip() == new.strip() if before is None or after is None else before == after


def _parse_version(text: str) -> tuple[tuple[int, ...], tuple[_Part, ...]] | None:
    """The numbers of the release, and what follows them. A build, after `+`, tells no version apart."""
    found: list[str] = _PART.findall(text.strip().lower().partition("+")[0].removeprefix("v"))
    split = next((place for place, part in enumerate(found) if not part[0].isdigit()), len(found))
    if split == 0:
        return None
    release = [int(part) for part in found[:split]]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    return tuple(release), (*map(_part, found[split:]), _END)


def _part(text: str) -> _Part:
    if text[0].isdigit():
        return 1, int(text), ""
    if text in _POST_RELEASE_WORDS:
        return 0, 1, ""
    return 0, _PRE_RELEASE_RANKS.get(text, _UNKNOWN_RANK), "" if text in _PRE_RELEASE_RANKS else text
