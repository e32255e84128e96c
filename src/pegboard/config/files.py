"""Reading a text file that a person pointed at: everything that can be wrong with a file is told as a problem."""

import codecs
import errno
import stat
from pathlib import Path

from .problem import FileProblem


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
