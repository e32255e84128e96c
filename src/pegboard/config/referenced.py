"""The files that `${file:path}` references stand for: which there are, and whether what they hold has changed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from pegboard.core.docspace.connection import DocSpace
from pegboard.core.own import Image, Own
from pegboard.core.server import Connection, Container, Http, OAuth, Stdio

from .references import FileText, parts, under_home
from .tree import Items, Node, Scalar, Table
from .watch import Look, look


def files_in(texts: Iterable[str], folder: Path, environ: Mapping[str, str]) -> frozenset[Path]:
    """Paths are taken from the folder, as when they are read."""
    split = (found for text in texts if "${" in text and isinstance(found := parts(text), tuple))
    named = (part.path for found in split for part in found if isinstance(part, FileText))
    return frozenset(folder / under_home(path, environ) for path in named)


def texts_of(connection: Connection) -> Iterator[str]:
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
        case Own(containers=containers):
            for image in containers.values():
                yield from _texts_of_image(image)
        case DocSpace() as docspace:
            yield from docspace.texts
        case _:
            assert_never(connection)


def _texts_of_image(image: Image) -> Iterator[str]:
    yield from (image.image, *image.args, *image.env.values())


def texts_within(node: Node | None) -> Iterator[str]:
    """Every text of a file."""
    match node:
        case Scalar(_, text):
            yield text
        case Items(nodes):
            for item in nodes:
                yield from texts_within(item)
        case Table(entries):
            for entry in entries:
                yield from texts_within(entry.value)
        case None:
            pass


@dataclass
class Looks:
    """What was last seen of each file, as a digest. A file that is away for a moment has not changed yet."""

    _known: dict[Path, Look] = field(default_factory=dict[Path, Look])

    def changed(self, files: frozenset[Path]) -> frozenset[Path]:
        """Those that hold something else than at the last look. One that is looked at for the first time does not."""
        found: set[Path] = set()
        for file in files:
            before = self._known.get(file)
            # The content itself is compared: two writes can share one tick of a file's clock, and it is small.
            now = look(file, None)
            if before is None:
                self._known[file] = now
            elif now.digest is not None and now.digest != before.digest:
                self._known[file] = now
                found.add(file)
        self._known = {file: seen for file, seen in self._known.items() if file in files}
        return frozenset(found)
