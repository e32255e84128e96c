"""Folders and files for their owner alone, whatever the umask of the process is."""

import os
import shutil
from pathlib import Path
from typing import Final

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
