"""The keys of `containers`: the engine that runs the containers of toolsets, and what it is told beside our own."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .references import under_home
from .section import Key, Section, Values
from .shape import Form, ListOf, Text

_SLASHES: Final = re.compile(r"[/\\]" if os.sep == "\\" else "/")
_FILLED: Final = Form(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_FLAG: Final = Form(
    r"[\s\S]*\S[\s\S]*", "it must not be blank; write each flag and each value on its own, as in [--runtime, runc]"
)

ENGINE: Final = Key(
    "engine",
    Text(_FILLED),
    "The program that runs containers: podman, docker, or the path of one that takes their arguments; a relative path "
    "with a slash is taken from the folder of this file. By default podman if it is on the PATH, else docker.",
)
FLAGS: Final = Key(
    "flags",
    ListOf(Text(_FLAG, as_written=True)),
    "Added to every run of a container, after Pegboard's own, such as --ulimit or --runtime. Some of them give "
    "back what Pegboard takes away from a container.",
)
GLOBAL_FLAGS: Final = Key(
    "global_flags",
    ListOf(Text(_FLAG, as_written=True)),
    "Written before every command of the engine, such as [--storage-driver, vfs].",
)
SECTION: Final = Section(
    "",
    (ENGINE, FLAGS, GLOBAL_FLAGS),
    advice={
        "args": "Write flags, or global_flags for those that stand before the engine's command.",
        "image": "Images belong to toolsets: containers in toolset.yaml.",
    },
)


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    engine: str | None = None
    """`None` for the first that is found on the PATH."""
    flags: tuple[str, ...] = ()
    global_flags: tuple[str, ...] = ()


def container_settings(said: Values, folder: Path, environ: Mapping[str, str]) -> ContainerSettings:
    engine = said.get(ENGINE)
    return ContainerSettings(
        engine=None if engine is None else _program(engine.value, folder, environ),
        flags=tuple(flag.value for flag in said.value(FLAGS, ())),
        global_flags=tuple(flag.value for flag in said.value(GLOBAL_FLAGS, ())),
    )


def _program(engine: str, folder: Path, environ: Mapping[str, str]) -> str:
    """A bare name is looked up on the PATH when it is needed."""
    if not _SLASHES.search(engine):
        return engine
    return os.path.normpath(folder / under_home(engine, environ))
