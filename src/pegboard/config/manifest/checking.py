"""A manifest held against the files of its toolset: what it names must be there."""

import os
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from pegboard.config.problem import FileProblem
from pegboard.core.reference import closest_names
from pegboard.core.renderers.catalogue import PAGE_SUFFIXES, KeyType, find_renderer
from pegboard.core.server import DeclaredAt, Server, Stdio

from .model import Manifest
from .paths import relative_path


def check_files(manifest: Manifest, names: Iterable[str]) -> tuple[FileProblem, ...]:
    """`names` are those of the toolset's files, with slashes, taken from the manifest's folder."""
    files = frozenset(names)
    found = (*_check_tools(manifest, files), *_check_servers(manifest, files), *_check_renderers(manifest, files))
    return tuple(sorted(found, key=lambda problem: problem.line))


def _check_tools(manifest: Manifest, files: frozenset[str]) -> Iterator[FileProblem]:
    for place, entry in enumerate(manifest.tools):
        if not files.isdisjoint(entry.module_files):
            continue
        what = f"there is no file {entry.module_files[0]!r} in the toolset.{_module_hint(entry.module_files[0], files)}"
        yield FileProblem(manifest.file, entry.line, f"tools[{place}].entrypoint", what)


def _module_hint(wanted: str, files: frozenset[str]) -> str:
    modules = {name for name in files if name.endswith(".py")}
    same = sorted(name for name in modules if PurePosixPath(name).name == PurePosixPath(wanted).name)
    near = closest_names(wanted, modules) or same[:3]
    spelled = (name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".") for name in near)
    return (
        f" Did you mean {' or '.join(map(repr, dict.fromkeys(spelled)))}?" if near else " Add it, or correct the path."
    )


def _check_servers(manifest: Manifest, files: frozenset[str]) -> Iterator[FileProblem]:
    for place, each in enumerate(manifest.servers):
        if not isinstance(each.connection, Stdio):
            continue
        at = f"mcp_servers[{place}]"
        command = _path_inside(each.connection.command, manifest)
        if command is not None and command not in files:
            what = f"there is no file {command!r} in the toolset.{_file_hint(command, files)}"
            yield FileProblem(manifest.file, _line(each), f"{at}.command", what)
        folder = None if each.connection.cwd is None else _path_inside(each.connection.cwd, manifest)
        if folder is not None and folder != "." and not any(name.startswith(f"{folder}/") for name in files):
            what = f"there is no folder {folder!r} in the toolset. Add it, or correct the path."
            yield FileProblem(manifest.file, _line(each), f"{at}.cwd", what)


def _path_inside(path: str, manifest: Manifest) -> str | None:
    """As the toolset's files are named. What a reference stands for is not known here."""
    name = relative_path(path, manifest.folder)
    return None if name is None or "${" in name else name


def _check_renderers(manifest: Manifest, files: frozenset[str]) -> Iterator[FileProblem]:
    for row in manifest.overrides:
        known = None if row.renderer is None else find_renderer(row.renderer)
        for key in () if known is None else known.keys:
            said = (row.renderer_config or {}).get(key.name)
            if key.type is not KeyType.FILE or not isinstance(said, str) or said.startswith("$"):
                continue
            name = os.path.normpath(said.replace("\\", "/")).replace(os.sep, "/")
            if name not in files:
                what = (
                    f"there is no file {name!r} in the toolset for the renderer of "
                    f"{row.target}.{_file_hint(name, files)}"
                )
            elif not name.lower().endswith(PAGE_SUFFIXES):
                what = f"{name!r} is no page for the renderer of {row.target}. Name an .html or .htm file."
            else:
                continue
            at = row.origin("renderer_config")
            yield FileProblem(manifest.file, at.line if isinstance(at, DeclaredAt) else 0, key.name, what)


def _file_hint(wanted: str, files: frozenset[str]) -> str:
    return _format_hint(closest_names(wanted, files))


def _format_hint(near: Iterable[str]) -> str:
    named = " or ".join(map(repr, near))
    return f" Did you mean {named}?" if named else " Add it, or correct the path."


def _line(server: Server) -> int:
    return server.origin.line if isinstance(server.origin, DeclaredAt) else 0
