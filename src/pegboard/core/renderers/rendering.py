"""One call as a person is to be shown it: the renderer, and its configuration filled with what the call was about."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pegboard.core.tool import Json, JsonObject

from .catalogue import KeyType, find_renderer
from .checking import is_inside, is_valid_value
from .interpolation import InterpolationState, NoValue, interpolate, parse_json_text, value_text


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


_NO_VALUE: Final = NoValue()


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
