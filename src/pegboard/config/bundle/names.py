"""Names of files in a bundle: such as mean the same file on every system, and one inside the toolset's folder."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

MAX_PATH_LENGTH: Final = 240
"""Characters of a whole name. Windows takes 260, the folder above it included."""
MAX_PART_BYTES: Final = 255
"""Bytes of one part, which is what file systems take."""

_DEVICE: Final = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9¹²³])( *\.[^/]*)?")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_REORDERING: Final = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_FORBIDDEN: Final = re.compile(r'[<>:"|?*\\]')


def path_problem(name: str, depth: int) -> str | None:
    """Why a file cannot have this name; `depth` is how many parts it may have."""
    if not name:
        return "it has no name. Pack the bundle again."
    if any(unicodedata.category(char) in ("Cc", "Cs", "Cn") for char in name):
        return "its name holds characters that no name should: control characters, or half of one. Rename the file."
    if _REORDERING.search(name) is not None:
        return "its name holds marks that reorder or hide letters, so that it reads as another. Rename the file."
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        return "its name is an absolute path. Pack the bundle from inside its folder."
    if (found := _FORBIDDEN.search(name)) is not None:
        return f"its name holds {found[0]!r}, which not every system takes. Rename the file."
    if len(name) > MAX_PATH_LENGTH:
        return f"its name is longer than {MAX_PATH_LENGTH} characters. Shorten it."
    parts = name.split("/")
    if len(parts) > depth:
        return f"it lies deeper than {depth} folders. Flatten them."
    return next((why for part in parts if (why := _part_problem(part)) is not None), None)


def _part_problem(part: str) -> str | None:
    if part == "":
        return "its name holds '//'. Pack the bundle again."
    if part in (".", ".."):
        return f"its name leads elsewhere by {part!r}. Pack the bundle from inside its folder."
    if part[-1] in ". ":
        return f"{part!r} ends in a dot or a blank, which not every system keeps. Rename it."
    if part[0] == " ":
        return f"{part!r} begins with a blank. Rename it."
    if _DEVICE.fullmatch(part):
        return f"{part!r} is a device on Windows. Rename it."
    if len(part.encode()) > MAX_PART_BYTES:
        return f"one part of its name is longer than {MAX_PART_BYTES} bytes. Shorten it."
    return None


def find_clashes(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names with why they cannot stand beside the others: on some system both would be one file."""
    known: dict[str, str] = {}
    folders: dict[str, str] = {}
    for name in files:
        same = _fold_name(name)
        if same in known:
            other = known[same]
            yield name, "it is there twice." if other == name else f"on some systems it is the same file as {other!r}."
            continue
        known[same] = name
        for above in _parent_folders(name):
            folder = folders.setdefault(_fold_name(above), above)
            if folder != above:
                yield name, f"on some systems its folder {above!r} is the same as {folder!r}."
                folders[_fold_name(above)] = above
    for same, name in known.items():
        if same in folders:
            yield name, "it is a file and a folder at once."


def _parent_folders(name: str) -> Iterator[str]:
    at = name.find("/")
    while at > 0:
        yield name[:at]
        at = name.find("/", at + 1)


def _fold_name(name: str) -> str:
    """Equal for names that some system takes for one: by letters' case, or by how an accent is written."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())
