"""A server that a person installs, read by the rules of the file: what pegboard.yaml takes is taken here too."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import assert_never

from pegboard.config.problem import FileProblem as FileProblem
from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.ids import PrincipalId
from pegboard.core.server import EveryTool, Http, InstalledBy, Server, Stdio, ToolFilter, require_stdio_or_http
from pegboard.core.toolset import Toolset

from .bodies import ServerBody

_FILE_NAME = "server.json"


@dataclass(frozen=True)
class ServerInstallation:
    server: Server
    toolset: Toolset
    warnings: tuple[str, ...]
    """What will not work, though nothing is wrong: a variable that is not set here and now."""


@dataclass(frozen=True)
class InvalidServerBody:
    problems: tuple[str, ...]


def read_installation(body: ServerBody, by: PrincipalId, at: datetime) -> ServerInstallation | InvalidServerBody:
    written = json.dumps({"servers": {body.id: body.as_entry()}})
    read = load_settings_text(written, _FILE_NAME, Path(body.folder).absolute() if body.folder else Path.cwd())
    if isinstance(read, InvalidFile):
        return InvalidServerBody(tuple(_describe_problem(problem, body.id) for problem in read.problems))
    (declared,) = read.declared.servers.values()
    toolset = read.declared.toolsets[declared.key.toolset]
    origin = InstalledBy(by, at)
    match require_stdio_or_http(declared.connection):
        case Stdio() as program:
            # A file's servers start in its folder; an installed one has no such place unless it names one.
            connection: Stdio | Http = program if body.cwd else replace(program, cwd=None)
        case Http() as address:
            connection = address
        case never:
            assert_never(never)
    return ServerInstallation(
        replace(
            declared,
            connection=connection,
            origin=origin,
            limit=_without_place(declared.limit),
            quarantined=body.quarantine,
        ),
        replace(toolset, origin=origin, name=toolset.name or toolset.id),
        tuple(_describe_problem(problem, body.id) for problem in read.warnings),
    )


def _without_place(limit: ToolFilter) -> ToolFilter:
    """What a person says of a server stands in no file."""
    return limit if isinstance(limit, EveryTool) else replace(limit, at=None)


def _describe_problem(problem: FileProblem, id: str) -> str:
    key = problem.key.removeprefix(f"servers.{id}").lstrip(".")
    key = "" if key.startswith("servers.") else key
    return f"{key}: {problem.message}" if key else problem.message
