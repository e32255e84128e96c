"""Virtual environments of toolsets: one for each set of requirements."""

import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Final

import anyio
import anyio.to_thread

from pegboard.config.paths import make_private_folder
from pegboard.processes import child
from pegboard.processes.child import inherited_environment
from pegboard.processes.output import one_line

ReportProgress = Callable[[str], None]

_BUILD_TIMEOUT_S: Final = 900.0
"""Seconds that a build may take."""
_POLL_INTERVAL_S: Final = 0.2
_MAX_LINE_CHARS: Final = 300
_INSTALLER_VARIABLES: Final = re.compile(r"(?:PIP|UV)_\w+|(?:https?|no|all)_proxy", re.IGNORECASE)
"""How packages are reached from here: an operator says so in the environment, and a build needs to know."""
_ERROR_PREFIX: Final = re.compile(r"^\s*(?:ERROR:|error:|cause:|fatal:|\N{MULTIPLICATION SIGN}|╰─▶)\s*")
_LOCAL_REQUIREMENT: Final = re.compile(
    r"(?:[^@\[]+@\s*file://|file://)?(?P<path>[^;\[]*(?:/|\\|\.whl|\.tar\.gz|\.zip)[^;\[]*)"
)


class EnvironmentBuildError(Exception):
    """It reads on from the toolset's name."""


class Environments:
    """All below one folder, each named by what is in it. Nothing half is ever found there under its name."""

    def __init__(self, root: Path, find: Callable[[str], str | None] = shutil.which) -> None:
        self._root = root
        self._find = find

    async def interpreter(self, requirements: Sequence[str], folder: Path, told: ReportProgress) -> Path:
        """The interpreter of the environment that has these; ours where nothing is required. `folder` is what a
        requirement that is a path begins from. Raises `EnvironmentBuildError`."""
        if not requirements:
            return Path(sys.executable)
        for requirement in requirements:
            if not requirement.strip() or requirement.lstrip().startswith("-"):
                raise EnvironmentBuildError(
                    f"requires {requirement!r}, which is no package. Write it like 'httpx>=0.28'"
                )
        name = await anyio.to_thread.run_sync(_environment_name, requirements, folder)
        built = self._root / name
        if not _interpreter(built).exists():
            try:
                await anyio.to_thread.run_sync(make_private_folder, self._root)
                async with _exclusive(self._root / f".{name}.lock"):
                    if not _interpreter(built).exists():
                        await self._build(built, requirements, folder, told)
            except OSError as error:
                raise EnvironmentBuildError(f"has no environment: {error.strerror or error}") from None
        return _interpreter(built)

    def remove_unused(self, used: Iterable[tuple[Sequence[str], Path]]) -> None:
        """Removes all others, and what is left of builds that were cut off. Each is told by its requirements and the
        folder that they begin from."""
        names = {_environment_name(requirements, folder) for requirements, folder in used if requirements}
        long_ago = time.time() - 2 * _BUILD_TIMEOUT_S
        for found in self._root.iterdir() if self._root.is_dir() else ():
            if found.name.startswith("."):
                # Somebody may be at it; nobody is for so long.
                gone = found.suffix == ".building" and found.stat().st_mtime < long_ago
            else:
                gone = found.name not in names
            if gone:
                shutil.rmtree(found, ignore_errors=True)

    async def _build(self, built: Path, requirements: Sequence[str], folder: Path, told: ReportProgress) -> None:
        for left in self._root.glob(f".{built.name}.*.building"):
            await _remove(left)
        staged = self._root / f".{built.name}.{token_hex(4)}.building"
        told(f"building an environment with {', '.join(requirements)}")
        try:
            with anyio.fail_after(_BUILD_TIMEOUT_S):
                for command in self._commands(staged, requirements):
                    await _run_command(command, folder, told)
        except TimeoutError:
            await _remove(staged)
            raise EnvironmentBuildError(
                f"has no environment: building it took longer than {_BUILD_TIMEOUT_S:g} s"
            ) from None
        except BaseException:
            await _remove(staged)
            raise
        await anyio.to_thread.run_sync(_move_environment, staged, built)
        told("the environment is ready")

    def _commands(self, staged: Path, requirements: Sequence[str]) -> Sequence[Sequence[str]]:
        python, ours = str(_interpreter(staged)), sys.executable
        if (uv := self._find("uv")) is not None:
            return (
                (uv, "venv", "--quiet", "--no-project", "--python", ours, str(staged)),
                (uv, "pip", "install", "--compile-bytecode", "--python", python, "--", *requirements),
            )
        install = ("install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--", *requirements)
        if find_spec("pip") is not None:
            # Ours installs into it, which spares it a copy of its own.
            return (ours, "-m", "venv", "--without-pip", str(staged)), (ours, "-m", "pip", "--python", python, *install)
        return (ours, "-m", "venv", str(staged)), (python, "-m", "pip", *install)


def _environment_name(requirements: Sequence[str], folder: Path) -> str:
    """Equal for equal requirements on an equal Python. Of a file it is the content that counts."""
    told = [sys.version, platform.platform(), sys.base_prefix]
    for requirement in sorted(requirement.strip() for requirement in requirements):
        told.append(requirement)
        if (found := _LOCAL_REQUIREMENT.match(requirement)) is not None and (
            file := folder / found["path"].strip()
        ).is_file():
            told.append(hashlib.sha256(file.read_bytes()).hexdigest())
        elif found is not None and "://" not in found["path"]:
            told.append(str(folder))
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:32]


def _interpreter(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


@asynccontextmanager
async def _exclusive(lock: Path) -> AsyncIterator[None]:
    """Of all who build the same, in whichever process, one at a time. The lock of a process that was killed is free."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            await anyio.sleep(_POLL_INTERVAL_S)
        yield
    finally:
        os.close(file)


async def _run_command(command: Sequence[str], folder: Path, told: ReportProgress) -> None:
    """Raises `EnvironmentBuildError` with its own words for what went wrong."""
    passed_on = {name: value for name, value in os.environ.items() if _INSTALLER_VARIABLES.fullmatch(name)}
    child.prevent_descriptor_inheritance()
    process = await anyio.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        env={**inherited_environment(), **passed_on},
        cwd=folder,
        start_new_session=True,
    )
    said: list[str] = []
    try:
        assert process.stdout is not None
        rest = b""
        async for chunk in process.stdout:
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                if text := one_line(line.decode("utf-8", "replace"), _MAX_LINE_CHARS):
                    said = [*said[-20:], text]
                    told(text)
        code = await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            await process.aclose()
    if code:
        last = next(
            (line for line in reversed(said) if _ERROR_PREFIX.match(line)), said[-1] if said else f"exit code {code}"
        )
        raise EnvironmentBuildError(
            f"has no environment, because its requirements cannot be installed: {_ERROR_PREFIX.sub('', last)}"
        )


def _move_environment(staged: Path, built: Path) -> None:
    """Programs of packages name their interpreter by its path, which is another after the move."""
    before, after = os.fsencode(staged), os.fsencode(built)
    for file in _interpreter(staged).parent.iterdir():
        if file.is_symlink() or not file.is_file() or file.stat().st_size > 1_000_000:
            continue
        if before in (content := file.read_bytes()) and b"\0" not in content:
            file.write_bytes(content.replace(before, after))
    os.rename(staged, built)


async def _remove(staged: Path) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(lambda: shutil.rmtree(staged, ignore_errors=True))
