"""The flags of a container run. A container gets nothing that its toolset does not declare."""

import hashlib
import math
import os
import re
import secrets
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.core.model.tool import MIB, ContainerImage
from pegboard.providers.container import launch
from pegboard.providers.container.engine import ContainerEngine

WORKSPACE: Final = "/workspace"
BOARD_LABEL: Final = "io.pegboard.board"
TOOLSET_LABEL: Final = "io.pegboard.toolset"

_HOST: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?/)?"
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"{_HOST}{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?|(?:sha256:)?[0-9a-f]{{64}}",
    re.ASCII,
)
_TRANSPORTS: Final = re.compile(
    r"(?:docker-archive|oci-archive|oci|dir|docker-daemon|ostree|sif|tarball|containers-storage|docker|atomic):"
)
"""Other places than registries, by which podman would read files of this machine."""
_CONTAINER_NAME: Final = re.compile(r"pegboard-[0-9a-f]{8}-([0-9]{1,10})\.([0-9]*)-[0-9a-f]{12}")
_READ_ONLY_FOLDERS: Final = ("/run", "/var/tmp")  # noqa: S108 - the container's own
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE_BREAK: Final = re.compile("[\0\r\n]")


def image_problem(image: str) -> str | None:
    """Why this cannot name an image; `None` when it can."""
    if _IMAGE.fullmatch(image) is None or _TRANSPORTS.match(image) is not None:
        return f"{image[:200]!r} does not name an image. Write it as in registry.example.org/team/tool:1.0"
    return None


def variable_problem(name: str, value: str) -> str | None:
    if _VARIABLE.fullmatch(name) is None:
        return f"{name[:100]!r} is no name for a variable. Use letters, digits and _"
    if _LINE_BREAK.search(value) is not None:
        return f"the value of {name} has several lines, which no container can be given. Encode it as one line"
    return None


@dataclass(frozen=True)
class ContainerNamespace:
    """Whose containers they are: one gateway at work with one data directory."""

    data_dir: Path

    @property
    def id(self) -> str:
        return hashlib.sha256(os.fsencode(self.data_dir.absolute())).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """Where the engine works."""
        return self.data_dir.absolute() / "containers"

    def workspace(self, toolset: str) -> Path:
        return self.data_dir.absolute() / "workspaces" / toolset

    def fresh_name(self) -> str:
        """It tells whose it is: labels are not read alike from every engine."""
        return f"pegboard-{self.id[:8]}-{current_owner()}-{secrets.token_hex(6)}"

    def labels(self, toolset: str) -> tuple[str, ...]:
        told = {BOARD_LABEL: self.id, TOOLSET_LABEL: toolset}
        return tuple(part for label, value in told.items() for part in ("--label", f"{label}={value}"))


@dataclass(frozen=True)
class ContainerOwner:
    """A process by its number and, where that can be told, the moment it began: a later one may get the number."""

    pid: int
    start_time: str = ""

    def __str__(self) -> str:
        return f"{self.pid}.{self.start_time}"

    @property
    def is_alive(self) -> bool:
        if sys.platform == "win32":
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return not self.start_time or self.start_time == _process_start_time(self.pid)


def current_owner() -> ContainerOwner:
    return ContainerOwner(os.getpid(), _process_start_time(os.getpid()))


def owner_of(name: str) -> ContainerOwner | None:
    """Of a container by its name; `None` when it has none of ours."""
    found = _CONTAINER_NAME.fullmatch(name)
    return None if found is None else ContainerOwner(int(found[1]), found[2])


def _process_start_time(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def run_flags(
    image: ContainerImage,
    *,
    name: str,
    labels: Iterable[str],
    workspace: Path | None,
    env: bool,
    kept: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Of `run`, in an order of their own; the engine's further flags go after them."""
    memory = max(image.memory, 6 * MIB)
    return (
        *("--rm", "--interactive", "--name", name, *labels),
        # What is here was fetched when a person imported the toolset: a call neither waits for a download nor runs
        # whatever a registry has under the same name today.
        *("--pull", "never"),
        *(() if image.network else ("--network", "none")),
        "--read-only",
        *("--tmpfs", f"/tmp:rw,noexec,nosuid,nodev,mode=1777,size={memory // 2}"),  # noqa: S108 - the container's own
        # Beside a read-only root podman mounts these by itself, to be written to and to start programs from.
        *(flag for place in _READ_ONLY_FOLDERS for flag in ("--tmpfs", f"{place}:ro,noexec,nosuid,nodev,size=4k")),
        *("--cap-drop", "all", "--security-opt", "no-new-privileges"),
        *("--memory", str(memory), "--pids-limit", str(image.pids)),
        *(() if image.cpus is None else ("--cpus", f"{image.cpus:g}")),
        # A container that is to go has had its time already, and what it wrote is nobody's to find later.
        *("--stop-timeout", "0", *(kept or ("--log-driver", "none"))),
        *(() if workspace is None else ("--volume", f"{workspace}:{WORKSPACE}:rw,z")),
        *(("--env-file", launch.VARIABLES_FILE) if env else ()),
    )


def run_line(
    engine: ContainerEngine,
    flags: Iterable[str],
    image: str,
    *,
    entrypoint: str | None = None,
    arguments: Iterable[str] = (),
) -> tuple[str, ...]:
    started = () if entrypoint is None else ("--entrypoint", entrypoint)
    return engine.command_line("run", *flags, *engine.flags, *started, image, *arguments)


def wrap_with_launcher(line: tuple[str, ...]) -> tuple[str, ...]:
    """The same command, started so that it finds `launch.FILE`."""
    return (sys.executable, "-I", "-S", launch.__file__, *line)


def launch_environment(env: Mapping[str, str]) -> dict[str, str]:
    return {f"{launch.VARIABLE_PREFIX}{name}": value for name, value in env.items()}


def format_seconds(seconds: float) -> str:
    return f"{seconds:g} s" if math.isfinite(seconds) else "any time"
