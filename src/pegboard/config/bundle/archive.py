"""A ZIP archive, judged by its table of contents: nothing of it is unpacked before all of that is sound."""

import stat
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.config.problem import Problem

from .names import clashes, trouble_in

MIB: Final = 1024 * 1024
_HEADER: Final = 30
"""Bytes of what stands before each file, without its name."""
_SMALL: Final = 4096
"""Files up to this size may be packed as tightly as they come: a page of blanks is no bomb."""
_UTF8: Final = 0x800
_ENCRYPTED: Final = 0x1 | 0x40
_PATCHED: Final = 0x20
_UNDERSTOOD: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LEFT_OUT: Final = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", ".mypy_cache"})
"""What belongs to whoever packed it. Installed packages stay: without them what was packed may not run."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one bundle, unpacked."""

    archive: int = 100 * MIB
    files: int = 10_000
    total: int = 256 * MIB
    one: int = 64 * MIB
    ratio: int = 200
    depth: int = 16


@dataclass(frozen=True)
class Archive:
    file: Path
    entries: tuple[zipfile.ZipInfo, ...]
    """The files that are unpacked; folders come of themselves."""


def opened(file: Path, limits: Limits) -> Archive | tuple[Problem, ...]:
    """What is in it, or all that speaks against it."""
    try:
        if (size := file.stat().st_size) > limits.archive:
            return (_whole(file, f"it is larger than {limits.archive // MIB} MiB ({size:,} bytes)."),)
        with zipfile.ZipFile(file) as archive:
            listed = archive.infolist()
            if len(listed) > limits.files * 2:
                return (_whole(file, f"it holds more than {limits.files:,} files."),)
            # A name may be empty, at which the library's own question fails.
            entries = tuple(
                entry for entry in listed if not entry.filename.endswith("/") and not _is_left_out(entry.filename)
            )
            problems = (*_about_all(file, entries, limits), *_about_each(file, archive, listed, entries, limits))
    except UnicodeDecodeError as error:
        name = _shown(error.object.decode("utf-8", "backslashreplace") if isinstance(error.object, bytes) else "")
        return (Problem(file.name, 0, name, "its name is said to be UTF-8 and is not. Pack the bundle again."),)
    except (zipfile.BadZipFile, struct.error, EOFError, ValueError, NotImplementedError) as error:
        return (_whole(file, f"it is no ZIP archive that can be read: {_one_line(error)}."),)
    except OSError as error:
        return (_whole(file, f"it cannot be read: {error.strerror or error}."),)
    return problems or Archive(file, entries)


def _about_all(file: Path, entries: tuple[zipfile.ZipInfo, ...], limits: Limits) -> Iterator[Problem]:
    if not entries:
        yield _whole(file, "it is empty.")
    if len(entries) > limits.files:
        yield _whole(file, f"it holds {len(entries):,} files, and {limits.files:,} are the most.")
    if (total := sum(entry.file_size for entry in entries)) > limits.total:
        yield _whole(file, f"unpacked it would take {total:,} bytes, and {limits.total // MIB} MiB are the most.")


def _about_each(
    file: Path,
    archive: zipfile.ZipFile,
    listed: list[zipfile.ZipInfo],
    entries: tuple[zipfile.ZipInfo, ...],
    limits: Limits,
) -> Iterator[Problem]:
    for entry in listed:
        # A name is cut where it holds a zero byte, so that what is shown is not what is meant.
        if entry.orig_filename != entry.filename and entry.orig_filename.replace("\\", "/") != entry.filename:
            yield Problem(file.name, 0, _shown(entry.orig_filename), "its name holds a zero byte. Rename the file.")
        elif (why := _trouble(entry, limits)) is not None:
            yield Problem(file.name, 0, _shown(entry.orig_filename), why)
    for name, why in clashes(entry.filename for entry in entries):
        yield Problem(file.name, 0, _shown(name), why)
    for name in _overlapping(archive, listed):
        yield Problem(file.name, 0, _shown(name), "its bytes are those of another file too. Pack the bundle again.")


def _trouble(entry: zipfile.ZipInfo, limits: Limits) -> str | None:
    if (why := trouble_in(entry.orig_filename.removesuffix("/"), limits.depth)) is not None:
        return why
    if not entry.filename.isascii() and not entry.flag_bits & _UTF8:
        return "its name is in a code that the archive does not tell. Pack it with a program that writes UTF-8."
    if entry.flag_bits & _ENCRYPTED:
        return "it is encrypted. Pack the bundle without a password."
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return f"it is {_KINDS.get(kind, 'something else')} and no file. Put a copy of what it means in its place."
    if entry.flag_bits & _PATCHED or entry.compress_type not in _UNDERSTOOD:
        return "it is packed in a way that is not understood here. Pack it with the usual method, deflate."
    if entry.file_size > limits.one:
        return f"unpacked it takes {entry.file_size:,} bytes, and {limits.one // MIB} MiB are the most."
    if entry.file_size > _SMALL and entry.file_size > limits.ratio * max(entry.compress_size, 1):
        return f"it would grow more than {limits.ratio} times its size when unpacked."
    return None


_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


def _overlapping(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> Iterator[str]:
    """Files that share bytes: the way in which a small archive unpacks to more than there are disks for."""
    reached = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < reached:
            yield entry.filename
        reached = max(reached, entry.header_offset + _HEADER + len(entry.orig_filename) + entry.compress_size)
    if entries and reached > archive.start_dir:
        yield entries[-1].filename


def _is_left_out(name: str) -> bool:
    """What one system's archiver adds of its own accord, and what a version control keeps for itself."""
    return name.startswith("__MACOSX/") or not _LEFT_OUT.isdisjoint(name.split("/"))


def _whole(file: Path, what: str) -> Problem:
    return Problem(file.name, 0, "", what)


def _shown(name: str) -> str:
    """On one line and not endless: it is a stranger's text."""
    return repr(name)[1:-1][:200]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
