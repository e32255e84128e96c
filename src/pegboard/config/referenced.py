"""The files that `${file:path}` references stand for: which there are, and whether what they hold has changed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from pegboard.core.docspace.connection import DocSpace
from pegboard.core.own import ContainerImage, OwnTools
from pegboard.core.server import Connection, Container, Http, OAuth, Stdio

from .references import FileReference, expand_home, parse_references
from .tree import ListNode, MapNode, Node, ScalarNode
from .watch import FileSnapshot, take_snapshot


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
        case DocSpace() as docspace:
            yield from docspace.texts
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
