"""The built pages: every file there is, found once, so that no path of a request is ever looked up on the disk."""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

PAGES: Final = Path(__file__).parent / "pages"
INDEX: Final = "index.html"
FOREVER: Final = "public, max-age=31536000, immutable"
ASK_AGAIN: Final = "no-cache"
_HASHED: Final = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+")
"""The name of a file that holds a hash of its content, as the build writes them."""
_TEXT: Final = frozenset({"text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"})
_KINDS: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
"""Said here, because a machine may have been told that scripts are something else."""


@dataclass(frozen=True)
class File:
    path: Path
    kind: str
    keep: str


@dataclass(frozen=True)
class Files:
    folder: Path = PAGES

    def find(self, name: str) -> File | None:
        """By its path under the folder, with `/` between the parts."""
        found = self._known.get(name)
        if found is None and not self._known:
            # Built while the gateway ran: looked for again, until it is there.
            self.__dict__.pop("_known", None)
            found = self._known.get(name)
        return found

    @cached_property
    def _known(self) -> Mapping[str, File]:
        files = {}
        for path in sorted(self.folder.rglob("*")) if self.folder.is_dir() else ():
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in name.split("/")):
                files[name] = File(path, _kind(path), _keep(name))
        return files


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    kind = _KINDS.get(suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind in _TEXT else kind


def _keep(name: str) -> str:
    return FOREVER if name.startswith("assets/") and _HASHED.fullmatch(name) else ASK_AGAIN
