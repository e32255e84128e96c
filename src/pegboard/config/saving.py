"""A setting written into the operator's file by a person at the pages: only some, and only what the file then takes.

Never what starts a program, opens a port, names a secret or lets tools through: that is for whoever edits the file.
"""

import difflib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pegboard.core.tool import Json

from . import keys
from .editing import UneditableError, set_value
from .files import decode_text, read_bytes
from .problem import FileProblem
from .section import ConfigSection
from .settings import MAX_SETTINGS_BYTES, InvalidFile, load_settings_text
from .shape import BooleanField, ChoiceField, DurationField, ListField

_EDITABLE_SECTIONS: Final = frozenset(
    {"redact", "presentation", "presentation_threshold", "always_visible", "materialised_tools"}
)
_EDITABLE_PREFIXES: Final = ("audit.", "confirmation.", "chat.limits.", "code.limits.")
_EDITABLE_KEYS: Final = frozenset(
    {"search.semantic", "prompts.budget", "prompts.result_limit", "prompts.run_recovered_calls", "code.type_check"}
)
_BOM: Final = "\ufeff"


SettingKind: TypeAlias = Literal["truth", "whole", "seconds", "choice", "texts"]


@dataclass(frozen=True)
class AcceptedValue:
    """What a setting takes: a whole number, a duration as a number of seconds or as "5m", one of some words, a list."""

    kind: SettingKind
    choices: tuple[str, ...] = ()


class FileChangedError(Exception):
    """The file is no longer what was looked at."""

    def __init__(self) -> None:
        super().__init__("The file was edited meanwhile. Look at it again before you change it.")


@dataclass(frozen=True)
class SettingEdit:
    """`patch` shows the lines that differ, as `diff -u` does. Empty: the file says so already."""

    patch: str
    digest: str
    """Of the file with the change in it."""


def is_editable(key: str) -> bool:
    return key in _EDITABLE_SECTIONS or key in _EDITABLE_KEYS or key.startswith(_EDITABLE_PREFIXES)


def accepted_value(key: str) -> AcceptedValue:
    """Raises `KeyError` for a key that there is not."""
    section, (*within, last) = keys.PEGBOARD, key.split(".")
    for name in within:
        inner = {each.name: each.field_type for each in section.keys}[name]
        if not isinstance(inner, ConfigSection):
            raise KeyError(key)
        section = inner
    match {each.name: each.field_type for each in section.keys}[last]:
        case BooleanField():
            return AcceptedValue("truth")
        case ChoiceField(words):
            return AcceptedValue("choice", tuple(words))
        case ListField():
            return AcceptedValue("texts")
        case DurationField():
            return AcceptedValue("seconds")
        case _:
            return AcceptedValue("whole")


def change_setting(
    path: Path, key: str, value: Json, based_on: str, environ: Mapping[str, str], *, dry: bool
) -> SettingEdit:
    """The file with this value in it, written unless it is only tried: whole or not at all.

    Raises `Uneditable` with the reason, and `Overtaken` where the file is not the one that was looked at.
    """
    if not is_editable(key):
        raise UneditableError(f"{key} is not changed here. Edit it in the file.")
    content = _content(path)
    if hashlib.sha256(content).hexdigest() != based_on:
        raise FileChangedError
    if path.suffix.lower() in (".json", ".jsonc"):
        raise UneditableError("A file of JSON is not edited here. Edit it by hand.")
    text = decode_text(content, str(path))
    if isinstance(text, FileProblem):
        raise UneditableError(str(text))
    edited = set_value(text, key.split("."), value)
    loaded = load_settings_text(edited, str(path), path.absolute().parent, environ)
    if isinstance(loaded, InvalidFile):
        raise UneditableError("\n".join(problem.message for problem in loaded.problems))
    raw = f"{_BOM if content.startswith(_BOM.encode()) else ''}{edited}".encode()
    if not dry and raw != content:
        _write(path.resolve(), raw)
    return SettingEdit("".join(_patch(text, edited, path.name)), hashlib.sha256(raw).hexdigest())


def _content(path: Path) -> bytes:
    content = read_bytes(path, MAX_SETTINGS_BYTES)
    if isinstance(content, FileProblem):
        raise UneditableError(str(content))
    return content


def _patch(before: str, after: str, name: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    yield from (f"{line}\n" for line in lines)


def _write(path: Path, content: bytes) -> None:
    """Beside it first, then in its place: whoever reads the file meanwhile reads the one or the other."""
    try:
        known = path.stat()
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UneditableError(_unwritable_message(path, error)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).chmod(known.st_mode & 0o7777)
        with suppress(OSError, AttributeError):
            os.chown(beside, known.st_uid, known.st_gid)
        Path(beside).replace(path)
    except OSError as error:
        with suppress(OSError):
            Path(beside).unlink()
        raise UneditableError(_unwritable_message(path, error)) from None


def _unwritable_message(path: Path, error: OSError) -> str:
    return f"{path} cannot be written: {error.strerror or error}. Edit it where it comes from."
