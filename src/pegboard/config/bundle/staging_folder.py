"""Unpacks a bundle into a new folder, completely or not at all."""

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, TypeAlias

from pegboard.config.bundle.archive import MIB, Archive, BundleLimits, find_clashes, open_archive, path_problem
from pegboard.config.bundle.source import IgnoredFiles, find_ignored, private_files
from pegboard.config.paths import copy_privately, make_private_folder, open_private_file
from pegboard.config.schema.document import FileProblem
from pegboard.ports.providers import ignore

MANIFESTS: Final = ("toolset.yaml", "toolset.yml")
SKIPPED_NAMES: Final = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".venv", "node_modules", ".DS_Store", ".mypy_cache"}
)
"""Folders and files that belong to whoever works on a toolset, and not to the toolset."""
_CHUNK_BYTES: Final = 256 * 1024
_PREFIX: Final = "staging-"
_EXECUTABLE_MODE: Final = 0o700
"""Of a file that may be run. No other mark of whoever packed it is kept."""
_UNIX_SYSTEM: Final = 3
"""The system of an archive's maker that tells such marks."""

Progress: TypeAlias = Callable[[int, int], None]
"""Files done, of how many."""


class BadBundleError(Exception):
    """Nothing of the bundle was kept."""

    def __init__(self, problems: tuple[FileProblem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


_NOTHING_IGNORED: Final = IgnoredFiles()


@dataclass(frozen=True, slots=True)
class StagedBundle:
    folder: Path
    """Where the manifest lies."""
    manifest: Path
    files: tuple[str, ...]
    """All of them, by their names from there, in order."""
    withheld_files: tuple[str, ...] = ()
    """Files that usually hold secrets: none of `files`, and not in the folder, unless it is used where it is."""
    ignored: IgnoredFiles = _NOTHING_IGNORED
    """What of a checkout Git ignores: none of `files` either."""


@contextmanager
def stage_archive(
    file: Path, beside: Path, limits: BundleLimits | None = None, progress: Progress = ignore
) -> Iterator[StagedBundle]:
    """The archive, unpacked in a folder in `beside` that is removed at the end, unless it was moved away by then.

    Raises `BadBundleError`.
    """
    archive = open_archive(file, limits or BundleLimits())
    if not isinstance(archive, Archive):
        raise BadBundleError(archive)
    with _staging_folder(beside) as folder:
        _unpack(archive, folder, progress)
        yield _locate_manifest(file.name, folder)


@contextmanager
def stage_folder(
    source: Path, beside: Path, limits: BundleLimits | None = None, progress: Progress = ignore
) -> Iterator[StagedBundle]:
    """The same of a folder, such as a checkout on disk: of that, what Git ignores stays behind."""
    ignored = find_ignored(source, MANIFESTS)
    names, problems = _scan_folder(source, limits or BundleLimits(), ignored)
    if problems:
        raise BadBundleError(problems)
    left_out = _find_private(source, names)
    names = [name for name in names if name not in left_out]
    with _staging_folder(beside) as folder:
        for done, name in enumerate(names, 1):
            target = folder / name
            make_private_folder(target.parent)
            try:
                # Not followed: between the look and the copy somebody may have put a link in its place.
                copy_privately(source / name, target)
                if is_executable(source / name):
                    target.chmod(_EXECUTABLE_MODE)
            except OSError as error:
                raise BadBundleError(
                    (FileProblem(source.name, 0, name, f"it cannot be read: {error.strerror}."),)
                ) from None
            if target.is_symlink():
                raise BadBundleError((FileProblem(source.name, 0, name, _LINK),))
            progress(done, len(names))
        yield replace(_locate_manifest(source.name, folder), withheld_files=tuple(sorted(left_out)), ignored=ignored)


def inspect_in_place(source: Path, limits: BundleLimits | None = None) -> StagedBundle:
    """A folder that is used where it is: the same is asked of it, and nothing is copied. Raises `BadBundleError`."""
    ignored = find_ignored(source, MANIFESTS)
    names, problems = _scan_folder(source, limits or BundleLimits(), ignored)
    if problems:
        raise BadBundleError(problems)
    manifests = [source / each for each in MANIFESTS if each in names]
    if len(manifests) != 1:
        raise BadBundleError((FileProblem(source.name, 0, "", _NO_MANIFEST if not manifests else _TWO_MANIFESTS),))
    left_out = _find_private(source, names)
    return StagedBundle(source, manifests[0], tuple(sorted({*names} - left_out)), tuple(sorted(left_out)), ignored)


def _find_private(folder: Path, names: list[str]) -> frozenset[str]:
    try:
        return private_files(folder, names)
    except OSError as error:
        raise BadBundleError((FileProblem(folder.name, 0, "", f"it cannot be read: {error.strerror}."),)) from None


@contextmanager
def _staging_folder(beside: Path) -> Iterator[Path]:
    """On the same disk as what it will replace, so that one rename puts it in its place."""
    make_private_folder(beside)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=beside))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(beside: Path) -> None:
    """What is left of imports that were cut off."""
    for folder in beside.glob(f"{_PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _unpack(archive: Archive, folder: Path, progress: Progress) -> None:
    with zipfile.ZipFile(archive.file) as packed:
        for done, entry in enumerate(archive.entries, 1):
            try:
                _unpack_one(packed, entry, folder)
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
                what = f"it is damaged ({' '.join(str(error).split())[:200]}). Pack the bundle again."
                raise BadBundleError((FileProblem(archive.file.name, 0, entry.filename, what),)) from None
            except OSError as error:
                what = f"it cannot be written: {error.strerror}."
                raise BadBundleError((FileProblem(archive.file.name, 0, entry.filename, what),)) from None
            progress(done, len(archive.entries))


def _unpack_one(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    target = folder.joinpath(*entry.filename.split("/"))
    make_private_folder(target.parent)
    with os.fdopen(open_private_file(target), "wb") as out, packed.open(entry) as source:
        _copy_exactly(source, out, entry.file_size)
    if entry.create_system == _UNIX_SYSTEM and (entry.external_attr >> 16) & stat.S_IXUSR:
        target.chmod(_EXECUTABLE_MODE)


def _copy_exactly(source: IO[bytes], out: IO[bytes], size: int) -> None:
    left = size
    while chunk := source.read(_CHUNK_BYTES):
        left -= len(chunk)
        if left < 0:
            raise ValueError("there is more of it than the archive says")
        out.write(chunk)
    if left:
        raise ValueError("there is less of it than the archive says")


def _locate_manifest(name: str, folder: Path) -> StagedBundle:
    """The manifest at the top, or in the one folder that everything is in."""
    tops = sorted(folder.iterdir())
    if len(tops) == 1 and tops[0].is_dir() and not any((folder / name).is_file() for name in MANIFESTS):
        folder = tops[0]
    manifests = [folder / each for each in MANIFESTS if (folder / each).is_file()]
    if len(manifests) != 1:
        raise BadBundleError((FileProblem(name, 0, "", _NO_MANIFEST if not manifests else _TWO_MANIFESTS),))
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    left_out = _find_private(folder, files)
    for each in left_out:
        (folder / each).unlink()
    return StagedBundle(
        folder, manifests[0], tuple(each for each in files if each not in left_out), tuple(sorted(left_out))
    )


def _scan_folder(
    source: Path, limits: BundleLimits, ignored: IgnoredFiles
) -> tuple[list[str], tuple[FileProblem, ...]]:
    names: list[str] = []
    problems: list[FileProblem] = []
    total = 0
    for name, told in _walk_files(source, ignored):
        total += told.st_size
        names.append(name)
        if len(names) > limits.max_files:
            return names, (FileProblem(source.name, 0, "", f"it holds more than {limits.max_files:,} files."),)
        if (why := _file_problem(name, told, limits)) is not None:
            problems.append(FileProblem(source.name, 0, name, why))
    problems += [FileProblem(source.name, 0, name, why) for name, why in find_clashes(names)]
    if total > limits.max_total_bytes:
        what = f"it takes {total:,} bytes, and {limits.max_total_bytes // MIB} MiB are the most."
        problems.append(FileProblem(source.name, 0, "", what))
    return names, tuple(problems)


_NO_MANIFEST: Final = (
    "there is no toolset.yaml at its top, nor in the one folder that holds everything. "
    "`pegboard toolset new` writes one."
)
_TWO_MANIFESTS: Final = "there are both a toolset.yaml and a toolset.yml. Keep one."
_LINK: Final = "it is a symbolic link. Put a copy of what it means in its place."


def _file_problem(name: str, told: os.stat_result, limits: BundleLimits) -> str | None:
    if stat.S_ISLNK(told.st_mode):
        return _LINK
    if not stat.S_ISREG(told.st_mode):
        return "it is no file. Remove it."
    if told.st_size > limits.max_file_bytes:
        return f"it takes {told.st_size:,} bytes, and {limits.max_file_bytes // MIB} MiB are the most."
    return path_problem(name, limits.max_depth)


def _walk_files(source: Path, ignored: IgnoredFiles) -> Iterator[tuple[str, os.stat_result]]:
    """Every file and link, none of them followed. Of what is ignored nothing is looked at, however much it is."""
    for folder, inner, files in os.walk(source):
        above = Path(folder).relative_to(source)
        inner[:] = sorted(
            each
            for each in inner
            if each not in SKIPPED_NAMES and not ignored.contains(f"{(above / each).as_posix()}/")
        )
        links = [each for each in inner if (Path(folder) / each).is_symlink()]
        for each in sorted([*files, *links]):
            name = (above / each).as_posix()
            if each not in SKIPPED_NAMES and not ignored.contains(name):
                yield name, (Path(folder) / each).lstat()


def is_executable(path: Path) -> bool:
    """For its owner. Where the system has no such mark, nothing is."""
    return os.name == "posix" and bool(path.lstat().st_mode & stat.S_IXUSR)
