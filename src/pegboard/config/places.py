"""Where things lie on this machine: the operator's file, the data directory, the running gateway's address."""

import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import platformdirs

FILE_NAME: Final = "pegboard.yaml"
DATABASE: Final = "pegboard.db"
ADDRESS: Final = "gateway.json"
LOCK: Final = "gateway.lock"


def data_directory(said: Path | None, environ: Mapping[str, str]) -> Path:
    """The flag first, then the environment, then the user's own place for data."""
    if said is not None:
        return said.absolute()
    named = environ.get("PEGBOARD_DATA_DIR")
    return Path(named).absolute() if named else Path(platformdirs.user_data_dir("pegboard", appauthor=False))


def config_file(said: Path | None, environ: Mapping[str, str]) -> Path | None:
    """As said, by flag or environment, even if it is not there; else the first of the usual places that has one."""
    if said is not None:
        return said.absolute()
    if named := environ.get("PEGBOARD_CONFIG"):
        return Path(named).absolute()
    usual = (Path.cwd() / FILE_NAME, Path(platformdirs.user_config_dir("pegboard", appauthor=False)) / FILE_NAME)
    return next((path for path in usual if path.is_file()), None)


def made(directory: Path) -> Path:
    """The directory, made if need be, for its owner's eyes only."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


@dataclass(frozen=True)
class Address:
    """Where a gateway listens and the start-up token that its operator's API asks for."""

    url: str
    token: str
    pid: int


def write_address(directory: Path, address: Address) -> None:
    """Readable by its owner alone from the first moment, and never half written."""
    target, fresh = directory / ADDRESS, directory / f"{ADDRESS}.{os.getpid()}"
    text = json.dumps({"url": address.url, "token": address.token, "pid": address.pid})
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(target)


def read_address(directory: Path) -> Address | None:
    """`None` when no gateway left one, or what is there is not one."""
    path = directory / ADDRESS
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            return None
        told = json.loads(path.read_text("utf-8"))
        return Address(str(told["url"]), str(told["token"]), int(told["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget_address(directory: Path, pid: int) -> None:
    told = read_address(directory)
    if told is not None and told.pid == pid:
        (directory / ADDRESS).unlink(missing_ok=True)


@contextmanager
def only_one(directory: Path) -> Iterator[bool]:
    """Whether this process is the only gateway on the directory; the system gives the place back when it dies."""
    with open(directory / LOCK, "a+b") as file:
        yield _locked(file.fileno())


def _locked(descriptor: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        attempt = partial(msvcrt.locking, descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        attempt = partial(fcntl.flock, descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        attempt()
    except OSError:
        return False
    return True
