"""Arguments between a program's names and the tool's names."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import JsonSchema
from pegboard.prompts.stubs.names import is_plain_name

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


# A part of a result in words: for whoever reads text alone, a model or a program.


def describe_part(part: JsonObject) -> str:
    """What is no text is told of: who is not told makes up what it was."""
    match part.get("type"):
        case "text":
            return str(part.get("text", ""))
        case "resource" if isinstance(inner := part.get("resource"), dict):
            text = inner.get("text")
            return text if isinstance(text, str) else f"[a file that is no text: {_part_names(inner)}]"
        case "resource_link":
            return f"[a link: {_part_names(part)}]"
        case kind:
            size = part.get("data")
            about = f", {len(size) * 3 // 4} bytes" if isinstance(size, str) else ""
            return f"[{kind or 'something'} that is not shown here: {part.get('mimeType', 'unknown')}{about}]"


def _part_names(part: JsonObject) -> str:
    return " ".join(str(part[key]) for key in ("uri", "name", "mimeType") if isinstance(part.get(key), str))


# What a tool answered as a program gets it: what its output schema describes, or else a text.

NOT_AS_DESCRIBED: Final = "The tool's answer is not what its output schema says: it has no structured content."


@dataclass(frozen=True, slots=True)
class UnreadableAnswer:
    why: str


def program_answer(result: JsonObject, *, described: bool) -> Json | UnreadableAnswer:
    """Of a result of the protocol. `described`: the tool has an output schema, so its stub tells of that and no other.

    A tool without one gives a text, always, and also where the text is JSON: a program that reads it says so.
    """
    structured = result.get("structuredContent")
    if described:
        if structured is not None:
            return structured
        try:
            value: Json = json.loads(result_text(result))
        except (ValueError, RecursionError):
            return UnreadableAnswer(NOT_AS_DESCRIBED)
        return value
    text = result_text(result)
    if text or structured is None:
        return text
    return json.dumps(structured, ensure_ascii=False)


def result_text(result: JsonObject) -> str:
    """Its parts, a line between."""
    content = result.get("content")
    return (
        "\n".join(describe_part(each) for each in content if isinstance(each, dict))
        if isinstance(content, list)
        else ""
    )
