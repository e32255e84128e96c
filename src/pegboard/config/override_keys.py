"""The keys of an override in pegboard.yaml: what a tool looks like, and what is said of its parameters."""

from dataclasses import dataclass
from typing import Final

from pegboard.core.confirmation import ConfirmationMode
from pegboard.core.renderers import CATALOGUE, DEFAULT_RENDERER
from pegboard.core.tool import JsonObject

from .section import Key, Section
from .shape import AnyMap, Choice, Form, MapOf, Text, Truth, Value

_BLANK: Final = Form(r"\s*", "it must not be blank")
TURNING: Final = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Signs that nobody sees and that let a text be read in another order than it is written."""
_UNSEEN: Final = "control characters, and those that turn the direction of a text, are not allowed"
TITLE: Final = Form(
    rf"[^\u0000-\u001f\u007f-\u009f\u2028\u2029{TURNING}]*", f"it is one line; {_UNSEEN}", taken=_BLANK, longest=256
)
WORDS: Final = Form(
    rf"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f{TURNING}]*", _UNSEEN, taken=_BLANK, longest=16_384
)
_PARAMETER: Final = Form(r"[\s\S]{1,256}", "an argument's name has 1 to 256 characters")

RENDERER: Final = Key(
    "renderer",
    Choice(
        {
            **{name: each.name for each in CATALOGUE for name in (each.name, *each.aliases)},
            DEFAULT_RENDERER: DEFAULT_RENDERER,
        },
        names_all=True,
    ),
    "How a person is shown the tool's calls. default: as every other call, whatever another override says.",
)
RENDERER_CONFIG: Final = Key(
    "renderer_config",
    AnyMap(),
    "What the renderer takes, by its keys. Texts may refer to the call: $args.path, $return.items[0], $chat_id, "
    "$workspace, $toolset.",
)
NAME_OVERRIDE: Final = Key(
    "name_override",
    Text(TITLE),
    "The name people see, in up to 256 characters. Models keep the tool's own name; the id never changes.",
)
DESCRIPTION_OVERRIDE: Final = Key(
    "description_override",
    Text(WORDS),
    "The description that models and people see in place of the tool's own, in up to 16384 characters.",
)
REQUIRES_CONFIRMATION: Final = Key(
    "requires_confirmation", Truth(), "Whether a person must say yes to each call of the tool."
)
CONFIRMATION_MODE: Final = Choice({mode.value: mode for mode in ConfirmationMode})
TOOL_CONFIRMATION: Final = Key(
    "confirmation",
    CONFIRMATION_MODE,
    "How calls of the tool are confirmed, where they must be: in_client asks the user of an interactive principal in "
    "their client, ticket always waits for an operator. ticket on the board, the principal or the tool wins.",
)
ENABLED: Final = Key(
    "enabled", Truth(), "false takes the tool away; nobody can switch on again what this file takes away."
)

PIN: Final = Key(
    "pin",
    Value(holds_references=True),
    "The value that the server always gets. Callers neither see the argument nor can send it. References are allowed, "
    "and keep a secret out of this file: ${NAME} or ${file:path}.",
)
HIDE: Final = Key("hide", Truth(), "true: callers neither see the argument nor can send it; the server gets none.")
DEFAULT: Final = Key(
    "default",
    Value(),
    "The value that the server gets when the caller sends none. Callers see it, and need not send it.",
)
DESCRIPTION: Final = Key(
    "description",
    Text(WORDS),
    "What callers read of the argument in place of the tool's words, in up to 16384 characters.",
)


@dataclass(frozen=True)
class Overriding(Section):
    """Beside the keys, each renderer's own configuration, for editors."""

    def schema(self) -> JsonObject:
        renderers: list[JsonObject] = [
            {
                "if": {
                    "properties": {
                        RENDERER.name: {"description": RENDERER.description, "enum": [each.name, *each.aliases]}
                    },
                    "required": [RENDERER.name],
                },
                "then": {"properties": {RENDERER_CONFIG.name: each.schema()}},
            }
            for each in CATALOGUE
        ]
        schema = super().schema()
        rules = schema.get("allOf", [])
        assert isinstance(rules, list)
        return {**schema, "type": "object", "minProperties": 1, "allOf": [*rules, *renderers]}


OPTIONAL: Final = Key(
    "optional",
    Truth(),
    "Whether there need not be such a tool. Otherwise it is an error if there is none, and an override that restricts "
    "locks the nearest tools.",
    False,
)

ARGUMENT: Final = Section(
    "What is said of one argument of the tool.",
    (PIN, HIDE, DEFAULT, DESCRIPTION),
    at_most_one=("pin", "hide"),
    advice={"value": "Write pin.", "const": "Write pin.", "hidden": "Write hide: true.", "title": "Write description."},
)
ARGUMENTS: Final = Key(
    "arguments",
    MapOf(_PARAMETER, ARGUMENT),
    "Single arguments of the tool: pinned to a value, hidden, given a default, or put in other words.",
)
OVERRIDE: Final = Overriding(
    "What is changed of the tools that one id or pattern fits.",
    (
        *(RENDERER, RENDERER_CONFIG, NAME_OVERRIDE, DESCRIPTION_OVERRIDE),
        *(REQUIRES_CONFIRMATION, TOOL_CONFIRMATION, ENABLED, ARGUMENTS, OPTIONAL),
    ),
    advice={
        "name": "Write name_override.",
        "title": "Write name_override.",
        "description": "Write description_override.",
        "confirm": "Write requires_confirmation.",
        "disabled": "Write enabled: false.",
        "hidden": "Write enabled: false.",
        "args": "Write arguments.",
        "parameters": "Write arguments.",
    },
)
