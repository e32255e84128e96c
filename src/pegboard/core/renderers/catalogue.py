"""Every renderer: its name, what it shows, and the keys of its configuration with what stands there if nobody says."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pegboard.core.tool import Json, JsonObject

PAGE_SUFFIXES: Final = (".html", ".htm")
"""Of files that may be an artifact: nothing else of a toolset is read for a page."""


class Kind(Enum):
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
class Key:
    name: str
    kind: Kind
    what: str
    usual: Json = None
    """What stands there if the configuration does not say. A reference to what the call lacks is left out."""
    replaces: tuple[str, ...] = ()
    """The keys that nobody misses where this one stands."""

    def schema(self) -> JsonObject:
        reference: JsonObject = {"type": "string", "pattern": r"^\$"}
        match self.kind:
            case Kind.TEXT | Kind.FILE | Kind.PATH:
                rule: JsonObject = {"type": "string"}
            case Kind.ADDRESS:
                rule = {"type": "string", "pattern": r"^(?:https?://|\$)"}
            case Kind.FLAG:
                rule = {"anyOf": [{"type": "boolean"}, reference]}
            case Kind.PORT:
                rule = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, reference]}
            case Kind.TEXTS:
                rule = {"anyOf": [{"type": "array", "items": {"type": "string"}}, reference]}
            case Kind.NUMBER:
                rule = {"anyOf": [{"type": "integer"}, reference]}
            case Kind.ROWS:
                row: JsonObject = {"anyOf": [{"type": ["object", "array"]}, reference]}
                rule = {"anyOf": [{"type": "array", "items": row}, reference]}
            case Kind.OBJECTS:
                item: JsonObject = {"anyOf": [{"type": "object"}, reference]}
                rule = {"anyOf": [{"type": "array", "items": item}, reference]}
            case Kind.PAIRS:
                pair: JsonObject = {"anyOf": [{"type": "array", "minItems": 2, "maxItems": 2}, reference]}
                rule = {"anyOf": [{"type": "object"}, {"type": "array", "items": pair}, reference]}
            case Kind.ANY:
                rule = {}
        told: JsonObject = {"description": self.what, **rule}
        return told if self.usual is None else {**told, "default": self.usual}


@dataclass(frozen=True)
class Renderer:
    name: str
    what: str
    keys: tuple[Key, ...]
    aliases: tuple[str, ...] = ()
    standalone: bool = False
    """Shown by itself rather than among the other calls."""

    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "description": self.what,
            "properties": {key.name: key.schema() for key in self.keys},
            "additionalProperties": False,
        }


_FILE_NAME: Final = Key("file", Kind.TEXT, "The name to show above it.")
_EDITABLE: Final = Key("editable", Kind.FLAG, "Whether a program that shows it may let the person change it.", False)
_LANGUAGE: Final = Key("language", Kind.TEXT, "The language to colour it by.")


def _content(what: str) -> Key:
    return Key("content", Kind.TEXT, what, "$return")


def _path(what: str) -> Key:
    return Key("path", Kind.PATH, what, "$args.path")


CATALOGUE: Final = (
    Renderer("code", "Source text.", (_FILE_NAME, _content("The text."), _LANGUAGE, _EDITABLE)),
    Renderer(
        "document",
        "Formatted text, written in Markdown.",
        (_FILE_NAME, _content("The Markdown."), _EDITABLE),
        aliases=("markdown",),
    ),
    Renderer(
        "html",
        "A page of its own, in a frame that reaches nothing else.",
        (
            _content("The page, shown without its scripts."),
            Key(
                "artifact",
                Kind.FILE,
                "An HTML file of the toolset with the page, in place of content. Its scripts run.",
                replaces=("content",),
            ),
            Key("data", Kind.ANY, "What the artifact gets as window.__TOOL_DATA__.", "$return"),
        ),
    ),
    Renderer(
        "frame",
        "The address of a page that something else serves. The web UI does not open it.",
        (
            Key("url", Kind.ADDRESS, "Where the page is.", "$return.url"),
            Key("port", Kind.PORT, "The port of a page on this machine, in place of url.", replaces=("url",)),
        ),
    ),
    Renderer(
        "editor", "The path of a file of the workspace. The web UI does not open it.", (_path("The file."), _EDITABLE)
    ),
    Renderer(
        "terminal",
        "A command and what it wrote.",
        (
            Key("command", Kind.TEXT, "The command.", "$args.command"),
            Key("output", Kind.TEXT, "What it wrote.", "$return"),
            Key("cwd", Kind.TEXT, "The folder it ran in.", "$args.cwd"),
            Key("exit_code", Kind.NUMBER, "The number it ended with.", "$return.exit_code"),
        ),
    ),
    Renderer(
        "file-diff",
        "What changed in one file.",
        (
            _path("The file."),
            Key("before", Kind.TEXT, "Its text before.", "$args.old_string"),
            Key("after", Kind.TEXT, "Its text after.", "$args.new_string"),
            _LANGUAGE,
        ),
    ),
    Renderer(
        "patch-diff",
        "A patch over one or more files.",
        (Key("patch", Kind.TEXT, "The patch, in the unified format.", "$args.patch"),),
    ),
    Renderer(
        "web-search",
        "What was searched for, and the pages that were found.",
        (
            Key("query", Kind.TEXT, "What was searched for.", "$args.query"),
            Key("results", Kind.OBJECTS, "The pages: a list of objects with title, url and snippet.", "$return"),
        ),
    ),
    Renderer(
        "todo-list",
        "Things to do, and how far each is.",
        (Key("items", Kind.OBJECTS, "A list of objects with content and status.", "$args.todos"),),
        standalone=True,
    ),
    Renderer(
        "task",
        "Work that another model was given.",
        (
            Key("title", Kind.TEXT, "What it is about.", "$args.description"),
            Key("status", Kind.TEXT, "How far it is.", "$return.status"),
            Key("detail", Kind.TEXT, "What came of it.", "$return"),
        ),
        standalone=True,
    ),
    Renderer("file-read", "A file that was read.", (_path("The file."), _content("Its text."), _LANGUAGE)),
    Renderer(
        "key-value",
        "Names and their values, one below the other.",
        (Key("values", Kind.PAIRS, "An object, or a list of pairs.", "$return"),),
    ),
    Renderer(
        "table",
        "Rows and columns.",
        (
            Key("rows", Kind.ROWS, "A list of objects, or of lists.", "$return"),
            Key("columns", Kind.TEXTS, "Which members to show, in this order; without it, all."),
        ),
    ),
    Renderer(
        "image",
        "A picture.",
        (
            Key("data", Kind.TEXT, "The picture in base64.", "$return[0].data"),
            Key("mime_type", Kind.TEXT, "Its kind, such as image/png.", "$return[0].mimeType"),
            Key(
                "url",
                Kind.ADDRESS,
                "Where the picture is, in place of data. The web UI does not fetch it.",
                replaces=("data", "mime_type"),
            ),
            Key("alt", Kind.TEXT, "The picture in words."),
        ),
    ),
    Renderer("json", "A value as it is, to be folded open.", (Key("value", Kind.ANY, "The value.", "$return"),)),
)

DEFAULT_RENDERER: Final = "default"
"""Named where no renderer is meant: calls are then shown as every other, whatever an override beneath says."""

NAMES: Final = tuple(each.name for each in CATALOGUE)
_BY_NAME: Final = {name: each for each in CATALOGUE for name in (each.name, *each.aliases)}


def renderer(name: str) -> Renderer | None:
    """By its name or another name for it."""
    return _BY_NAME.get(name)
