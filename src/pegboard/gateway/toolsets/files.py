"""Files of installed toolsets: one read-only folder for each digest."""

import hashlib
import logging
import os
import posixpath
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio.to_thread

from pegboard.config.paths import make_private_folder, try_lock
from pegboard.core.model.ids import ToolsetId, ToolsetKey
from pegboard.core.model.references import closest_names
from pegboard.core.model.tool import OwnTools
from pegboard.core.policy.policy import Policy, PolicyDecisions
from pegboard.core.renderers.catalogue import PAGE_SUFFIXES

TOOLSETS: Final = "toolsets"
WORKSPACES: Final = "workspaces"
_CHUNK: Final = 256 * 1024
STAGING_PREFIX: Final = "staging-"
_LEAVING_PREFIX: Final = f"{STAGING_PREFIX}leaving-"
"""Swept like what is staged: a folder on its way out is renamed first, so that no half of it is ever in its place."""
_PLACING_LOCK: Final = ".placing.lock"
_STAGING_LOCK: Final = ".staging.lock"
MAX_PAGE_BYTES: Final = 2 * 1024 * 1024
_MAX_SHOWN: Final = 128
_LOCK_TIMEOUT_S: Final = 30.0
_LOCK_POLL_S: Final = 0.05


class FilesUnavailable(Exception):  # noqa: N818 - it is told to a person as a sentence
    """The files cannot be written or read now; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class UnreadablePage:
    why: str
    """Without a full stop: it is shown behind the name of what it is about."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    sha256: str
    size: int
    executable: bool = False


def file_facts(folder: Path, names: Collection[str]) -> Mapping[str, FileFacts]:
    """What is in each file, by its name in the folder. Raises `OSError`."""
    return {name: _facts(folder.joinpath(*name.split("/"))) for name in sorted(names)}


def _facts(path: Path) -> FileFacts:
    from pegboard.config.bundle.staging_folder import is_executable

    found, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
            size += len(chunk)
    return FileFacts(found.hexdigest(), size, is_executable(path))


def content_digest(files: Mapping[str, FileFacts]) -> str:
    """Names all of them: another name, another content, one more or one less gives another digest, and so does a
    program that may not be run any more."""
    found = hashlib.sha256()
    for name in sorted(files):
        written = name.encode()
        mark = b"x" if files[name].executable else b""
        found.update(b"%d:%b%b%b\n" % (len(written), written, files[name].sha256.encode(), mark))
    return found.hexdigest()


def installed_digests(decided: PolicyDecisions) -> Mapping[ToolsetId, frozenset[str]]:
    """The content that each installed toolset runs from."""
    owns = ((key.toolset, server.connection) for key, server in decided.servers.items())
    return {id: frozenset({own.digest}) for id, own in owns if isinstance(own, OwnTools) and own.linked is None}


@dataclass(frozen=True)
class ToolsetFiles:
    """Below a data directory. Only what the store names counts; everything else is a leftover."""

    data_dir: Path

    @property
    def root(self) -> Path:
        return self.data_dir / TOOLSETS

    def folder(self, toolset: ToolsetId, digest: str) -> Path:
        return self.root / toolset / digest

    def read_page(self, policy: Policy, toolset: ToolsetId, path: str) -> str | UnreadablePage:
        """An HTML file that was imported with the toolset. Nothing else is read: a call may have named the path."""
        server = policy.servers.get(ToolsetKey(toolset))
        own = None if server is None else server.connection
        if not isinstance(own, OwnTools):
            return UnreadablePage(f"toolset {toolset!r} has no files. Import one that has the page")
        name = posixpath.normpath(path.replace("\\", "/"))
        if not name.lower().endswith(PAGE_SUFFIXES):
            return UnreadablePage("it must be an .html or .htm file of the toolset")
        known = {file.path for file in policy.decisions.files.get(toolset, ())}
        if name not in known:
            near = closest_names(name, (each for each in known if each.lower().endswith(PAGE_SUFFIXES)))
            hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
            return UnreadablePage(f"toolset {toolset!r} has no file {name[:_MAX_SHOWN]!r}{hint}")
        folder = self.folder(toolset, own.digest) if own.linked is None else Path(own.linked)
        try:
            place = folder.joinpath(*name.split("/")).resolve(strict=True)
            if not place.is_relative_to(folder.resolve()):
                return UnreadablePage("it is a link that leads out of the toolset")
            with place.open("rb") as file:
                content = file.read(MAX_PAGE_BYTES + 1)
        except OSError as error:
            return UnreadablePage(f"it cannot be read: {error.strerror or error}. Import the toolset again")
        if len(content) > MAX_PAGE_BYTES:
            return UnreadablePage(f"a page may have {MAX_PAGE_BYTES // (1024 * 1024)} MiB, and this one has more")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return UnreadablePage("it is not UTF-8 text. Save it as UTF-8 and import the toolset again")

    def workspace(self, toolset: ToolsetId) -> Path:
        return self.data_dir / WORKSPACES / toolset

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """No other process puts files in their place, or sweeps, meanwhile. Raises `FilesUnavailable`."""
        with self._lock_file(_PLACING_LOCK, shared=False, seconds=_LOCK_TIMEOUT_S) as held:
            if not held:
                raise FilesUnavailable(
                    f"another process has been installing a toolset in {self.root} for long. Try again when it has "
                    "ended."
                )
            yield

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """A place for what is not installed yet, that nobody sweeps meanwhile. Raises `FilesUnavailable`."""
        with self._lock_file(_STAGING_LOCK, shared=True, seconds=_LOCK_TIMEOUT_S):
            yield self.root

    @contextmanager
    def sweep_lock(self) -> Iterator[bool]:
        """Whether nobody stages or places anything now, in any process, so that leftovers can be told."""
        if not self.root.is_dir():
            yield False
            return
        with (
            self._lock_file(_STAGING_LOCK, shared=False, seconds=0) as unstaged,
            self._lock_file(_PLACING_LOCK, shared=False, seconds=0) as unplaced,
        ):
            yield unstaged and unplaced

    @contextmanager
    def _lock_file(self, name: str, *, shared: bool, seconds: float) -> Iterator[bool]:
        """The system gives the lock back when its holder dies."""
        try:
            make_private_folder(self.root)
            handle = os.open(self.root / name, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise FilesUnavailable(_unwritable(self.root, error)) from None
        with os.fdopen(handle, "r+b") as file:
            until = time.monotonic() + seconds
            while not (held := try_lock(file.fileno(), shared=shared)) and time.monotonic() < until:
                time.sleep(_LOCK_POLL_S)
            yield held

    def place(self, staged: Path, toolset: ToolsetId, files: Mapping[str, FileFacts]) -> Path:
        """The staged folder in its place, by one rename. Raises `FilesUnavailable`."""
        place = self.folder(toolset, content_digest(files))
        if _is_intact(place, files):
            # What runs from it goes on undisturbed.
            return place
        try:
            make_private_folder(place.parent)
            if place.exists():
                self._delete_folder(place)
            staged.replace(place)
            _sync_folder(place.parent)
        except OSError as error:
            raise FilesUnavailable(_unwritable(place, error)) from None
        return place

    def delete_all_except(self, named: Mapping[ToolsetId, Collection[str]]) -> None:
        """Removes what is none of these digests: of toolsets that are gone, or were replaced. Never fails: what cannot
        be removed now is removed at the next start."""
        for toolset in self._content_folders(self.root):
            if toolset.name.startswith(STAGING_PREFIX):
                continue
            wanted = named.get(ToolsetId(toolset.name), ())
            for folder in self._content_folders(toolset):
                if folder.name not in wanted:
                    self._delete_folder(folder)
            if not wanted:
                _remove_if_empty(toolset)

    def ensure_workspace(self, toolset: ToolsetId) -> Path:
        """Made if need be, for its owner's eyes only. Raises `OSError`."""
        folder = self.workspace(toolset)
        make_private_folder(folder)
        return folder

    def delete_workspace(self, toolset: ToolsetId) -> None:
        shutil.rmtree(self.workspace(toolset), ignore_errors=True)

    def _delete_folder(self, folder: Path) -> None:
        try:
            away = Path(tempfile.mkdtemp(prefix=_LEAVING_PREFIX, dir=self.root))
            folder.replace(away / folder.name)
        except OSError:
            return
        shutil.rmtree(away, ignore_errors=True)

    def _content_folders(self, folder: Path) -> list[Path]:
        try:
            return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
        except OSError:
            return []


def _is_intact(place: Path, files: Mapping[str, FileFacts]) -> bool:
    """Its name says what should be in it; a disk or a hand may have changed that."""
    try:
        return place.is_dir() and file_facts(place, files) == files
    except OSError:
        return False


def _sync_folder(folder: Path) -> None:
    """A rename is kept over a loss of power only when its folder was written out."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return


def _unwritable(place: Path, error: OSError) -> str:
    return f"{place} cannot be written: {error.strerror or error}. Nothing was changed."


# What imports that were cut off left behind: folders that nobody stages any more, and contents that no store names.

log = logging.getLogger(__name__)


async def sweep(
    files: ToolsetFiles, load: Callable[[], Awaitable[PolicyDecisions]], keep: Callable[[PolicyDecisions], None]
) -> None:
    """Removes it, unless something is being installed right now. `load` is asked afterwards, so that it knows all that
    was installed before; `keep` removes what else nobody needs then. A gateway starts all the same when it cannot."""
    if not files.root.is_dir():
        return
    with ExitStack() as stack:
        try:
            if await anyio.to_thread.run_sync(stack.enter_context, files.sweep_lock()):
                decided = await load()
                if decided.unreadable:
                    log.warning(
                        "Leftovers of imports stay: rows of the store cannot be read. See: pegboard store check"
                    )
                    return
                await anyio.to_thread.run_sync(_delete_unused, files, decided)
                await anyio.to_thread.run_sync(keep, decided)
        except FilesUnavailable as error:
            log.warning("Leftovers of imports stay: %s", error)


def sweep_staged(files: ToolsetFiles) -> None:
    """What was being laid out when a process died, unless another lays something out right now."""
    from pegboard.config.bundle.staging_folder import remove_leftovers as staging_folders

    with files.sweep_lock() as alone:
        if alone:
            staging_folders(files.root)


def _delete_unused(files: ToolsetFiles, decided: PolicyDecisions) -> None:
    from pegboard.config.bundle.staging_folder import remove_leftovers as staging_folders

    staging_folders(files.root)
    files.delete_all_except(installed_digests(decided))
