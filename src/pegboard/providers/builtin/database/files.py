"""What the engines for files share: why a file cannot be opened, and what a check of its schema finds."""

import os
import stat
from pathlib import Path

from pegboard.core.database import Access, Finding, Schema


def problem_with_file(path: str, title: str, offset: int, magic: bytes, *, may_be_empty: bool = False) -> str | None:
    """`magic` is what a database of this kind has at `offset`."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return f"{path!r} is a folder. Name the database file in it."
        if not stat.S_ISREG(mode):
            return f"{path!r} is no ordinary file. Name a database file."
        with Path(path).open("rb") as file:
            header = file.read(offset + len(magic))
    except FileNotFoundError:
        return f"There is no file {path!r}. Check the path of the source, or create the database first."
    except OSError as error:
        return f"{path!r} cannot be read: {error.strerror or error}. Let the gateway's user read it."
    if header[offset:] != magic and not (may_be_empty and not header):
        return f"{path!r} is not a {title} database: it begins with other bytes. Check the path, or decrypt it."
    return None


def schema_findings(access: Access, whole: Schema, shown: Schema) -> tuple[Finding, ...]:
    """`whole` is what the file has, `shown` what is open of it. The gateway reports patterns of `allow` itself."""
    unmatched = (
        Finding(f"The pattern {str(each)!r} fits no table and no column. Check how it is spelt.")
        for each in access.vain(whole.names())
        if each in access.deny
    )
    if shown.tables:
        return tuple(unmatched)
    return (*unmatched, Finding("There is no table to read. Check the path and the patterns of the source."))
