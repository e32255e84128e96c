"""ZIP archives: the table of contents is checked before anything is unpacked."""

import re
import stat
import struct
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.config.schema.document import FileProblem

# Names of files in a bundle: such as mean the same file on every system, and one inside the toolset's folder.

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


MIB: Final = 1024 * 1024
_LOCAL_HEADER_BYTES: Final = 30
"""Bytes of what stands before each file, without its name."""
_RATIO_EXEMPT_BYTES: Final = 4096
"""Files up to this size may be packed as tightly as they come: a page of blanks is no bomb."""
_UTF8_FLAG: Final = 0x800
_ENCRYPTED_FLAGS: Final = 0x1 | 0x40
_PATCHED_FLAG: Final = 0x20
_SUPPORTED_COMPRESSION: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_SKIPPED_NAMES: Final = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", ".mypy_cache"})
"""What belongs to whoever packed it. Installed packages stay: without them what was packed may not run."""


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """Of one bundle, unpacked."""

    max_archive_bytes: int = 100 * MIB
    max_files: int = 10_000
    max_total_bytes: int = 256 * MIB
    max_file_bytes: int = 64 * MIB
    max_ratio: int = 200
    max_depth: int = 16


@dataclass(frozen=True)
class Archive:
    file: Path
    entries: tuple[zipfile.ZipInfo, ...]
    """The files that are unpacked; folders come of themselves."""


def open_archive(file: Path, limits: BundleLimits) -> Archive | tuple[FileProblem, ...]:
    """What is in it, or all that speaks against it."""
    try:
        if (size := file.stat().st_size) > limits.max_archive_bytes:
            return (
                _archive_problem(file, f"it is larger than {limits.max_archive_bytes // MIB} MiB ({size:,} bytes)."),
            )
        with zipfile.ZipFile(file) as archive:
            listed = archive.infolist()
            if len(listed) > limits.max_files * 2:
                return (_archive_problem(file, f"it holds more than {limits.max_files:,} files."),)
            # A name may be empty, at which the library's own question fails.
            entries = tuple(
                entry for entry in listed if not entry.filename.endswith("/") and not _is_skipped(entry.filename)
            )
            problems = (*_check_totals(file, entries, limits), *_check_entries(file, archive, listed, entries, limits))
    except UnicodeDecodeError as error:
        name = _printable_name(
            error.object.decode("utf-8", "backslashreplace") if isinstance(error.object, bytes) else ""
        )
        return (FileProblem(file.name, 0, name, "its name is said to be UTF-8 and is not. Pack the bundle again."),)
    except (zipfile.BadZipFile, struct.error, EOFError, ValueError, NotImplementedError) as error:
        return (_archive_problem(file, f"it is no ZIP archive that can be read: {_one_line(error)}."),)
    except OSError as error:
        return (_archive_problem(file, f"it cannot be read: {error.strerror or error}."),)
    return problems or Archive(file, entries)


def _check_totals(file: Path, entries: tuple[zipfile.ZipInfo, ...], limits: BundleLimits) -> Iterator[FileProblem]:
    if not entries:
        yield _archive_problem(file, "it is empty.")
    if len(entries) > limits.max_files:
        yield _archive_problem(file, f"it holds {len(entries):,} files, and {limits.max_files:,} are the most.")
    if (total := sum(entry.file_size for entry in entries)) > limits.max_total_bytes:
        yield _archive_problem(
            file, f"unpacked it would take {total:,} bytes, and {limits.max_total_bytes // MIB} MiB are the most."
        )


def _check_entries(
    file: Path,
    archive: zipfile.ZipFile,
    listed: list[zipfile.ZipInfo],
    entries: tuple[zipfile.ZipInfo, ...],
    limits: BundleLimits,
) -> Iterator[FileProblem]:
    for entry in listed:
        # A name is cut where it holds a zero byte, so that what is shown is not what is meant.
        if entry.orig_filename != entry.filename and entry.orig_filename.replace("\\", "/") != entry.filename:
            yield FileProblem(
                file.name, 0, _printable_name(entry.orig_filename), "its name holds a zero byte. Rename the file."
            )
        elif (why := _entry_problem(entry, limits)) is not None:
            yield FileProblem(file.name, 0, _printable_name(entry.orig_filename), why)
    for name, why in find_clashes(entry.filename for entry in entries):
        yield FileProblem(file.name, 0, _printable_name(name), why)
    for name in _overlapping_entries(archive, listed):
        yield FileProblem(
            file.name, 0, _printable_name(name), "its bytes are those of another file too. Pack the bundle again."
        )


def _entry_problem(entry: zipfile.ZipInfo, limits: BundleLimits) -> str | None:
    if (why := path_problem(entry.orig_filename.removesuffix("/"), limits.max_depth)) is not None:
        return why
    if not entry.filename.isascii() and not entry.flag_bits & _UTF8_FLAG:
        return "its name is in a code that the archive does not tell. Pack it with a program that writes UTF-8."
    if entry.flag_bits & _ENCRYPTED_FLAGS:
        return "it is encrypted. Pack the bundle without a password."
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return f"it is {_FILE_KINDS.get(kind, 'something else')} and no file. Put a copy of what it means in its place."
    if entry.flag_bits & _PATCHED_FLAG or entry.compress_type not in _SUPPORTED_COMPRESSION:
        return "it is packed in a way that is not understood here. Pack it with the usual method, deflate."
    if entry.file_size > limits.max_file_bytes:
        return f"unpacked it takes {entry.file_size:,} bytes, and {limits.max_file_bytes // MIB} MiB are the most."
    if entry.file_size > _RATIO_EXEMPT_BYTES and entry.file_size > limits.max_ratio * max(entry.compress_size, 1):
        return f"it would grow more than {limits.max_ratio} times its size when unpacked."
    return None


_FILE_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


def _overlapping_entries(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> Iterator[str]:
    """Files that share bytes: the way in which a small archive unpacks to more than there are disks for."""
    reached = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < reached:
            yield entry.filename
        reached = max(
            reached, entry.header_offset + _LOCAL_HEADER_BYTES + len(entry.orig_filename) + entry.compress_size
        )
    if entries and reached > archive.start_dir:
        yield entries[-1].filename


def _is_skipped(name: str) -> bool:
    """What one system's archiver adds of its own accord, and what a version control keeps for itself."""
    return name.startswith("__MACOSX/") or not _SKIPPED_NAMES.isdisjoint(name.split("/"))


def _archive_problem(file: Path, what: str) -> FileProblem:
    return FileProblem(file.name, 0, "", what)


def _printable_name(name: str) -> str:
    """On one line and not endless: it is a stranger's text."""
    return repr(name)[1:-1][:200]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
