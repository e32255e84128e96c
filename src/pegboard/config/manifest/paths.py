"""Paths of a toolset's servers: absolute where they run, and from the toolset's folder where they are written."""

import os
from dataclasses import replace
from pathlib import Path

from pegboard.config.references import escape_literal
from pegboard.core.server import Server, Stdio


def relative_path(path: str, folder: Path) -> str | None:
    """The path from the folder, if it leads into it. Both hold `${…}` references, or signs that stand for none."""
    above = escape_literal(str(folder))
    if path == above:
        return "."
    prefix = above if above.endswith(os.sep) else above + os.sep
    return path.removeprefix(prefix).replace(os.sep, "/") if path.startswith(prefix) else None


def with_relative_paths(server: Server, folder: Path) -> Server:
    """The server with its paths as a manifest says them: a program of the toolset begins with `./`, and who says
    nothing of a working directory means the toolset's folder."""
    if not isinstance(server.connection, Stdio):
        return server
    command, cwd = server.connection.command, server.connection.cwd
    inner = relative_path(command, folder)
    within = "." if cwd is None else relative_path(cwd, folder)
    return replace(
        server,
        connection=replace(
            server.connection,
            command=command if inner is None else f"./{inner.removeprefix('./')}",
            cwd=None if within == "." else cwd if within is None else within,
        ),
    )
