"""Keys about access: callers, tokens, grants, denials, overrides."""

from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Final

from pegboard.config.schema.document import Invalid, Node, ProblemCollector
from pegboard.config.schema.fields import (
    AnyMapField,
    AnyValueField,
    BooleanField,
    ChoiceField,
    IntegerField,
    ListField,
    MapField,
    TextField,
    TextRule,
)
from pegboard.config.schema.section import ConfigKey, ConfigSection
from pegboard.core.json import values
from pegboard.core.json.values import JsonObject
from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import ID_RULE
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.settings import MAX_MATERIALIZED, PresentationMode, PresentationSettings
from pegboard.core.renderers.catalogue import DEFAULT_RENDERER, RENDERERS

# The keys of `gateway`: who may reach it over HTTP, and how much they may ask at once.


@dataclass(frozen=True)
class NetworkField:
    """An address, or a network of them."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> str | Invalid:
        text = TextField().parse(node, at, tell)
        if isinstance(text, Invalid):
            return text
        try:
            return str(ip_network(text))
        except ValueError:
            told = f"{text[:60]!r} is no address and no network. Write 10.0.0.7 or 10.0.0.0/24, as the proxy connects."
            return tell.add_problem(node.line, at, told)

    def schema(self) -> JsonObject:
        return {"type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$"}


_HOST: Final = TextRule(
    r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?:[0-9]{1,5}|\*))?",
    "write a host, with a port or without, as a client's Host header has it: example.org:8460, or example.org:*",
)
_ORIGIN: Final = TextRule(
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?:[0-9]{1,5}|\*))?",
    "write an origin without a path, as a browser sends it: https://example.org, or http://localhost:*",
)

HOSTS: Final = ConfigKey(
    "allowed_hosts",
    ListField(TextField(_HOST)),
    "Host headers to answer beside those of this machine: example.org, example.org:8460, or example.org:* for any.",
)
ORIGINS: Final = ConfigKey(
    "allowed_origins",
    ListField(TextField(_ORIGIN)),
    "Origins whose pages may call the gateway from a browser: https://example.org, or http://localhost:* for any port.",
)

PROXIES: Final = ConfigKey(
    "trusted_proxies",
    ListField(NetworkField()),
    "Addresses or networks of reverse proxies: of a request that comes from one, X-Forwarded-For tells whose wrong "
    "tokens to count and X-Forwarded-Proto whether the browser speaks TLS. From anywhere else both are ignored.",
)

MAX_REQUEST_VALUES: Final = ConfigKey(
    "max_values",
    IntegerField(1_000, 100_000_000),
    "How many values one request may have, each list and object counted as well: reading very many of them holds up "
    "everybody else.",
    values.MAX_VALUES,
)
MAX_REQUEST_BYTES: Final = ConfigKey(
    "max_bytes",
    IntegerField(100_000, 1_000_000_000),
    "How many bytes one request may have: 10 MiB, and 64 MiB where a DocSpace is on the board, to which files are "
    "uploaded.",
)
MAX_WAITING: Final = 128
"""Connections of one address."""
MAX_CONNECTIONS: Final = ConfigKey(
    "max_connections_per_address",
    IntegerField(1, 100_000),
    "How many connections of one address may wait at the same time: idle, or with a request that is not whole. The one "
    "that was silent for longest gives way. Connections that are being answered do not count.",
    MAX_WAITING,
)
PUBLIC_URL: Final = ConfigKey(
    "url",
    TextField(
        TextRule(r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\s]+", "write a URL without a path, such as https://tools.example.org")
    ),
    "Where people's browsers reach the gateway, if not at the address it listens on: sign-in links begin with it.",
)

SECTION: Final = ConfigSection(
    "", (PUBLIC_URL, HOSTS, ORIGINS, PROXIES, MAX_REQUEST_VALUES, MAX_REQUEST_BYTES, MAX_CONNECTIONS)
)


# The keys that say how tools are shown to a client that does not say itself.

_DEFAULTS: Final = PresentationSettings()

PRESENTATION: Final = ConfigKey(
    "presentation",
    ChoiceField({presented.value: presented for presented in PresentationMode}),
    "How tools are shown at /mcp and by pegboard stdio: direct (each as itself), meta (five tools to look through "
    "toolsets), search (tools to find and call all others), deferred (each as itself once it was found), "
    "code (a search and programs that call what it finds), or auto "
    "(search for more tools than presentation_threshold, else direct). Read when the gateway starts.",
    _DEFAULTS.presentation.value,
)
THRESHOLD: Final = ConfigKey(
    "presentation_threshold",
    IntegerField(1, 1_000_000),
    "Above how many tools auto takes search, and doctor and the start tell what showing each as itself costs.",
    _DEFAULTS.threshold,
)
MATERIALISED: Final = ConfigKey(
    "materialised_tools",
    IntegerField(1, MAX_MATERIALIZED),
    "Where tools are deferred: how many a conversation keeps that it found. The best of each search stay.",
    _DEFAULTS.max_materialized,
)


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


# The keys of one of the `principals`: how a caller is recognised, and what it may do.

_NOT_BLANK: Final = TextRule(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_TOOLSET: Final = TextRule(r"[a-z0-9][a-z0-9_-]{0,63}", f"name a toolset by its id, {ID_RULE}; or write all")
TOOLSET_ID: Final = TextField(_TOOLSET)
TOOLSET_IDS: Final = ListField(TOOLSET_ID, allows_commas=True, null_is_empty=False)
CALLER_NAME: Final = TextRule(
    r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,254}[^\s\x00-\x1f\x7f])?", "use 1 to 256 characters", is_name=True
)
CALLER: Final = replace(CALLER_NAME, reserved=("first-sight", "local"))
_TOKEN: Final = TextRule(
    r"\$\{(?:(?!:-)[^}])+\}",
    "write a reference without a default, ${NAME} or ${file:path}, so that the token is not in this file; or write its "
    "token_sha256",
)
_SHA256: Final = TextRule(r"[0-9A-Fa-f]{64}", "write the SHA-256 of the token as 64 hexadecimal digits")

TOKEN: Final = ConfigKey(
    "token",
    TextField(_TOKEN, allows_references=True, is_secret=True),
    "A reference to the token that the caller sends as Authorization: Bearer TOKEN: ${NAME} or ${file:path}. "
    "16 characters or more of A-Z a-z 0-9 - . _ ~ + / and = at the end.",
)
TOKEN_SHA256: Final = ConfigKey(
    "token_sha256",
    TextField(_SHA256, is_secret=True),
    "The SHA-256 of the token in hexadecimal, for a file that holds no way to the token itself. Excludes token.",
)
PRINCIPAL_TOOLSETS: Final = ConfigKey(
    "toolsets", TOOLSET_IDS, "The toolsets that the caller may use; all for every one.", "all"
)
SCOPES: Final = ConfigKey(
    "scopes",
    ListField(ChoiceField({scope.value: scope for scope in TokenScope}), null_is_empty=False),
    "What the token opens: call for tools, and of the operator's API read to look, operate to decide about tools and "
    "servers, admin to decide who may. Give an agent call and nothing else.",
    ["call"],
)
PRINCIPAL_DATABASES: Final = ConfigKey(
    "databases",
    ListField(TextField(_NOT_BLANK), allows_commas=True, null_is_empty=False),
    "The databases that the caller may ask, by their ids: a list, or one text with commas; [] for none. To it there "
    "are no others. By default it may ask all.",
)
INTERACTIVE: Final = ConfigKey(
    "interactive",
    BooleanField(),
    "Whether a person reads what the caller's client asks. Only then does an answer in the client confirm a call; "
    "otherwise each call that must be confirmed waits as a ticket. Never set it for an agent that runs on its own.",
    False,
)
PRINCIPAL_CONFIRMATION: Final = ConfigKey(
    "confirmation",
    CONFIRMATION_MODE,
    "How calls of this caller are confirmed, where they must be: in_client or ticket. ticket on the board, the "
    "principal or the tool wins.",
)
PRINCIPAL: Final = ConfigSection(
    "One caller: how it is recognised, and what it may use.",
    (TOKEN, TOKEN_SHA256, SCOPES, PRINCIPAL_TOOLSETS, PRINCIPAL_DATABASES, INTERACTIVE, PRINCIPAL_CONFIRMATION),
    exactly_one=("token", "token_sha256"),
    advice={
        "password": "Write token.",
        "grants": "Write toolsets.",
        "sources": "Write databases.",
        "database": "Write databases.",
        "tools": "Write toolsets; a request narrows further by itself.",
    },
)
