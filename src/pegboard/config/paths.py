"""Paths on this machine: settings file, data directory, address file of the running gateway; locks and permissions."""

import codecs
import errno
import json
import os
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from pegboard.config.schema.document import FileProblem, MapNode

CONFIG_FILE_NAME: Final = "pegboard.yaml"
DATABASE_FILE_NAME: Final = "pegboard.db"
ADDRESS_FILE_NAME: Final = "gateway.json"
ACCEPTED_SETTINGS_FILE_NAME: Final = "accepted-settings"
LOCK_FILE_NAME: Final = "gateway.lock"
TOKENS_REQUIRED_FILE_NAME: Final = "tokens-required"

_LOCK_ATTEMPTS: Final = 5
_LOCK_RETRY_INTERVAL_S: Final = 0.1


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

    own = Path(platformdirs.user_config_dir("pegboard", appauthor=False)) / CONFIG_FILE_NAME
    usual = (Path.cwd() / CONFIG_FILE_NAME, own) if here else (own,)
    return next((path for path in usual if path.is_file()), None)


def is_from_working_directory(path: Path, said: Path | None, environ: Mapping[str, str]) -> bool:
    """Whether nobody named this file: it is used because it lies where the command was typed."""
    return said is None and not environ.get("PEGBOARD_CONFIG") and path == Path.cwd() / CONFIG_FILE_NAME


def ensure_directory(directory: Path) -> Path:
    """The directory, made if need be, for its owner's eyes only."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


@dataclass(frozen=True)
class GatewayAddress:
    """Where a gateway listens and the start-up token that its operator's API asks for."""

    url: str
    token: str
    pid: int


@dataclass(frozen=True)
class UnusableAddress:
    """Why there is no address to use; it reads on from `but`."""

    why: str


def write_address(directory: Path, address: GatewayAddress) -> None:
    """Readable by its owner alone from the first moment, and never half written."""
    target, fresh = directory / ADDRESS_FILE_NAME, directory / f"{ADDRESS_FILE_NAME}.{os.getpid()}"
    text = json.dumps({"url": address.url, "token": address.token, "pid": address.pid})
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(target)


def remember_settings(directory: Path, digest: str) -> None:
    """The file that was in force last. It is not refused for what changes in the store afterwards (ADR 16)."""
    with suppress(OSError):
        (directory / ACCEPTED_SETTINGS_FILE_NAME).write_text(digest, "utf-8")


def remembered_settings(directory: Path) -> str | None:
    """The SHA-256 of that file."""
    try:
        return (directory / ACCEPTED_SETTINGS_FILE_NAME).read_text("utf-8").strip()
    except (OSError, ValueError):
        return None


def read_address(directory: Path) -> GatewayAddress | UnusableAddress:
    path = directory / ADDRESS_FILE_NAME
    try:
        if others_have_access(path, 0o077) or not is_owned_by_user(path):
            return UnusableAddress(f"others than you may use {path}, or it is not yours")
        told = json.loads(path.read_text("utf-8"))
        return GatewayAddress(str(told["url"]), str(told["token"]), int(told["pid"]))
    except FileNotFoundError:
        return UnusableAddress(f"there is no {path}")
    except OSError as error:
        return UnusableAddress(f"{path} cannot be read: {error.strerror or error}")
    except (ValueError, KeyError, TypeError):
        return UnusableAddress(f"{path} is not what a gateway writes")


def forget_address(directory: Path, pid: int) -> None:
    told = read_address(directory)
    if isinstance(told, GatewayAddress) and told.pid == pid:
        (directory / ADDRESS_FILE_NAME).unlink(missing_ok=True)


def remember_required_tokens(directory: Path, at: datetime) -> None:
    """The store may be moved or emptied; this stays with the data directory."""
    path = directory / TOKENS_REQUIRED_FILE_NAME
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(f"Callers must show tokens since {at.isoformat()}. To open it again: pegboard serve --open\n")


def tokens_were_required(directory: Path) -> bool:
    return (directory / TOKENS_REQUIRED_FILE_NAME).exists()


def forget_required_tokens(directory: Path) -> None:
    (directory / TOKENS_REQUIRED_FILE_NAME).unlink(missing_ok=True)


def others_have_access(path: Path, bits: int) -> bool:
    """Whether the permissions give any of these bits. Elsewhere than on POSIX they say nothing of the kind."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & bits)


def is_owned_by_user(path: Path) -> bool:
    return os.name != "posix" or path.stat().st_uid == os.getuid()


@contextmanager
def acquire_lock(directory: Path) -> Iterator[bool]:
    """Whether this process is the only gateway on the directory; the system gives the place back when it dies."""
    # For its owner alone: whoever may open it could hold the lock and keep a gateway from starting.
    with os.fdopen(os.open(directory / LOCK_FILE_NAME, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        # Whoever only asks whether a gateway runs holds the lock for a moment.
        for _ in range(_LOCK_ATTEMPTS):
            if alone := try_lock(file.fileno(), shared=False):
                # One that was killed left its address behind, and whoever read that now would knock at a wrong door.
                (directory / ADDRESS_FILE_NAME).unlink(missing_ok=True)
                break
            time.sleep(_LOCK_RETRY_INTERVAL_S)
        yield alone


def is_locked(directory: Path) -> bool:
    """Whether a gateway runs on the directory, or is about to."""
    try:
        with open(directory / LOCK_FILE_NAME, "rb") as file:
            return not try_lock(file.fileno(), shared=True)
    except OSError:
        return False


def try_lock(descriptor: int, *, shared: bool) -> bool:
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


# Whether what lies on this machine is this user's own to trust: the file of a folder, and the data directory.

_TRUSTED_FILES: Final = (DATABASE_FILE_NAME, "secret.key", ADDRESS_FILE_NAME, LOCK_FILE_NAME, TOKENS_REQUIRED_FILE_NAME)
_ROOT_UID: Final = 0


def untrusted_file_reason(path: Path) -> str | None:
    """Why a file that nobody named, and that says which programs are started, is not used. Ends in what to do."""
    if os.name != "posix":
        return None
    status = path.stat()
    if status.st_uid not in (os.getuid(), _ROOT_UID):
        return f"it belongs to another user. If you trust what it starts, name it: --config {shlex.quote(str(path))}"
    if status.st_mode & stat.S_IWOTH:
        return f"everybody may write to it, and so choose what is started. Run: chmod o-w {shlex.quote(str(path))}"
    return None


def untrusted_directory_reason(directory: Path) -> str | None:
    """Why decisions and secrets are not kept in a directory: whoever writes there could make decisions of their own."""
    if os.name != "posix":
        return None
    where, status = shlex.quote(str(directory)), directory.stat()
    if status.st_uid not in (os.getuid(), _ROOT_UID):
        return "it belongs to another user. Choose another: --data-dir"
    if status.st_mode & stat.S_ISVTX and status.st_mode & stat.S_IWOTH:
        return "it is everybody's. Choose another: --data-dir"
    # A group of one's own, which many systems give to every user, holds nobody else.
    shared = status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid()
    if status.st_mode & stat.S_IWOTH or shared:
        return f"others may write to it, and so could take the gateway over. Run: chmod go-w {where}"
    for name in _TRUSTED_FILES:
        if (planted := _untrusted_entry_reason(directory / name)) is not None:
            return planted
    return None


def _untrusted_entry_reason(path: Path) -> str | None:
    shown = shlex.quote(str(path))
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return (
            f"{path.name} in it is a link to {os.readlink(path)}. If you did not make it, remove it: rm {shown}. "
            "To keep the store elsewhere, name that place under store: in pegboard.yaml"
        )
    if status.st_uid not in (os.getuid(), _ROOT_UID):
        return f"{path.name} in it belongs to another user. Move it away: mv {shown} {shlex.quote(f'{path}.other')}"
    return None


# Reading a text file that a person pointed at: everything that can be wrong with a file is told as a problem.


def read_bytes(path: Path, limit: int, file: str | None = None) -> bytes | FileProblem:
    """`file` is how the person named it."""
    name = str(path) if file is None else file
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            return FileProblem(name, 0, "", "this is a folder. Name a file in it.")
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except ValueError:
        return FileProblem(name, 0, "", "no file can have this name: it holds a NUL character.")
    except OSError as error:
        return FileProblem(name, 0, "", _read_error_message(error))
    if len(content) > limit:
        return FileProblem(
            name, 0, "", f"larger than {limit // 1_000_000} MB, which is the limit. Is it the right file?"
        )
    return content


def decode_text(content: bytes, file: str) -> str | FileProblem:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return FileProblem(file, 1, "", "this file is saved as UTF-16. Save it as UTF-8.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return FileProblem(
            file, line, "", f"the byte 0x{content[error.start]:02X} is not UTF-8. Save the file as UTF-8."
        )


def _read_error_message(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "there is no such file. Check the path, or create it."
        case errno.EACCES | errno.EPERM:
            return "you may not read this file. Change its permissions, or run as a user who may."
        case errno.ELOOP:
            return "this is a link that leads back to itself. Point it at a file."
        case _:
            return f"it cannot be read: {error.strerror or error}."


# The operator's file as it was read: each value with its line.


@dataclass(frozen=True)
class SettingsSource:
    """Without a file, nothing is."""

    file: str | None = None
    root: MapNode | None = None
    digest: str = ""
    """Of its bytes, by SHA-256."""


# Folders and files for their owner alone, whatever the umask of the process is.

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600


def make_private_folder(folder: Path) -> None:
    """With those above it that are missing. What is there already keeps its mode. Raises `OSError`."""
    # `Path.mkdir` gives its mode to the last folder only, and the umask's to those above it.
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=FOLDER_MODE, exist_ok=True)


def copy_privately(source: Path, target: Path) -> None:
    """A new file; where `source` is a link, a link. Raises `OSError`."""
    shutil.copyfile(source, target, follow_symlinks=False)
    if not target.is_symlink():
        target.chmod(FILE_MODE)


def open_private_file(target: Path) -> int:
    """A descriptor of a new file to write to. Raises `OSError` where something is there already, a link included."""
    return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), FILE_MODE)
