"""A toolset as a person has it at hand, laid out, read and checked: nothing of it is run here."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pegboard.config.private_files import FOLDER_MODE, make_private_folder
from pegboard.config.problem import FileProblem
from pegboard.core.said import quote_name
from pegboard.ports.describing import FunctionEntry

from .files import FileFacts, FilesUnavailable, content_digest, file_facts
from .functions import check_functions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard.config.bundle import IgnoredFiles, StagedBundle
    from pegboard.config.manifest import Manifest

MAX_MANIFEST_BYTES: Final = 2_000_000
"""Of a manifest."""
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_YAML: Final = (".yaml", ".yml")
_MAX_NAMED: Final = 5

FileProgress = Callable[[int, int], None]
"""Files done, of how many."""


class InvalidToolsetError(Exception):
    """It cannot be brought onto a board as it is: all that speaks against it."""

    def __init__(self, problems: tuple[FileProblem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True)
class StagedToolset:
    """Laid out in `folder`, and sound as far as one can see without running any of it."""

    folder: Path
    manifest: "Manifest"
    manifest_name: str
    files: "Mapping[str, FileFacts]"
    left_out: tuple[str, ...] = ()
    """Files that usually hold secrets: they are not imported."""
    ignored: "IgnoredFiles | None" = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is passed over, and what may not be meant."""
        told = (
            f"{quote_name(name)} is left out: files of this name usually hold secrets. What your tools need, name "
            "under "
            "secrets."
            for name in self.left_out
        )
        return (*map(str, self.manifest.warnings), *told, *_ignored_file_warnings(self.ignored))

    @property
    def digest(self) -> str:
        return content_digest(self.files)


def _ignore_progress(done: int, total: int) -> None:
    """Nobody watches."""


@contextmanager
def stage_toolset(
    source: Path, beside: Path, done: FileProgress = _ignore_progress, shown: str | None = None
) -> Iterator[StagedToolset]:
    """From a folder, a ZIP archive or a manifest alone, in a folder in `beside` that is gone at the end unless it was
    moved away. `shown` is how the person named it. Raises `Unfit` and `FilesAway`."""
    from pegboard.config.bundle import BadBundleError

    name = str(source) if shown is None else shown
    try:
        with _stage_source(source, beside, done) as staged:
            yield StagedToolset(
                staged.folder,
                _manifest(staged, name, source, functions=True),
                staged.manifest.name,
                file_facts(staged.folder, staged.files),
                staged.withheld_files,
                staged.ignored,
            )
    except BadBundleError as error:
        raise InvalidToolsetError(error.problems) from None
    except OSError as error:
        raise FilesUnavailable(
            f"{name} cannot be brought in: {error.strerror or error}. Nothing was changed."
        ) from None


def read_linked_toolset(folder: Path, shown: str | None = None) -> StagedToolset:
    """A folder that stays where it is, because its author goes on working in it. Raises `Unfit` and `FilesAway`."""
    from pegboard.config.bundle import BadBundleError, inspect_in_place

    name = str(folder) if shown is None else shown
    try:
        staged = inspect_in_place(folder)
        return StagedToolset(
            folder,
            _manifest(staged, name, folder),
            staged.manifest.name,
            file_facts(staged.folder, staged.files),
            staged.withheld_files,
            staged.ignored,
        )
    except BadBundleError as error:
        raise InvalidToolsetError(error.problems) from None
    except OSError as error:
        raise FilesUnavailable(f"{name} cannot be read: {error.strerror or error}. Nothing was changed.") from None


def entries_of(manifest: "Manifest") -> tuple[FunctionEntry, ...]:
    return tuple(FunctionEntry(each.id, each.entrypoint, each.name, each.description) for each in manifest.tools)


def _manifest(staged: "StagedBundle", shown: str, source: Path, *, functions: bool = False) -> "Manifest":
    """Sound by itself and with its files; with `functions`, those that it names are looked for as well."""
    from pegboard.config.bundle.names import path_problem
    from pegboard.config.files import read_bytes
    from pegboard.config.manifest import check_files, read_manifest
    from pegboard.config.settings import InvalidFile

    # A manifest alone is told by the name that the person knows; in anything else it is a file of it.
    file = f"{shown.rstrip('/')}/{staged.manifest.name}" if source.is_dir() or not _is_yaml(source) else shown
    content = read_bytes(staged.manifest, MAX_MANIFEST_BYTES, file)
    if isinstance(content, FileProblem):
        raise InvalidToolsetError((content,))
    manifest = read_manifest(content, file, staged.folder)
    if isinstance(manifest, InvalidFile):
        raise InvalidToolsetError(manifest.problems)
    # A folder is called after it.
    named = path_problem(manifest.id, 1)
    about_id = () if named is None else (FileProblem(file, 0, "id", named),)
    about_functions = check_functions(manifest, staged.folder) if functions else ()
    if problems := (*about_id, *check_files(manifest, staged.files), *about_functions):
        # What is missing may be what was not taken along.
        told = [
            FileProblem(file, 0, "", each)
            for each in (*_ignored_file_warnings(staged.ignored), *_files_beside_manifest(manifest, source, shown))
        ]
        raise InvalidToolsetError((*problems, *told))
    return manifest


def _files_beside_manifest(manifest: "Manifest", source: Path, shown: str) -> Iterator[str]:
    """What is missing may be there, where only the manifest was named."""
    if not _is_yaml(source) or not source.is_file():
        return
    if any((source.parent / name).is_file() for entry in manifest.tools for name in entry.module_files):
        folder = quote_name(str(Path(shown).parent))
        yield f"a manifest alone brings no files, and there are some beside it. Name the folder instead: {folder}"


def _ignored_file_warnings(ignored: "IgnoredFiles | None") -> Iterator[str]:
    """What of a checkout stays behind, or why that is not known."""
    from pegboard.config.bundle import SKIPPED_NAMES

    if ignored is None:
        return
    if ignored.failure:
        yield f"Git cannot be asked what it ignores here, so that is imported too: {quote_name(ignored.failure)}."
    # Nobody misses what is left out of every folder.
    missed = sorted(name for name in ignored.names if SKIPPED_NAMES.isdisjoint(name.split("/")))
    if missed:
        more = f" and {len(missed) - _MAX_NAMED:,} more" if len(missed) > _MAX_NAMED else ""
        are, them = ("is", "it") if len(missed) == 1 else ("are", "them")
        yield f"{', '.join(map(quote_name, missed[:_MAX_NAMED]))}{more} {are} left out: Git ignores {them}."


def _stage_source(source: Path, beside: Path, done: FileProgress) -> "AbstractContextManager[StagedBundle]":
    from pegboard.config.bundle import stage_archive, stage_folder

    if source.is_dir():
        return stage_folder(source, beside, progress=done)
    if is_archive(source):
        return stage_archive(source, beside, progress=done)
    if not _is_yaml(source):
        what = "it is neither a folder nor a ZIP archive nor a toolset.yaml. Name one of these."
        raise InvalidToolsetError((FileProblem(source.name, 0, "", what),))
    return _stage_manifest_alone(source, beside, done)


@contextmanager
def _stage_manifest_alone(source: Path, beside: Path, done: FileProgress) -> "Iterator[StagedBundle]":
    from pegboard.config.bundle import stage_folder

    make_private_folder(beside)
    outer = Path(tempfile.mkdtemp(prefix="staging-", dir=beside))
    try:
        folder = outer / "alone"
        folder.mkdir(mode=FOLDER_MODE)
        shutil.copyfile(source, folder / "toolset.yaml")
        with stage_folder(folder, beside, progress=done) as staged:
            yield staged
    finally:
        shutil.rmtree(outer, ignore_errors=True)


def is_archive(source: Path) -> bool:
    """Raises `OSError`."""
    with source.open("rb") as file:
        return file.read(4) in _ZIP


def _is_yaml(source: Path) -> bool:
    return source.suffix.lower() in _YAML
