"""Finds podman or docker, runs it, and reports its errors."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import which
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from pegboard.config.keys.features import ContainerSettings
from pegboard.config.paths import make_private_folder
from pegboard.processes.child import inherited_environment, prevent_descriptor_inheritance
from pegboard.processes.output import one_line

ENGINES: Final = ("podman", "docker")
MAX_REASON_CHARS: Final = 300
MAX_ENGINE_OUTPUT_BYTES: Final = 8_000_000
_VERSION_TIMEOUT_S: Final = 30.0
_REMOTE_FLAGS: Final = frozenset({"--remote", "-r", "--url", "--connection", "-c"})
_ENGINE_VARIABLES: Final = re.compile(
    r"XDG_(?:RUNTIME_DIR|CONFIG_HOME|DATA_HOME)|DBUS_SESSION_BUS_ADDRESS|SSH_AUTH_SOCK|REGISTRY_AUTH_FILE"
    r"|DOCKER_(?:HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY|TLS)|CONTAINERS?_[A-Z_]+|STORAGE_(?:DRIVER|OPTS)"
)
_PROXY_VARIABLES: Final = re.compile(r"(?:HTTPS?|NO|ALL)_PROXY", re.IGNORECASE)
"""Only for fetching images: podman hands them on to every container that it starts with them."""

_ABSOLUTE_PATH: Final = re.compile(r"""(?<![\w.:/@-])(?:unix:/{2})?/(?:[^\s/:,"'`]+/)+([^\s/:,"'`]*)""")
_DOCKER_LINE: Final = re.compile(r"docker: |Cannot connect to the Docker daemon")
_ENGINE_LINE: Final = re.compile(rf"Error: |{_DOCKER_LINE.pattern}")
_NOISE_LINE: Final = re.compile(r"time=\"|WARN\[|\s*$|See 'docker|Run 'docker")
"""What engines write around what they have to say."""


@dataclass(frozen=True)
class NoEngine:
    """There is none; why, and what to do. It reads on from the name of whatever needs one."""

    why: str


@dataclass(frozen=True)
class EngineOutput:
    """What the engine answered to a command that runs nothing."""

    code: int
    out: bytes
    error: bytes


@dataclass(frozen=True)
class ContainerEngine:
    program: str
    name: str
    """As a person would type it."""
    flags: tuple[str, ...] = ()
    global_flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    folder: str | None = None
    """Where it works: what watches a container for podman leaves files there, such as `oom`."""

    def command_line(self, *arguments: str) -> tuple[str, ...]:
        return (self.program, *self.global_flags, *arguments)

    async def can_log_to_file(self) -> bool:
        """Whether it writes what a container writes to a file of ours as well: podman does, on this very machine, and
        it may go by docker's name. Raises as `ask` does."""
        if sys.platform != "linux" or "CONTAINER_HOST" in self.environment or _REMOTE_FLAGS & {*self.global_flags}:
            return False
        return b"podman" in (await self.query("--version", within=_VERSION_TIMEOUT_S)).out.lower()

    async def query(self, *arguments: str, within: float, proxies: bool = False) -> EngineOutput:
        """Raises `TimeoutError`, and `OSError` when it cannot be started."""
        environment = {**self.environment, **(_matching_variables(_PROXY_VARIABLES) if proxies else {})}
        process = await start_process(self.command_line(*arguments), environment, self.folder, fed=False)
        assert process.stdout is not None
        assert process.stderr is not None
        out, error = bytearray(), bytearray()
        try:
            with anyio.fail_after(within):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_collect, process.stdout, out)
                    tasks.start_soon(_collect, process.stderr, error)
                code = await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                kill(process)
                await process.aclose()
        return EngineOutput(code, bytes(out), bytes(error))


async def start_process(
    line: tuple[str, ...], environment: Mapping[str, str], folder: str | None, *, fed: bool = True
) -> Process:
    """Raises `OSError`."""
    prevent_descriptor_inheritance()
    # Shielded, because a process that is born while we are cancelled has nobody yet to end it.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            line,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
            start_new_session=True,
        )
    return process


def kill(process: Process) -> None:
    """With all that it started and that has not left its group."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


async def _collect(pipe: ByteReceiveStream, into: bytearray) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in pipe:
            if len(into) < MAX_ENGINE_OUTPUT_BYTES:
                into += chunk


def find_engine(settings: ContainerSettings, folder: Path | None = None) -> ContainerEngine | NoEngine:
    """Looked for anew each time: it may be installed while the gateway runs. It is to work in the folder."""
    path = os.environ.get("PATH")
    wanted = ENGINES if settings.engine is None else (settings.engine,)
    program = next(filter(None, (which(name, path=path) for name in wanted)), None)
    if program is not None:
        return replace(
            engine_template(settings), program=program, name=os.path.basename(program), folder=_ensure_folder(folder)
        )
    if settings.engine is None:
        return NoEngine(
            "needs podman or docker, and neither is on the PATH. Install one of them, or name its path: engine under "
            "containers in pegboard.yaml"
        )
    name = os.path.basename(settings.engine) or settings.engine
    return NoEngine(
        f"needs the container engine {name!r}, which was not found. Install it, or correct engine under containers in "
        "pegboard.yaml"
    )


def engine_template(settings: ContainerSettings) -> ContainerEngine:
    """All that is known of the engine before it is found."""
    environment = {**inherited_environment(), **_matching_variables(_ENGINE_VARIABLES)}
    return ContainerEngine("", "", settings.flags, settings.global_flags, environment)


def _ensure_folder(folder: Path | None) -> str | None:
    if folder is None:
        return None
    with suppress(OSError):
        make_private_folder(folder)
        return str(folder)
    return tempfile.gettempdir()


def engine_error(error: bytes | str, *, keep: tuple[str, ...] = ()) -> str:
    """Its last line, with no folder of this machine in it. What is among `keep` may be a path in the container."""
    text = error.decode("utf-8", "replace") if isinstance(error, bytes) else error
    lines = without_noise(tuple(text.splitlines())) or ("",)
    last = re.sub(r"^(?:Error|docker):\s+(?:Error response from daemon:\s+)?", "", lines[-1].strip())

    def shorten_path(path: re.Match[str]) -> str:
        whole = path.group()
        return whole if whole in keep else f"…/{path.group(1)}"

    return one_line(_ABSOLUTE_PATH.sub(shorten_path, last), MAX_REASON_CHARS).rstrip(".") or "it did not say why"


def last_engine_line(lines: tuple[str, ...], name: str = "") -> str | None:
    """The last line, if by its look it is the engine's own, and not the program's in the container."""
    last = without_noise(lines)[-1:]
    own = _DOCKER_LINE if name == "docker" else _ENGINE_LINE
    return last[0] if last and own.match(last[0]) is not None else None


def without_noise(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line for line in lines if _NOISE_LINE.match(line) is None)


def _matching_variables(names: re.Pattern[str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if names.fullmatch(name)}
