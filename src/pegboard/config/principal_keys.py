"""The keys of one of the `principals`: how a caller is recognised, and what it may do."""

from dataclasses import replace
from typing import Final

from pegboard.core.ids import ID_RULE
from pegboard.core.scope import TokenScope

from .override_keys import CONFIRMATION_MODE
from .section import ConfigKey, ConfigSection
from .shape import BooleanField, ChoiceField, ListField, TextField, TextRule

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
