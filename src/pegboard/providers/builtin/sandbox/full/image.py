"""The standard library as one block of memory that every jailed process maps: it has no files to import from."""

import importlib.util
import marshal
import os
import sys
import sysconfig
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .inside.library import ZONE_PREFIX, ImageEntry

_EXCLUDED_MODULES: Final = frozenset(
    {
        *("__pycache__", "site-packages", "dist-packages", "lib-dynload", "test", "tests", "idle_test", "idlelib"),
        *("lib2to3", "ensurepip", "tkinter", "turtledemo", "turtle", "distutils", "pydoc_data", "venv", "msilib"),
        *("curses", "antigravity", "this", "__phello__", "_pyrepl"),
    }
)
_MAX_ZONE_BYTES: Final = 64 << 10
_HEADER_BYTES: Final = 8
_ZONE_MAGIC: Final = b"TZif"


def build_library_image() -> int:
    """A descriptor of it, sealed: nobody who has it can change a byte. Takes a tenth of a second."""
    assert sys.platform == "linux"
    index: dict[str, ImageEntry] = {}
    parts: list[bytes] = []
    length = 0
    for name, text, is_package in (*_module_entries(), *_zone_entries()):
        index[name] = length, len(text), is_package
        parts.append(text)
        length += len(text)
    table = marshal.dumps(index)
    descriptor = os.memfd_create("pegboard-library", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(descriptor, "wb", closefd=False) as written:
            written.write(len(table).to_bytes(_HEADER_BYTES, "little"))
            written.write(table)
            written.writelines(parts)
        import fcntl

        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _module_entries() -> Iterator[tuple[str, bytes, bool]]:
    yield from _folder_entries(Path(sysconfig.get_path("stdlib")), "")


def _folder_entries(folder: Path, package: str) -> Iterator[tuple[str, bytes, bool]]:
    for entry in sorted(folder.iterdir()):
        name = entry.stem
        if name in _EXCLUDED_MODULES or not name.isidentifier():
            continue
        if entry.is_dir():
            if (start := entry / "__init__.py").is_file():
                yield package + name, _module_code(start), True
                yield from _folder_entries(entry, f"{package}{name}.")
        elif entry.suffix == ".py" and name != "__init__":
            yield package + name, _module_code(entry), False


def _module_code(source: Path) -> bytes:
    """As Python has compiled it already, or as it was written."""
    text = source.read_bytes()
    try:
        compiled = Path(importlib.util.cache_from_source(str(source))).read_bytes()
    except OSError:
        return text
    time = int(source.stat().st_mtime) & 0xFFFF_FFFF
    expected = b"".join(
        (importlib.util.MAGIC_NUMBER, bytes(4), time.to_bytes(4, "little"), len(text).to_bytes(4, "little"))
    )
    return compiled if compiled.startswith(expected) else text


def _zone_entries() -> Iterator[tuple[str, bytes, bool]]:
    root = next((path for path in map(Path, zoneinfo.TZPATH) if path.is_dir()), None)
    if root is None:
        return
    for path in sorted(root.rglob("*")):
        key = path.relative_to(root).as_posix()
        if key.startswith(("right/", "posix/")) or not path.is_file():
            continue
        text = path.read_bytes()[: _MAX_ZONE_BYTES + 1]
        if text.startswith(_ZONE_MAGIC) and len(text) <= _MAX_ZONE_BYTES:
            yield ZONE_PREFIX + key, text, False
