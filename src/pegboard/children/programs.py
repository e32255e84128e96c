"""Programs of our own that run beside the gateway, each the `main` of a module, by an interpreter of their own."""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def program_arguments(module: str, *packages: str) -> Sequence[str]:
    """For a Python interpreter. The program finds these packages, its own among them, behind those of its interpreter
    and wherever they are installed here; elsewhere on our own path may be anything."""
    boot = (
        "import sys; sys.path += [path for path in sys.argv[1:] if path not in sys.path]; "
        f"from {module} import main; main()"
    )
    found = [spec.origin for name in packages if (spec := find_spec(name)) is not None and spec.origin is not None]
    folders = [path.parents[path.name == "__init__.py"] for path in map(Path, found)]
    return ("-I", "-X", "utf8", "-c", boot, *dict.fromkeys(map(str, folders)))
