"""The standard library out of memory: modules come from an image that was mapped before files were gone."""

import _imp
import importlib.util
import io
import marshal
import mmap
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec
from types import CodeType, ModuleType
from typing import Final

_HEADER_BYTES: Final = 8
_PYC_HEADER_BYTES: Final = 16
ZONE_PREFIX: Final = "zones/"
"""What keys of time zones begin with; no module is called so."""

EXTENSION_MODULES: Final = (
    *("_asyncio", "_bisect", "_blake2", "_bz2", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp"),
    *("_codecs_kr", "_codecs_tw", "_contextvars", "_csv", "_ctypes", "_datetime", "_decimal", "_elementtree"),
    *("_hashlib", "_heapq", "_json", "_lsprof", "_lzma", "_md5", "_multibytecodec", "_multiprocessing", "_opcode"),
    *("_pickle", "_posixshmem", "_posixsubprocess", "_queue", "_random", "_sha1", "_sha2", "_sha256", "_sha3"),
    *("_sha512", "_socket", "_statistics", "_struct", "_typing", "_uuid", "_zoneinfo", "array", "binascii", "cmath"),
    *("fcntl", "grp", "math", "mmap", "pyexpat", "resource", "select", "termios", "unicodedata", "zlib"),
)
"""Modules that are not written in Python and lie in files of their own: they are loaded beforehand or never.

What reaches outside is among them on purpose: that a program can import `socket` and gets no socket shows that walls
hold, and not that a module is missing.
"""

ImageEntry = tuple[int, int, bool]
"""Where a module begins in the image, how long it is, and whether it is a package."""


class LibraryImage(MetaPathFinder, InspectLoader):
    def __init__(self, descriptor: int) -> None:
        self._bytes = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        os.close(descriptor)
        length = int.from_bytes(self._bytes[:_HEADER_BYTES], "little")
        self._base = _HEADER_BYTES + length
        self._index: Mapping[str, ImageEntry] = marshal.loads(self._bytes[_HEADER_BYTES : self._base])  # noqa: S302 - the gateway wrote and sealed it

    def __repr__(self) -> str:
        return "<the standard library>"

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if (place := self._index.get(fullname)) is None:
            return None
        return ModuleSpec(fullname, self, origin=f"<{fullname}>", is_package=place[2])

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)  # noqa: S102 - it is how a module is loaded
        if module.__name__ == "zoneinfo":
            self._install_zones(module)

    def get_code(self, fullname: str) -> CodeType:
        text = self._entry_bytes(fullname)
        if text[: len(importlib.util.MAGIC_NUMBER)] != importlib.util.MAGIC_NUMBER:
            code: CodeType = compile(text, f"<{fullname}>", "exec", dont_inherit=True)
            return code
        loaded: CodeType = marshal.loads(text[_PYC_HEADER_BYTES:])  # noqa: S302 - see above
        # Where a file lies on this machine is nothing for a program.
        _imp._fix_co_filename(loaded, f"<{fullname}>")  # type: ignore[attr-defined]  # as importlib does
        return loaded

    def get_source(self, fullname: str) -> str | None:
        return None

    def is_package(self, fullname: str) -> bool:
        return self._index[fullname][2]

    def _entry_bytes(self, key: str) -> bytes:
        start, length, _ = self._index[key]
        return self._bytes[self._base + start : self._base + start + length]

    def _install_zones(self, zoneinfo: ModuleType) -> None:
        from zoneinfo import _common

        def load(key: str) -> io.BytesIO:
            if ZONE_PREFIX + key not in self._index:
                raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
            return io.BytesIO(self._entry_bytes(ZONE_PREFIX + key))

        _common.load_tzdata = load  # type: ignore[assignment]  # any file will do
        names = frozenset(key.removeprefix(ZONE_PREFIX) for key in self._index if key.startswith(ZONE_PREFIX))
        zoneinfo.__dict__["available_timezones"] = lambda: set(names)


def install_importer(descriptor: int) -> Callable[[], None]:
    """Take modules out of the image from now on. What is returned takes away all other ways to find one."""
    image = LibraryImage(descriptor)
    sys.meta_path.insert(0, image)

    def only() -> None:
        sys.meta_path[:] = [BuiltinImporter, FrozenImporter, image]
        sys.path_hooks.clear()
        sys.path_importer_cache.clear()
        sys.path.clear()

    return only


def load_extension_modules() -> None:
    # Before its compiled half, which would load it and itself a second time then: the one would not know the tasks of
    # the other.
    importlib.import_module("asyncio")
    for name in EXTENSION_MODULES:
        with suppress(ImportError):  # this Python has it built in, or was built without it
            importlib.import_module(name)
