"""One call as a person is to be shown it: the renderer, and its configuration filled with what the call was about."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.core.tool import Json, JsonObject

from .catalogue import Kind, renderer
from .checking import is_fitting
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
    """The references of the configuration that this call has nothing for. Their keys are left out."""
    is_cut: bool = False
    """Whether texts were too long to be shown whole."""


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
    told, unsaid = Telling(), Telling()
    filled: JsonObject = {}
    for key in known.keys:
        said = key.name in config
        value = interpolated(config[key.name] if said else key.usual, roots, told if said else unsaid)
        fitting = value if isinstance(value, Missing) else _fitting(key.kind, value)
        if not isinstance(fitting, Missing):
            filled[key.name] = fitting
        elif said and not isinstance(value, Missing):
            told.missing.append(str(config[key.name]))
    return Rendered(known.name, filled, known.standalone, tuple(told.missing), told.cut or unsaid.cut)


def _fitting(kind: Kind, value: Json) -> Json | Missing:
    """What a call brought, as the key takes it: where a page or a file is must not be for a server to choose freely."""
    match kind:
        case Kind.ANY:
            read = value_of(value) if isinstance(value, str) else value
            return value if isinstance(read, Missing) else read
        case Kind.TEXT:
            return value if isinstance(value, str) else _NOTHING if value is None else written(value)
        case Kind.PORT:
            number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 6 else value
            return number if is_fitting(kind, number) else _NOTHING
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
