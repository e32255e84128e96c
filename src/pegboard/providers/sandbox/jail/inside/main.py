"""The jailed process from its start to its end."""

import _imp
import gc
import os
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType

from . import stdlib


def main() -> None:
    image, machine, parent = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    only = stdlib.install_importer(image)
    from .channel import JailChannel

    channel = JailChannel(0, 1)
    try:
        taken = _confine(machine, parent, only)
    except BaseException as error:  # noqa: BLE001 - whatever keeps a wall from standing is the reason to refuse
        channel.send(t="broken", why=f"{type(error).__name__}: {error}"[:2_000])
        os._exit(1)
    channel.send(t="ready")
    try:
        given = channel.receive_first()
    except EOFError:
        os._exit(0)
    from . import confinement as walls
    from .program import JailedProgram
    from .seccomp import PYTHON_RULES

    channel.max_frame_bytes = given["frame"]
    run = JailedProgram(channel, given)
    walls.lower_priority()
    walls.limit_resources(taken + given["memory"], 3)
    walls.limit_processes_and_cpu(given["cpu"])
    walls.filter_syscalls(machine, PYTHON_RULES)
    try:
        run()
    finally:
        os._exit(0)


def _confine(machine: str, parent: int, only: Callable[[], None]) -> int:
    """The address space that is taken before a program comes."""
    stdlib.load_extension_modules()
    import hashlib
    import platform

    from . import confinement as walls
    from . import program

    del program  # only to be there
    hashlib.sha256(b"").hexdigest()  # OpenSSL reads files before its first digest
    # Modules ask what system this is as they are imported, and the kernel will not say.
    platform._uname_cache = platform.uname_result("Linux", "sandbox", "", "", machine)  # type: ignore[attr-defined]
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 2)
    walls.close_other_descriptors()
    os.environ.clear()
    only()
    _hide_paths()
    walls.drop_privileges(machine)
    walls.die_with_parent(parent)
    taken = walls.address_space_bytes()
    walls.restrict_files()
    return taken


def _hide_paths() -> None:
    """Where things lie on this machine is nothing for a program."""
    sys.argv[:] = [""]
    sys.orig_argv[:] = [""]
    for name in (
        "executable",
        "_base_executable",
        "prefix",
        "exec_prefix",
        "base_prefix",
        "base_exec_prefix",
        "_stdlib_dir",
    ):
        setattr(sys, name, "")
    for module in [module for module in sys.modules.values() if isinstance(module, ModuleType)]:
        for name in ("__file__", "__cached__"):
            module.__dict__.pop(name, None)
        if getattr(module, "__path__", None):
            module.__path__ = []
        if (spec := getattr(module, "__spec__", None)) is not None:
            spec.origin = spec.cached = None
            if hasattr(spec.loader, "path"):
                spec.loader = None
            if spec.submodule_search_locations:
                spec.submodule_search_locations = []
        if getattr(module, "__loader__", None) is not None and hasattr(module.__loader__, "path"):
            module.__loader__ = None
    for function in [one for one in gc.get_objects() if isinstance(one, FunctionType)]:
        if os.path.isabs(function.__code__.co_filename):
            # What is nested in it is renamed with it.
            _imp._fix_co_filename(function.__code__, f"<{function.__module__}>")  # type: ignore[attr-defined]  # see library
