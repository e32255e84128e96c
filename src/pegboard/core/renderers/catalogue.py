"""All renderers with the keys of their configuration and defaults."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pegboard.core.json.values import Json, JsonObject

PAGE_SUFFIXES: Final = (".html", ".htm")
"""Of files that may be an artifact: nothing else of a toolset is read for a page."""


class KeyType(Enum):
    """What a key takes. Wherever a text stands, it may be a reference into the call instead."""

    TEXT = "text"
    FLAG = "true or false"
    PORT = "a port from 1 to 65535"
    ADDRESS = "a URL that begins with http:// or https://"
    FILE = "a path inside the toolset, without .."
    PATH = "a path inside the workspace, without .."
    TEXTS = "a list of texts"
    NUMBER = "a number"
    ROWS = "a list of objects or of lists"
    OBJECTS = "a list of objects"
    PAIRS = "an object, or a list of pairs"
    ANY = "any value"


@dataclass(frozen=True, slots=True)
class RendererKey:
    name: str
    type: KeyType
    description: str
    default: Json = None
    """What stands there if the configuration does not say. A reference to what the call lacks is left out."""
    replaces: tuple[str, ...] = ()
    """The keys that nobody misses where this one stands."""

    def schema(self) -> JsonObject:
        reference: JsonObject = {"type": "string", "pattern": r"^\$"}
        match self.type:
            case KeyType.TEXT | KeyType.FILE | KeyType.PATH:
                rule: JsonObject = {"type": "string"}
            case KeyType.ADDRESS:
                rule = {"type": "string", "pattern": r"^(?:https?://|\$)"}
            case KeyType.FLAG:
                rule = {"anyOf": [{"type": "boolean"}, reference]}
            case KeyType.PORT:
                rule = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, reference]}
            case KeyType.TEXTS:
                rule = {"anyOf": [{"type": "array", "items": {"type": "string"}}, reference]}
            case KeyType.NUMBER:
                rule = {"anyOf": [{"type": "integer"}, reference]}
            case KeyType.ROWS:
                row: JsonObject = {"anyOf": [{"type": ["object", "array"]}, reference]}
                rule = {"anyOf": [{"type": "array", "items": row}, reference]}
            case KeyType.OBJECTS:
                item: JsonObject = {"anyOf": [{"type": "object"}, reference]}
                rule = {"anyOf": [{"type": "array", "items": item}, reference]}
            case KeyType.PAIRS:
                pair: JsonObject = {"anyOf": [{"type": "array", "minItems": 2, "maxItems": 2}, reference]}
                rule = {"anyOf": [{"type": "object"}, {"type": "array", "items": pair}, reference]}
            case KeyType.ANY:
                rule = {}
        told: JsonObject = {"description": self.description, **rule}
        return told if self.default is None else {**told, "default": self.default}


@dataclass(frozen=True)
class Renderer:
    name: str
    description: str
    keys: tuple[RendererKey, ...]
    aliases: tuple[str, ...] = ()
    standalone: bool = False
    """Shown by itself rather than among the other calls."""

    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "description": self.description,
            "properties": {key.name: key.schema() for key in self.keys},
            "additionalProperties": False,
        }


_FILE_NAME: Final = RendererKey("file", KeyType.TEXT, "The name to show above it.")
_EDITABLE: Final = RendererKey(
    "editable", KeyType.FLAG, "Whether a program that shows it may let the person change it.", False
)
_LANGUAGE: Final = RendererKey("language", KeyType.TEXT, "The language to colour it by.")


def _content_key(what: str) -> RendererKey:
    return RendererKey("content", KeyType.TEXT, what, "$return")


def _path_key(what: str) -> RendererKey:
    return RendererKey("path", KeyType.PATH, what, "$args.path")


RENDERERS: Final = (
    Renderer("code", "Source text.", (_FILE_NAME, _content_key("The text."), _LANGUAGE, _EDITABLE)),
    Renderer(
        "document",
        "Formatted text, written in Markdown.",
        (_FILE_NAME, _content_key("The Markdown."), _EDITABLE),
        aliases=("markdown",),
    ),
    Renderer(
        "html",
        "A page of its own, in a frame that reaches nothing else.",
        (
            _content_key("The page, shown without its scripts."),
            RendererKey(
                "artifact",
                KeyType.FILE,
                "An HTML file of the toolset with the page, in place of content. Its scripts run.",
                replaces=("content",),
            ),
            RendererKey("data", KeyType.ANY, "What the artifact gets as window.__TOOL_DATA__.", "$return"),
        ),
    ),
    Renderer(
        "frame",
        "The address of a page that something else serves. The web UI does not open it.",
        (
            RendererKey("url", KeyType.ADDRESS, "Where the page is.", "$return.url"),
            RendererKey(
                "port", KeyType.PORT, "The port of a page on this machine, in place of url.", replaces=("url",)
            ),
        ),
    ),
    Renderer(
        "editor",
        "The path of a file of the workspace. The web UI does not open it.",
        (_path_key("The file."), _EDITABLE),
    ),
    Renderer(
        "terminal",
        "A command and what it wrote.",
        (
            RendererKey("command", KeyType.TEXT, "The command.", "$args.command"),
            RendererKey("output", KeyType.TEXT, "What it wrote.", "$return"),
            RendererKey("cwd", KeyType.TEXT, "The folder it ran in.", "$args.cwd"),
            RendererKey("exit_code", KeyType.NUMBER, "The number it ended with.", "$return.exit_code"),
        ),
    ),
    Renderer(
        "file-diff",
        "What changed in one file.",
        (
            _path_key("The file."),
            RendererKey("before", KeyType.TEXT, "Its text before.", "$args.old_string"),
            RendererKey("after", KeyType.TEXT, "Its text after.", "$args.new_string"),
            _LANGUAGE,
        ),
    ),
    Renderer(
        "patch-diff",
        "A patch over one or more files.",
        (RendererKey("patch", KeyType.TEXT, "The patch, in the unified format.", "$args.patch"),),
    ),
    Renderer(
        "web-search",
        "What was searched for, and the pages that were found.",
        (
            RendererKey("query", KeyType.TEXT, "What was searched for.", "$args.query"),
            RendererKey(
                "results", KeyType.OBJECTS, "The pages: a list of objects with title, url and snippet.", "$return"
            ),
        ),
    ),
    Renderer(
        "todo-list",
        "Things to do, and how far each is.",
        (RendererKey("items", KeyType.OBJECTS, "A list of objects with content and status.", "$args.todos"),),
        standalone=True,
    ),
    Renderer(
        "task",
        "Work that another model was given.",
        (
            RendererKey("title", KeyType.TEXT, "What it is about.", "$args.description"),
            RendererKey("status", KeyType.TEXT, "How far it is.", "$return.status"),
            RendererKey("detail", KeyType.TEXT, "What came of it.", "$return"),
        ),
        standalone=True,
    ),
    Renderer("file-read", "A file that was read.", (_path_key("The file."), _content_key("Its text."), _LANGUAGE)),
    Renderer(
        "key-value",
        "Names and their values, one below the other.",
        (RendererKey("values", KeyType.PAIRS, "An object, or a list of pairs.", "$return"),),
    ),
    Renderer(
        "table",
        "Rows and columns.",
        (
            RendererKey("rows", KeyType.ROWS, "A list of objects, or of lists.", "$return"),
            RendererKey("columns", KeyType.TEXTS, "Which members to show, in this order; without it, all."),
        ),
    ),
    Renderer(
        "image",
        "A picture.",
        (
            RendererKey("data", KeyType.TEXT, "The picture in base64.", "$return[0].data"),
            RendererKey("mime_type", KeyType.TEXT, "Its kind, such as image/png.", "$return[0].mimeType"),
            RendererKey(
                "url",
                KeyType.ADDRESS,
                "Where the picture is, in place of data. The web UI does not fetch it.",
                replaces=("data", "mime_type"),
            ),
            RendererKey("alt", KeyType.TEXT, "The picture in words."),
        ),
    ),
    Renderer(
        "json", "A value as it is, to be folded open.", (RendererKey("value", KeyType.ANY, "The value.", "$return"),)
    ),
)

DEFAULT_RENDERER: Final = "default"
"""Named where no renderer is meant: calls are then shown as every other, whatever an override beneath says."""

RENDERER_NAMES: Final = tuple(each.name for each in RENDERERS)
_BY_NAME: Final = {name: each for each in RENDERERS for name in (each.name, *each.aliases)}


def find_renderer(name: str) -> Renderer | None:
    """By its name or another name for it."""
    return _BY_NAME.get(name)
