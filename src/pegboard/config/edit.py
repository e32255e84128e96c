"""Edits a setting in pegboard.yaml for the web UI, if the file stays valid. Never a setting that starts a program,
opens a port, names a secret or opens tools.

Never what starts a program, opens a port, names a secret or lets tools through: that is for whoever edits the file.
"""

import difflib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import yaml

from pegboard.config.keys import root
from pegboard.config.paths import decode_text, read_bytes
from pegboard.config.schema.document import FileProblem, MapNode, to_json
from pegboard.config.schema.fields import BooleanField, ChoiceField, DurationField, ListField
from pegboard.config.schema.parse import parse_yaml
from pegboard.config.schema.section import ConfigSection
from pegboard.config.settings import MAX_SETTINGS_BYTES, InvalidFile, load_settings_text
from pegboard.core.json.values import Json

# One value of the operator's YAML changed in its text: every other character stays, comments and all.
#
# Whatever cannot be changed so for certain is left alone, and told: the text that comes out is read again, and must
# say
# the same as before but for this one value.

_INDENT: Final = "  "
_MUST_ESCAPE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class UneditableError(Exception):
    """Why the text is left as it is, and what to do."""


def set_value(text: str, path: Sequence[str], value: Json) -> str:
    """The text with this value at the path. Raises `UneditableError`."""
    before = _parse_values(text)
    wanted = _set_path(before, path, value)
    if wanted == before:
        return text
    edited = _edit_text(text, path, value)
    try:
        after = _parse_values(edited)
    except UneditableError:
        after = None
    if after != wanted:
        raise UneditableError(
            f"{'.'.join(path)} is written in a way that only a person can change. Edit it in the file."
        )
    return edited


def _edit_text(text: str, path: Sequence[str], value: Json) -> str:
    ends = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return (
            f"{text}{'' if not text or text.endswith(ends) else ends}{ends.join(_block_lines(path, value, ''))}{ends}"
        )
    node: yaml.Node = root
    for depth, name in enumerate(path):
        if not isinstance(node, yaml.MappingNode):
            raise UneditableError(f"{'.'.join(path[:depth])} is not a map. Edit it in the file.")
        entry = next(((key, held) for key, held in node.value if key.value == name), None)
        if entry is None:
            return _insert_entry(text, node, path[depth:], value, ends)
        key, node = entry
        rest = path[depth + 1 :]
        if not rest:
            return _replace_value(text, key, node, _flow_text(value))
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
            return _replace_value(text, key, node, _flow_text(_nest_value(rest, value)))
    raise AssertionError("a path has at least one name")


def _insert_entry(text: str, node: yaml.MappingNode, path: Sequence[str], value: Json, ends: str) -> str:
    begins = node.start_mark.index
    if text[begins] == "{":
        joint = ", " if node.value else ""
        return f"{text[: begins + 1]}{path[0]}: {_flow_text(_nest_value(path[1:], value))}{joint}{text[begins + 1 :]}"
    first = node.value[0][0].start_mark
    indent = text[first.index - first.column : first.index]
    at = _end_index(node)
    if at == 0 or text[at - 1] != "\n":
        line = text.find("\n", at)
        at = len(text) if line < 0 else line + 1
    lead = "" if at == 0 or text[at - 1] == "\n" else ends
    return f"{text[:at]}{lead}{ends.join(_block_lines(path, value, indent))}{ends}{text[at:]}"


def _replace_value(text: str, key: yaml.Node, node: yaml.Node, written: str) -> str:
    begins, ends = node.start_mark.index, _end_index(node)
    if isinstance(node, yaml.CollectionNode) and "#" in text[begins:ends]:
        raise UneditableError(f"{key.value} holds remarks that would be lost. Edit it in the file.")
    if isinstance(node, yaml.SequenceNode) and not text.startswith("[", begins):
        # A list of lines becomes one in brackets, behind its key.
        begins = text.index(":", key.end_mark.index) + 1
    return f"{text[:begins]}{'' if text[begins - 1 : begins] == ' ' else ' '}{written}{text[ends:]}"


def _end_index(node: yaml.Node) -> int:
    """Where its last character stands: the library counts the empty lines and remarks behind a block as part of it."""
    last = node
    while isinstance(last, yaml.CollectionNode) and last.value and not last.flow_style:
        inner = last.value[-1]
        last = inner[1] if isinstance(inner, tuple) else inner
    return int(last.end_mark.index)


def _block_lines(path: Sequence[str], value: Json, indent: str) -> list[str]:
    lines = [f"{indent}{_INDENT * depth}{name}:" for depth, name in enumerate(path)]
    return [*lines[:-1], f"{lines[-1]} {_flow_text(value)}"]


def _nest_value(path: Sequence[str], value: Json) -> Json:
    return {path[0]: _nest_value(path[1:], value)} if path else value


def _flow_text(value: Json) -> str:
    """JSON is YAML, too, but for what YAML takes for the end of a line or cannot hold as it is."""
    return _MUST_ESCAPE.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))


def _parse_values(text: str) -> Json:
    parsed = parse_yaml(text, "")
    if parsed.problems or not isinstance(parsed.root, MapNode | None):
        raise UneditableError("The file cannot be read as it is. Mend it first.")
    return {} if parsed.root is None else to_json(parsed.root)


def _set_path(said: Json, path: Sequence[str], value: Json) -> Json:
    if not path:
        return value
    held: Mapping[str, Json] = said if isinstance(said, dict) else {}
    if said is not None and not isinstance(said, dict):
        raise UneditableError(f"{path[0]} has no place there. Edit it in the file.")
    return {**held, path[0]: _set_path(held.get(path[0]), path[1:], value)}


_EDITABLE_SECTIONS: Final = frozenset(
    {"redact", "presentation", "presentation_threshold", "always_visible", "materialised_tools"}
)
_EDITABLE_PREFIXES: Final = ("audit.", "confirmation.", "chat.limits.", "code.limits.")
_EDITABLE_KEYS: Final = frozenset(
    {"search.semantic", "prompts.budget", "prompts.result_limit", "prompts.run_recovered_calls", "code.type_check"}
)
_BOM: Final = "\ufeff"


SettingKind: TypeAlias = Literal["boolean", "integer", "seconds", "choice", "list"]


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
    section, (*within, last) = root.PEGBOARD, key.split(".")
    for name in within:
        inner = {each.name: each.field_type for each in section.keys}[name]
        if not isinstance(inner, ConfigSection):
            raise KeyError(key)
        section = inner
    match {each.name: each.field_type for each in section.keys}[last]:
        case BooleanField():
            return AcceptedValue("boolean")
        case ChoiceField(words):
            return AcceptedValue("choice", tuple(words))
        case ListField():
            return AcceptedValue("list")
        case DurationField():
            return AcceptedValue("seconds")
        case _:
            return AcceptedValue("integer")


def change_setting(
    path: Path, key: str, value: Json, based_on: str, environ: Mapping[str, str], *, dry: bool
) -> SettingEdit:
    """The file with this value in it, written unless it is only tried: whole or not at all.

    Raises `UneditableError` with the reason, and `FileChangedError` where the file is not the one that was looked at.
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
