"""Packages whose own `__init__` runs late: their modules can be imported one by one, without all that it loads.

The SDK's packages load everything they have, of which a gateway uses less than half: some ten megabytes, and a
twentieth of the CPU time of a start. Whoever asks such a package for a name of its own still gets it, by `__init__` run
then: that is what `__getattr__` of a module is for (PEP 562).
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

LATE_PACKAGES: Final = ("mcp", "mcp.client", "mcp.server", "uvicorn")
"""In none of them does `__init__` give a module's name to something else, nor do anything but import."""

_OPENING: Final = RLock()


def open_late(packages: Iterable[str] = LATE_PACKAGES) -> None:
    """For a process that has loaded none of them yet. One that is loaded stays as it is."""
    sys.meta_path.insert(0, _LateFinder(frozenset(packages)))


class _LateFinder(MetaPathFinder):
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

        def find_attribute(name: str) -> object:
            """Only of what is not there: a module that nobody imported yet, or what `__init__` alone can give."""
            full_name = f"{module.__name__}.{name}"
            if not name.startswith("__") and find_spec(full_name) is not None:
                return import_module(full_name)
            with _OPENING:
                # What `__init__` loads may come back here for a name: then it is missing, as it is in any package.
                if not name.startswith("__") and vars(module).pop("__getattr__", None) is not None:
                    self._own.exec_module(module)
            if name in vars(module):
                return vars(module)[name]
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        vars(module)["__getattr__"] = find_attribute
