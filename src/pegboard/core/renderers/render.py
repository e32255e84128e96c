"""Renders one call: `$args.path`, `$return.items[0]` and similar references are looked up, never evaluated.

Nothing is evaluated: a reference is a root and a path of names and numbers. What is missing is told and left empty.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pegboard.core.json.values import MAX_SHOWN_DEPTH, Json, JsonObject
from pegboard.core.model.references import closest_names
from pegboard.core.renderers.catalogue import (
    DEFAULT_RENDERER,
    RENDERER_NAMES,
    RENDERERS,
    KeyType,
    RendererKey,
    find_renderer,
)

REFERENCE_ROOTS: Final = ("args", "return", "chat_id", "workspace", "toolset")

MAX_STEPS: Final = 32
MAX_REFERENCES: Final = 1_000
MAX_CHARS: Final = 1_000_000
_MAX_PARSED_CHARS: Final = 1_000_000
"""Characters of a text that are read as JSON when a path leads into it."""

_STEP: Final = r"\.[A-Za-z_][\w-]*|\[-?\d{1,9}\]|\[\"[^\"\]]{0,128}\"\]|\['[^'\]]{0,128}'\]"
_REFERENCE: Final = re.compile(rf"\$(\$?)({'|'.join(REFERENCE_ROOTS)})(?![\w-])((?:{_STEP})*)")
_ONE_STEP: Final = re.compile(_STEP)
_ANY_ROOT: Final = re.compile(r"(?<!\$)\$([A-Za-z_][\w-]*)")


@dataclass(frozen=True, slots=True)
class NoValue:
    """The call has nothing there."""


@dataclass
class InterpolationState:
    """What was left empty, and how much room is left for texts."""

    missing_references: list[str] = field(default_factory=list[str])
    chars_left: int = MAX_CHARS
    references_left: int = MAX_REFERENCES
    is_truncated: bool = False


def interpolate(value: Json, roots: Mapping[str, Json], told: InterpolationState, depth: int = 0) -> Json | NoValue:
    """A text that is one reference becomes the value itself, of whatever kind; within a text it becomes words."""
    match value:
        case str():
            return _interpolate_text(value, roots, told)
        case dict() | list() if depth >= MAX_SHOWN_DEPTH:
            told.is_truncated = True
            return None
        case dict():
            return {name: _or_nothing(interpolate(inner, roots, told, depth + 1)) for name, inner in value.items()}
        case list():
            return [_or_nothing(interpolate(inner, roots, told, depth + 1)) for inner in value]
        case _:
            return value


def roots_in(value: Json) -> Iterator[str]:
    """The words after `$` in every text, whether they are roots or not. `$$` is a plain `$`."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield from _ANY_ROOT.findall(text)
            case dict() as members:
                waiting += members.values()
            case list() as items:
                waiting += items


def malformed_references(value: Json) -> Iterator[str]:
    """References whose path goes on with a bracket that opens and is no step."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                for place in _REFERENCE.finditer(text):
                    if not place[1] and text[place.end() : place.end() + 1] == "[":
                        yield text[place.start() : place.end() + 16]
            case dict() as members:
                waiting += members.values()
            case list() as items:
                waiting += items


def _or_nothing(value: Json | NoValue) -> Json:
    return None if isinstance(value, NoValue) else value


def _interpolate_text(text: str, roots: Mapping[str, Json], told: InterpolationState) -> Json | NoValue:
    whole = _REFERENCE.fullmatch(text)
    if whole is not None and not whole[1]:
        found = _look_up(whole, roots)
        if isinstance(found, NoValue):
            told.missing_references.append(text)
        return found
    shown = _REFERENCE.sub(lambda place: _reference_text(place, roots, told), text)
    return _shorten(shown, told)


def _reference_text(place: "re.Match[str]", roots: Mapping[str, Json], told: InterpolationState) -> str:
    if place[1]:
        return place[0][1:]
    told.references_left -= 1
    if told.references_left < 0:
        told.is_truncated = True
        return ""
    found = _look_up(place, roots)
    if isinstance(found, NoValue):
        told.missing_references.append(place[0])
        return ""
    return _shorten(found if isinstance(found, str) else value_text(found), told)


def value_text(value: Json) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"


def _shorten(text: str, told: InterpolationState) -> str:
    if len(text) > told.chars_left:
        told.is_truncated = True
        text = text[: told.chars_left]
    told.chars_left -= len(text)
    return text


def _look_up(place: "re.Match[str]", roots: Mapping[str, Json]) -> Json | NoValue:
    found: Json | NoValue = roots.get(place[2], _NO_VALUE)
    steps = _ONE_STEP.findall(place[3])
    if found is None or len(steps) > MAX_STEPS:
        return found if not steps and place[2] in ("args", "return") else _NO_VALUE
    for step in steps:
        found = _follow_step(found, step)
    return found


def _follow_step(value: Json | NoValue, step: str) -> Json | NoValue:
    if isinstance(value, str):
        value = parse_json_text(value)
    name = step[1:] if step[0] == "." else step[1:-1].strip("\"'")
    if isinstance(value, dict):
        return value.get(name, _NO_VALUE)
    number = name.lstrip("-")
    if isinstance(value, list) and number.isdecimal() and -len(value) <= int(name) < len(value):
        return value[int(name)]
    return _NO_VALUE


def parse_json_text(text: str) -> Json | NoValue:
    """Many servers answer with JSON as a text, and mean the value."""
    if len(text) > _MAX_PARSED_CHARS or text.lstrip()[:1] not in ("{", "["):
        return _NO_VALUE
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return _NO_VALUE
    return value


_NO_VALUE: Final = NoValue()


# What is wrong with a renderer or its configuration, each told with what may stand there.


def renderer_problem(name: str) -> str | None:
    if name == DEFAULT_RENDERER or find_renderer(name) is not None:
        return None
    known = [*RENDERER_NAMES, *(alias for each in RENDERERS for alias in each.aliases), DEFAULT_RENDERER]
    near = closest_names(name, known)
    hint = f"Did you mean {' or '.join(repr(one) for one in near)}? " if near else ""
    return f"there is no renderer {name[:64]!r}. {hint}There are: {', '.join(known)}."


def config_problems(name: str, config: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Each as the key and what is wrong with it; empty for a renderer that is not known, which is told by itself."""
    known = find_renderer(name)
    if known is None:
        return ()
    keys = {key.name: key for key in known.keys}
    return tuple((key, problem) for key, value in config.items() for problem in _problems(known.name, keys, key, value))


def _problems(name: str, keys: Mapping[str, RendererKey], key: str, value: Json) -> Iterator[str]:
    if key not in keys:
        near = closest_names(key, keys)
        hint = f"Did you mean {' or '.join(repr(one) for one in near)}? " if near else ""
        yield f"the renderer {name} does not take this. {hint}It takes: {', '.join(keys)}."
        return
    if _nesting_depth(value) > MAX_SHOWN_DEPTH:
        yield f"this is nested more than {MAX_SHOWN_DEPTH} levels deep."
        return
    if value is not None and not _is_reference(value) and not is_valid_value(keys[key].type, value):
        yield f"this must be {keys[key].type.value}, or a reference such as $args.{key} or $return."
    for place in dict.fromkeys(malformed_references(value)):
        yield (
            f'{place[:64]} breaks off. A path goes on with .name, [0] or ["a name"]; for the sign itself leave a '
            f"blank before it."
        )
    for root in dict.fromkeys(roots_in(value)):
        if root not in REFERENCE_ROOTS and (near := closest_names(root, REFERENCE_ROOTS)):
            yield (
                f"${root[:64]} refers to nothing. Did you mean {' or '.join(f'${one}' for one in near)}? "
                f"For these characters themselves write $${root[:64]}."
            )


def is_valid_value(kind: KeyType, value: Json) -> bool:
    match kind:
        case KeyType.ANY:
            return True
        case KeyType.TEXT:
            return isinstance(value, str)
        case KeyType.FLAG:
            return isinstance(value, bool)
        case KeyType.PORT:
            return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535
        case KeyType.ADDRESS:
            return isinstance(value, str) and value.startswith(("http://", "https://"))
        case KeyType.FILE | KeyType.PATH:
            return isinstance(value, str) and is_inside(value)
        case KeyType.TEXTS:
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case KeyType.NUMBER:
            return isinstance(value, int) and not isinstance(value, bool)
        case KeyType.ROWS:
            return isinstance(value, list) and all(isinstance(one, dict | list) or _is_reference(one) for one in value)
        case KeyType.OBJECTS:
            return isinstance(value, list) and all(isinstance(one, dict) or _is_reference(one) for one in value)
        case KeyType.PAIRS:
            if isinstance(value, dict):
                return True
            return isinstance(value, list) and all(
                (isinstance(one, list) and len(one) == 2) or _is_reference(one) for one in value
            )


def _is_reference(value: Json) -> bool:
    return isinstance(value, str) and value.startswith("$")


def is_inside(path: str, folder: str | None = None) -> bool:
    """Whether a path stays in the folder it is taken from, on every system. Where the folder is known, its own name may
    stand before it."""
    plain = path.replace("\\", "/")
    if folder and plain.startswith(whole := folder.replace("\\", "/").rstrip("/") + "/"):
        plain = plain[len(whole) :]
    parts = plain.split("/")
    return bool(plain) and ".." not in parts and parts[0][:1] not in ("", "~") and not {":", "\0"} & {*plain}


def _nesting_depth(value: Json) -> int:
    level, depth = [value], 0
    while level and depth <= MAX_SHOWN_DEPTH + 1:
        level = [inner for item in level for inner in _children(item)]
        depth += 1
    return depth - 1


def _children(item: Json) -> Iterator[Json]:
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list):
        yield from item


# One call as a person is to be shown it: the renderer, and its configuration filled with what the call was about.


@dataclass(frozen=True)
class RenderContext:
    """What a configuration may refer to: `$args`, `$return`, `$chat_id`, `$workspace` and `$toolset`."""

    arguments: Mapping[str, Json]
    """As the caller sent them: what overrides put in is shown to nobody."""
    result: Json = None
    """See `returned` for the result of an MCP tool."""
    chat_id: str | None = None
    workspace: str | None = None
    toolset: str | None = None


@dataclass(frozen=True)
class RenderedCall:
    renderer: str
    config: Mapping[str, Json]
    standalone: bool = False
    missing_references: tuple[str, ...] = ()
    """The references, configured or usual, that this call has nothing for. Their keys are left out."""
    is_cut: bool = False
    """Whether texts were too long to be shown whole."""
    refused_keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """By key, why what the call has there is not shown."""


def render_call(name: str, config: Mapping[str, Json], around: RenderContext) -> RenderedCall | None:
    """`None` for a renderer that does not exist. Whatever the call or the configuration holds, nothing is raised."""
    known = find_renderer(name)
    if known is None:
        return None
    roots: JsonObject = {
        "args": dict(around.arguments),
        "return": around.result,
        "chat_id": around.chat_id,
        "workspace": around.workspace,
        "toolset": around.toolset,
    }
    told = InterpolationState()
    filled: JsonObject = {}
    unsaid: dict[str, str] = {}
    refused: dict[str, str] = {}
    for key in known.keys:
        said = key.name in config
        telling = told if said else replace(told, missing_references=[])
        value = interpolate(config[key.name] if said else key.default, roots, telling)
        told.chars_left, told.references_left, told.is_truncated = (
            telling.chars_left,
            telling.references_left,
            telling.is_truncated,
        )
        fitting = value if isinstance(value, NoValue) else _checked_value(key.type, value, around.workspace)
        if not isinstance(fitting, NoValue):
            filled[key.name] = fitting
        elif not isinstance(value, NoValue) and key.type in (KeyType.FILE, KeyType.PATH) and value:
            refused[key.name] = f"it must be {key.type.value}"
        elif said and not isinstance(value, NoValue):
            told.missing_references.append(str(config[key.name]))
        elif not said and isinstance(key.default, str):
            unsaid[key.name] = key.default
    # What stands in place of another leaves nothing of it; one that is refused does not fall back to what is usual.
    replaced = {name for key in known.keys if key.name in filled for name in key.replaces}
    replaced |= {name for key in known.keys if key.name in refused for name in key.replaces if name not in config}
    missing = (*told.missing_references, *(place for name, place in unsaid.items() if name not in replaced))
    shown = {name: value for name, value in filled.items() if name not in replaced}
    return RenderedCall(known.name, shown, known.standalone, missing, told.is_truncated, refused)


def _checked_value(kind: KeyType, value: Json, workspace: str | None) -> Json | NoValue:
    """What a call brought, as the key takes it: where a page or a file is must not be for a server to choose freely."""
    match kind:
        case KeyType.ANY | KeyType.NUMBER | KeyType.ROWS | KeyType.OBJECTS | KeyType.PAIRS:
            # Of these a person is shown what there is, even where it is not of the kind that was hoped for.
            read = parse_json_text(value) if isinstance(value, str) else value
            return value if isinstance(read, NoValue) else read
        case KeyType.TEXT:
            return value if isinstance(value, str) else _NO_VALUE if value is None else value_text(value)
        case KeyType.PORT:
            number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 6 else value
            return number if is_valid_value(kind, number) else _NO_VALUE
        case KeyType.PATH:
            return value if isinstance(value, str) and is_inside(value, workspace) else _NO_VALUE
        case _:
            return value if is_valid_value(kind, value) else _NO_VALUE


def return_value(result: Mapping[str, Json]) -> Json:
    """What `$return` is for the result of an MCP tool: its structured content, else its text, else its parts."""
    structured = result.get("structuredContent")
    if isinstance(structured, dict) and [*structured] == ["result"]:
        # How servers wrap what is no object: structured content must be one.
        return structured["result"]
    if structured is not None:
        return structured
    content = result.get("content")
    if not isinstance(content, list):
        return dict(result)
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
        return "\n".join(str(text) for text in texts)
    return content
