"""The keys of an override in pegboard.yaml: what a tool looks like, and what is said of its parameters."""

from dataclasses import dataclass
from typing import Final

from pegboard.core.confirmation import ConfirmationMode
from pegboard.core.renderers import DEFAULT_RENDERER, RENDERERS
from pegboard.core.tool import JsonObject

from .section import ConfigKey, ConfigSection
from .shape import AnyMapField, AnyValueField, BooleanField, ChoiceField, MapField, TextField, TextRule

_BLANK: Final = TextRule(r"\s*", "it must not be blank")
BIDI_CONTROLS: Final = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Signs that nobody sees and that let a text be read in another order than it is written."""
_CONTROL_RULE: Final = "control characters, and those that turn the direction of a text, are not allowed"
TITLE: Final = TextRule(
    rf"[^\u0000-\u001f\u007f-\u009f\u2028\u2029{BIDI_CONTROLS}]*",
    f"it is one line; {_CONTROL_RULE}",
    excluded=_BLANK,
    max_length=256,
)
LONG_TEXT: Final = TextRule(
    rf"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f{BIDI_CONTROLS}]*",
    _CONTROL_RULE,
    excluded=_BLANK,
    max_length=16_384,
)
_PARAMETER: Final = TextRule(r"[\s\S]{1,256}", "an argument's name has 1 to 256 characters")

RENDERER: Final = ConfigKey(
    "renderer",
    ChoiceField(
        {
            **{name: each.name for each in RENDERERS for name in (each.name, *each.aliases)},
            DEFAULT_RENDERER: DEFAULT_RENDERER,
        },
        lists_aliases=True,
    ),
    "How a person is shown the tool's calls. default: as every other call, whatever another override says.",
)
RENDERER_CONFIG: Final = ConfigKey(
    "renderer_config",
    AnyMapField(),
    "What the renderer takes, by its keys. Texts may refer to the call: $args.path, $return.items[0], $chat_id, "
    "$workspace, $toolset.",
)
NAME_OVERRIDE: Final = ConfigKey(
    "name_override",
    TextField(TITLE),
    "The name people see, in up to 256 characters. Models keep the tool's own name; the id never changes.",
)
DESCRIPTION_OVERRIDE: Final = ConfigKey(
    "description_override",
    TextField(LONG_TEXT),
    "The description that models and people see in place of the tool's own, in up to 16384 characters.",
)
REQUIRES_CONFIRMATION: Final = ConfigKey(
    "requires_confirmation", BooleanField(), "Whether a person must say yes to each call of the tool."
)
CONFIRMATION_MODE: Final = ChoiceField({mode.value: mode for mode in ConfirmationMode})
TOOL_CONFIRMATION: Final = ConfigKey(
    "confirmation",
    CONFIRMATION_MODE,
    "How calls of the tool are confirmed, where they must be: in_client asks the user of an interactive principal in "
    "their client, ticket always waits for an operator. ticket on the board, the principal or the tool wins.",
)
ENABLED: Final = ConfigKey(
    "enabled", BooleanField(), "false takes the tool away; nobody can switch on again what this file takes away."
)

PIN: Final = ConfigKey(
    "pin",
    AnyValueField(allows_references=True),
    "The value that the server always gets. Callers neither see the argument nor can send it. References are allowed, "
    "and keep a secret out of this file: ${NAME} or ${file:path}.",
)
HIDE: Final = ConfigKey(
    "hide", BooleanField(), "true: callers neither see the argument nor can send it; the server gets none."
)
DEFAULT: Final = ConfigKey(
    "default",
    AnyValueField(),
    "The value that the server gets when the caller sends none. Callers see it, and need not send it.",
)
DESCRIPTION: Final = ConfigKey(
    "description",
    TextField(LONG_TEXT),
    "What callers read of the argument in place of the tool's words, in up to 16384 characters.",
)


@dataclass(frozen=True)
class OverrideSection(ConfigSection):
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
            for each in RENDERERS
        ]
        schema = super().schema()
        rules = schema.get("allOf", [])
        assert isinstance(rules, list)
        return {**schema, "type": "object", "minProperties": 1, "allOf": [*rules, *renderers]}


OPTIONAL: Final = ConfigKey(
    "optional",
    BooleanField(),
    "Whether there need not be such a tool. Otherwise it is an error if there is none, and an override that restricts "
    "locks the nearest tools.",
    False,
)

ARGUMENT: Final = ConfigSection(
    "What is said of one argument of the tool.",
    (PIN, HIDE, DEFAULT, DESCRIPTION),
    at_most_one=("pin", "hide"),
    advice={"value": "Write pin.", "const": "Write pin.", "hidden": "Write hide: true.", "title": "Write description."},
)
ARGUMENTS: Final = ConfigKey(
    "arguments",
    MapField(_PARAMETER, ARGUMENT),
    "Single arguments of the tool: pinned to a value, hidden, given a default, or put in other words.",
)
OVERRIDE: Final = OverrideSection(
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
