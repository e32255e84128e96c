"""Packages that open late: their modules can be had one by one, without all that the package's own `__init__` loads.

The SDK's and SQLAlchemy's load everything they have, of which a gateway uses less than half: some fifteen megabytes
that nobody looks at. Whoever asks such a package for a name of its own still gets it, by `__init__` run then.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Final

LATE: Final = ("mcp", "mcp.client", "mcp.server", "sqlalchemy.ext.asyncio")
"""In none of them does `__init__` give a module's name to something else, nor do anything but import."""


def open_late(packages: Iterable[str] = LATE) -> None:
    """For a process that has loaded none of them yet. One that is loaded stays as it is."""
    sys.meta_path.insert(0, _Finder(frozenset(packages)))


class _Finder(MetaPathFinder):
    def __init__(self, packages: frozenset[str]) -> None:
        self._packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname in self._packages else None
        if spec is not None and spec.loader is not None:
            spec.loader = _LateLoader(spec.loader)
        return spec


class _LateLoader(Loader):
    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing yet, but for its own loader put back: what asks for a package's files finds them by that."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own
        module.__class__ = _Late


class _Late(ModuleType):
    """A package whose `__init__` has not run."""

    def __getattr__(self, name: str) -> object:
        """Only for what is not there: a module of it that nobody imported yet, or what `__init__` alone can give."""
        whole = f"{self.__name__}.{name}"
        if not name.startswith("__") and find_spec(whole) is not None:
            return import_module(whole)
        with _OPENING:
            # What `__init__` loads may come back here for a name: then it is missing, as it is in any package.
            if type(self) is _Late and self.__name__ not in _BEING_OPENED:
                _open(self)
        return object.__getattribute__(self, name)


def _open(package: ModuleType) -> None:
    own = None if package.__spec__ is None else package.__spec__.loader
    assert own is not None
    _BEING_OPENED.add(package.__name__)
    try:
        own.exec_module(package)
    finally:
        _BEING_OPENED.discard(package.__name__)
    package.__class__ = ModuleType


_OPENING: Final = RLock()
_BEING_OPENED: Final[set[str]] = set()
