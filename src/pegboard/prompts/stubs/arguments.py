"""Arguments of a tool as a program names them, and as the tool does."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final

from pegboard.core.tool import Json, JsonObject, JsonSchema

from .names import is_plain_name

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_]+")
_MAX_NAME_LENGTH: Final = 48


def argument_names(keys: Iterable[str]) -> Mapping[str, str]:
    """What each key is called in a program: itself, where Python takes that as the name of an argument."""
    wanted = {key: key if is_plain_name(key) else _legal_name(key) for key in keys}
    counts = Counter(wanted.values())
    taken = {*wanted.values()}
    named: dict[str, str] = {}
    for key, name in wanted.items():
        if name != key and counts[name] > 1:
            longer = (f"{name[:_MAX_NAME_LENGTH]}_{_digest(key, attempt)}" for attempt in count(1))
            name = next(each for each in longer if each not in taken)
            taken.add(name)
        named[key] = name
    return named


def to_tool_names(arguments: Mapping[str, Json], keys: Iterable[str]) -> JsonObject:
    """What a program gave, by the tool's own keys. One that is none of them stays as it is, for the tool to refuse."""
    own = [*keys]
    back = {name: key for key, name in argument_names(own).items()} | {key: key for key in own}
    return {back.get(name, name): value for name, value in arguments.items()}


def to_program_names(schema: JsonSchema) -> JsonSchema:
    """The schema of a tool's arguments, by the names that a program has for them."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or all(map(is_plain_name, properties)):
        return schema
    named = argument_names(properties)
    return {**schema, "properties": {named[key]: value for key, value in properties.items()}}


def _legal_name(key: str) -> str:
    name = _ILLEGAL.sub("_", key).strip("_") or "argument"
    if name[0].isdigit():
        name = f"n_{name}"
    if len(name) > _MAX_NAME_LENGTH:
        return f"{name[:_MAX_NAME_LENGTH]}_{_digest(key)}"
    return name if is_plain_name(name) else f"{name}_"


def _digest(key: str, attempt: int = 1) -> str:
    return hashlib.sha256(f"{key}#{attempt}".encode("utf-8", "surrogatepass")).hexdigest()[:6]
