"""Where things lie on this machine: the operator's file, the data directory, the running gateway's address."""

import json
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

FILE_NAME: Final = "pegboard.yaml"
DATABASE: Final = "pegboard.db"
ADDRESS: Final = "gateway.json"
ACCEPTED: Final = "accepted-settings"
LOCK: Final = "gateway.lock"
TOKENS_REQUIRED: Final = "tokens-required"

_ATTEMPTS: Final = 5
_PAUSE: Final = 0.1


def data_directory(said: Path | None, environ: Mapping[str, str]) -> Path:
    """The flag first, then the environment, then the user's own place for data."""
    if said is not None:
        return said.absolute()
    named = environ.get("PEGBOARD_DATA_DIR")
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("pegboard", appauthor=False))


def config_file(said: Path | None, environ: Mapping[str, str], *, here: bool = True) -> Path | None:
    """As said, by flag or environment, even if it is not there; else the first of the usual places that has one.

    Not `here` for a gateway that a client starts in whatever folder it has open: a folder must not choose its programs.
    """
    if said is not None:
        return said.absolute()
    if named := environ.get("PEGBOARD_CONFIG"):
        return Path(named).absolute()
    import platformdirs

    own = Path(platformdirs.user_config_dir("pegboard", appauthor=False)) / FILE_NAME
    usual = (Path.cwd() / FILE_NAME, own) if here else (own,)
    return next((path for path in usual if path.is_file()), None)


def is_of_folder(path: Path, said: Path | None, environ: Mapping[str, str]) -> bool:
    """Whether nobody named this file: it is used because it lies where the command was typed."""
    return said is None and not environ.get("PEGBOARD_CONFIG") and path == Path.cwd() / FILE_NAME


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


@dataclass(frozen=True)
class Unusable:
    """Why there is no address to use; it reads on from `but`."""

    why: str


def write_address(directory: Path, address: Address) -> None:
    """Readable by its owner alone from the first moment, and never half written."""
    target, fresh = directory / ADDRESS, directory / f"{ADDRESS}.{os.getpid()}"
    text = json.dumps({"url": address.url, "token": address.token, "pid": address.pid})
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(target)


def remember_settings(directory: Path, digest: str) -> None:
    """The file that was in force last. It is not refused for what changes in the store afterwards (ADR 16)."""
    with suppress(OSError):
        (directory / ACCEPTED).write_text(digest, "utf-8")


def remembered_settings(directory: Path) -> str | None:
    """The SHA-256 of that file."""
    try:
        return (directory / ACCEPTED).read_text("utf-8").strip()
    except (OSError, ValueError):
        return None


def read_address(directory: Path) -> Address | Unusable:
    path = directory / ADDRESS
    try:
        if others_may(path, 0o077) or not is_ours(path):
            return Unusable(f"others than you may use {path}, or it is not yours")
        told = json.loads(path.read_text("utf-8"))
        return Address(str(told["url"]), str(told["token"]), int(told["pid"]))
    except FileNotFoundError:
        return Unusable(f"there is no {path}")
    except OSError as error:
        return Unusable(f"{path} cannot be read: {error.strerror or error}")
    except (ValueError, KeyError, TypeError):
        return Unusable(f"{path} is not what a gateway writes")


def forget_address(directory: Path, pid: int) -> None:
    told = read_address(directory)
    if isinstance(told, Address) and told.pid == pid:
        (directory / ADDRESS).unlink(missing_ok=True)


def remember_required_tokens(directory: Path, at: datetime) -> None:
    """The store may be moved or emptied; this stays with the data directory."""
    path = directory / TOKENS_REQUIRED
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(f"Callers must show tokens since {at.isoformat()}. To open it again: pegboard serve --open\n")


def tokens_were_required(directory: Path) -> bool:
    return (directory / TOKENS_REQUIRED).exists()


def forget_required_tokens(directory: Path) -> None:
    (directory / TOKENS_REQUIRED).unlink(missing_ok=True)


def others_may(path: Path, bits: int) -> bool:
    """Whether the permissions give any of these bits. Elsewhere than on POSIX they say nothing of the kind."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & bits)


def is_ours(path: Path) -> bool:
    return os.name != "posix" or path.stat().st_uid == os.getuid()


@contextmanager
def only_one(directory: Path) -> Iterator[bool]:
    """Whether this process is the only gateway on the directory; the system gives the place back when it dies."""
    # For its owner alone: whoever may open it could hold the lock and keep a gateway from starting.
    with os.fdopen(os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        # Whoever only asks whether a gateway runs holds the lock for a moment.
        for _ in range(_ATTEMPTS):
            if alone := _locked(file.fileno(), shared=False):
                # One that was killed left its address behind, and whoever read that now would knock at a wrong door.
                (directory / ADDRESS).unlink(missing_ok=True)
                break
            time.sleep(_PAUSE)
        yield alone


def is_held(directory: Path) -> bool:
    """Whether a gateway runs on the directory, or is about to."""
    try:
        with open(directory / LOCK, "rb") as file:
            return not _locked(file.fileno(), shared=True)
    except OSError:
        return False


def _locked(descriptor: int, *, shared: bool) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
