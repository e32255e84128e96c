"""One call as a person is to be shown it: the renderer, and its configuration filled with what the call was about."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pegboard.core.tool import Json, JsonObject

from .catalogue import Kind, renderer
from .checking import is_fitting, is_inside
from .interpolation import Missing, Telling, interpolated, value_of, written


@dataclass(frozen=True)
class Around:
    """What a configuration may refer to: `$args`, `$return`, `$chat_id`, `$workspace` and `$toolset`."""

    arguments: Mapping[str, Json]
    """As the caller sent them: what overrides put in is shown to nobody."""
    result: Json = None
    """See `returned` for the result of an MCP tool."""
    chat_id: str | None = None
    workspace: str | None = None
    toolset: str | None = None


@dataclass(frozen=True)
class Rendered:
    renderer: str
    config: Mapping[str, Json]
    standalone: bool = False
    missing: tuple[str, ...] = ()
    """The references, configured or usual, that this call has nothing for. Their keys are left out."""
    is_cut: bool = False
    """Whether texts were too long to be shown whole."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """By key, why what the call has there is not shown."""


def rendered(name: str, config: Mapping[str, Json], around: Around) -> Rendered | None:
    """`None` for a renderer that does not exist. Whatever the call or the configuration holds, nothing is raised."""
    known = renderer(name)
    if known is None:
        return None
    roots: JsonObject = {
        "args": dict(around.arguments),
        "return": around.result,
        "chat_id": around.chat_id,
        "workspace": around.workspace,
        "toolset": around.toolset,
    }
    told = Telling()
    filled: JsonObject = {}
    unsaid: dict[str, str] = {}
    refused: dict[str, str] = {}
    for key in known.keys:
        said = key.name in config
        telling = told if said else replace(told, missing=[])
        value = interpolated(config[key.name] if said else key.usual, roots, telling)
        told.room, told.references, told.cut = telling.room, telling.references, telling.cut
        fitting = value if isinstance(value, Missing) else _fitting(key.kind, value, around.workspace)
        if not isinstance(fitting, Missing):
            filled[key.name] = fitting
        elif not isinstance(value, Missing) and key.kind in (Kind.FILE, Kind.PATH) and value:
            refused[key.name] = f"it must be {key.kind.value}"
        elif said and not isinstance(value, Missing):
            told.missing.append(str(config[key.name]))
        elif not said and isinstance(key.usual, str):
            unsaid[key.name] = key.usual
    # What stands in place of another leaves nothing of it; one that is refused does not fall back to what is usual.
    replaced = {name for key in known.keys if key.name in filled for name in key.replaces}
    replaced |= {name for key in known.keys if key.name in refused for name in key.replaces if name not in config}
    missing = (*told.missing, *(place for name, place in unsaid.items() if name not in replaced))
    shown = {name: value for name, value in filled.items() if name not in replaced}
    return Rendered(known.name, shown, known.standalone, missing, told.cut, refused)


def _fitting(kind: Kind, value: Json, workspace: str | None) -> Json | Missing:
    """What a call brought, as the key takes it: where a page or a file is must not be for a server to choose freely."""
    match kind:
        case Kind.ANY | Kind.NUMBER | Kind.ROWS | Kind.OBJECTS | Kind.PAIRS:
            # Of these a person is shown what there is, even where it is not of the kind that was hoped for.
            read = value_of(value) if isinstance(value, str) else value
            return value if isinstance(read, Missing) else read
        case Kind.TEXT:
            return value if isinstance(value, str) else _NOTHING if value is None else written(value)
        case Kind.PORT:
            number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 6 else value
            return number if is_fitting(kind, number) else _NOTHING
        case Kind.PATH:
            return value if isinstance(value, str) and is_inside(value, workspace) else _NOTHING
        case _:
            return value if is_fitting(kind, value) else _NOTHING


_NOTHING: Final = Missing()


def returned(result: Mapping[str, Json]) -> Json:
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
