"""One value of the operator's YAML changed in its text: every other character stays, comments and all.

Whatever cannot be changed so for certain is left alone, and told: the text that comes out is read again, and must say
the same as before but for this one value.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

import yaml

from pegboard.core.tool import Json

from .tree import MapNode, to_json
from .yaml_text import parse_yaml

_INDENT: Final = "  "
_MUST_ESCAPE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class UneditableError(Exception):
    """Why the text is left as it is, and what to do."""


def set_value(text: str, path: Sequence[str], value: Json) -> str:
    """The text with this value at the path. Raises `Uneditable`."""
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
