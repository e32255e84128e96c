"""Watches the settings file and the files that `${file:path}` references name."""

import hashlib
import os
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, assert_never

import anyio
import anyio.to_thread

from pegboard.config.paths import read_bytes
from pegboard.config.references import FileReference, expand_home, parse_references
from pegboard.config.schema.document import FileProblem, ListNode, MapNode, Node, ScalarNode
from pegboard.config.settings import MAX_SETTINGS_BYTES
from pegboard.core.model.server import Connection, Container, Http, OAuth, Stdio
from pegboard.core.model.tool import ContainerImage, OwnTools
from pegboard.core.model.web_api import WebApi

# A bell for one file: rings when its content may have changed, however it was changed.

CLOSE_CHECKS: Final = 6
"""Looks after a change at which the content itself is compared: two writes can share one tick of the file's clock."""

Stamp: TypeAlias = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """What was seen of the file once. `None` for what is not there or cannot be read."""

    stamp: Stamp | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class WatchState:
    """What was seen last, and how much of it to believe."""

    last: FileSnapshot
    is_missing: bool
    close_checks: int = CLOSE_CHECKS

    def advance(self, now: FileSnapshot) -> tuple["WatchState", bool]:
        """What to remember after this look, and whether it rings."""
        close_looks = max(self.close_checks - 1, 0)
        if now.stamp is None and not self.is_missing:
            # A file that is being replaced may be away for a moment: it is gone when it is gone twice running.
            return WatchState(self.last, True, close_looks), False
        if now == self.last:
            return WatchState(self.last, now.stamp is None, close_looks), False
        return WatchState(now, now.stamp is None), now.digest != self.last.digest


async def file_changes(
    path: Path | str, interval: float = 0.5, *, seen: str | None = None
) -> AsyncGenerator[None, None]:
    """Yields once for each change that is noticed. A bell carries nothing: whoever hears it loads the file again.

    `seen` is the digest of the content that was loaded, so that no change between loading and watching is missed.
    """
    file = Path(path)
    first = await anyio.to_thread.run_sync(take_snapshot, file, None, abandon_on_cancel=True)
    if seen is not None and first.digest != seen:
        yield None
    memory = WatchState(first, first.stamp is None)
    while True:
        await anyio.sleep(interval)
        known = None if memory.close_checks else memory.last
        now = await anyio.to_thread.run_sync(take_snapshot, file, known, abandon_on_cancel=True)
        memory, rings = memory.advance(now)
        if rings:
            yield None


def take_snapshot(file: Path, known: FileSnapshot | None) -> FileSnapshot:
    """With what is known, the content is read only if the stamp differs."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return FileSnapshot(None, None)
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if known is not None and known.stamp == stamp:
        return known
    content = read_bytes(file, MAX_SETTINGS_BYTES)
    return FileSnapshot(stamp, None if isinstance(content, FileProblem) else hashlib.sha256(content).hexdigest())


def referenced_files(texts: Iterable[str], folder: Path, environ: Mapping[str, str]) -> frozenset[Path]:
    """Paths are taken from the folder, as when they are read."""
    split = (found for text in texts if "${" in text and isinstance(found := parse_references(text), tuple))
    named = (part.path for found in split for part in found if isinstance(part, FileReference))
    return frozenset(folder / expand_home(path, environ) for path in named)


def connection_texts(connection: Connection) -> Iterator[str]:
    match connection:
        case Stdio(command, args, env, cwd):
            yield from (command, *args, *env.values(), *(() if cwd is None else (cwd,)))
        case Http(url, _, headers, oauth):
            yield from (url, *headers.values())
            if isinstance(oauth, OAuth):
                said = (oauth.client_id, oauth.client_secret, oauth.client_metadata_url)
                yield from (text for text in said if text is not None)
        case Container(image):
            yield from _texts_of_image(image)
        case OwnTools(containers=containers):
            for image in containers.values():
                yield from _texts_of_image(image)
        case WebApi() as api:
            yield from api.texts
        case _:
            assert_never(connection)


def _texts_of_image(image: ContainerImage) -> Iterator[str]:
    yield from (image.image, *image.args, *image.env.values())


def node_texts(node: Node | None) -> Iterator[str]:
    """Every text of a file."""
    match node:
        case ScalarNode(_, text):
            yield text
        case ListNode(nodes):
            for item in nodes:
                yield from node_texts(item)
        case MapNode(entries):
            for entry in entries:
                yield from node_texts(entry.value)
        case None:
            pass


@dataclass
class ReferencedFiles:
    """What was last seen of each file, as a digest. A file that is away for a moment has not changed yet."""

    _snapshots: dict[Path, FileSnapshot] = field(default_factory=dict[Path, FileSnapshot])

    def changed_files(self, files: frozenset[Path]) -> frozenset[Path]:
        """Those that hold something else than at the last look. One that is looked at for the first time does not."""
        found: set[Path] = set()
        for file in files:
            before = self._snapshots.get(file)
            # The content itself is compared: two writes can share one tick of a file's clock, and it is small.
            now = take_snapshot(file, None)
            if before is None:
                self._snapshots[file] = now
            elif now.digest is not None and now.digest != before.digest:
                self._snapshots[file] = now
                found.add(file)
        self._snapshots = {file: seen for file, seen in self._snapshots.items() if file in files}
        return frozenset(found)
