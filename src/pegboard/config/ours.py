"""Whether what lies on this machine is this user's own to trust: the file of a folder, and the data directory."""

import os
import shlex
import stat
from pathlib import Path
from typing import Final

from .places import ADDRESS_FILE_NAME, DATABASE_FILE_NAME, LOCK_FILE_NAME, TOKENS_REQUIRED_FILE_NAME

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
