"""The keys of `containers`: the engine that runs the containers of toolsets, and what it is told beside our own."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .references import expand_home
from .section import ConfigKey, ConfigSection, ConfigValues
from .shape import ListField, TextField, TextRule

_SLASHES: Final = re.compile(r"[/\\]" if os.sep == "\\" else "/")
_NOT_BLANK: Final = TextRule(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_FLAG: Final = TextRule(
    r"[\s\S]*\S[\s\S]*", "it must not be blank; write each flag and each value on its own, as in [--runtime, runc]"
)

ENGINE: Final = ConfigKey(
    "engine",
    TextField(_NOT_BLANK),
    "The program that runs containers: podman, docker, or the path of one that takes their arguments; a relative path "
    "with a slash is taken from the folder of this file. By default podman if it is on the PATH, else docker.",
)
FLAGS: Final = ConfigKey(
    "flags",
    ListField(TextField(_FLAG, accepts_scalars=True)),
    "Added to every run of a container, after Pegboard's own, such as --ulimit or --runtime. Some of them give "
    "back what Pegboard takes away from a container.",
)
GLOBAL_FLAGS: Final = ConfigKey(
    "global_flags",
    ListField(TextField(_FLAG, accepts_scalars=True)),
    "Written before every command of the engine, such as [--storage-driver, vfs].",
)
SECTION: Final = ConfigSection(
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


def container_settings(said: ConfigValues, folder: Path, environ: Mapping[str, str]) -> ContainerSettings:
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
    return os.path.normpath(folder / expand_home(engine, environ))
