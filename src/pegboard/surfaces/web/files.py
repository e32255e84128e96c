"""The built pages: every file there is, found once, so that no path of a request is ever looked up on the disk."""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

PAGES_FOLDER: Final = Path(__file__).parent / "pages"
INDEX_FILE: Final = "index.html"
CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
CACHE_REVALIDATE: Final = "no-cache"
_HASHED_NAME: Final = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+")
"""The name of a file that holds a hash of its content, as the build writes them."""
_TEXT_TYPES: Final = frozenset({"text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"})
_MEDIA_TYPES: Final = {
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
class SiteFile:
    path: Path
    media_type: str
    cache_control: str


@dataclass(frozen=True)
class SiteFiles:
    folder: Path = PAGES_FOLDER

    def find(self, name: str) -> SiteFile | None:
        """By its path under the folder, with `/` between the parts."""
        found = self._by_name.get(name)
        if found is None and not self._by_name:
            # Built while the gateway ran: looked for again, until it is there.
            self.__dict__.pop("_by_name", None)
            found = self._by_name.get(name)
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, SiteFile]:
        files = {}
        for path in sorted(self.folder.rglob("*")) if self.folder.is_dir() else ():
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in name.split("/")):
                files[name] = SiteFile(path, _media_type(path), _cache_control(name))
        return files


def _media_type(path: Path) -> str:
    suffix = path.suffix.lower()
    kind = _MEDIA_TYPES.get(suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind in _TEXT_TYPES else kind


def _cache_control(name: str) -> str:
    return CACHE_FOREVER if name.startswith("assets/") and _HASHED_NAME.fullmatch(name) else CACHE_REVALIDATE
