"""The keys of `docspace`: where it is, as whom it is asked, and which of its tools are on the board."""

from typing import Final

from pegboard.core.docspace.connection import DEADLINE, TIMEOUT
from pegboard.core.docspace.toolsets import TOOLSETS as KNOWN
from pegboard.core.server import Trust

from .section import Key, Section
from .shape import Choice, Form, ListOf, Seconds, Text, Truth

_NAMES: Final = tuple(name for names in KNOWN.values() for name in names)
_URL: Final = Form(
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\s]+|\$\{)[^\s]*",
    "write a URL that begins with http:// or https://, or with a reference",
)
_FILLED: Final = Form(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_REFERENCE: Final = Form(
    r"\$\{(?:(?!:-)[^}])+\}",
    "write a reference without a default, ${NAME} or ${file:path}, so that the secret is not in this file",
)
_SECRET: Final = Text(_REFERENCE, holds_references=True, is_secret=True)
_HEADER_TEXT: Final = Form(r"[\x20-\x7e]*", "a header's value is one line of printable ASCII characters")

BASE_URL: Final = Key(
    "base_url",
    Text(_URL, holds_references=True, is_secret=True),
    "Where DocSpace is: https://example.onlyoffice.com. References are allowed.",
)
API_KEY: Final = Key("api_key", _SECRET, "A reference to an API key: ${NAME} or ${file:path}.")
AUTH_TOKEN: Final = Key("auth_token", _SECRET, "A reference to a personal access token.")
USERNAME: Final = Key(
    "username",
    Text(_FILLED, holds_references=True),
    "The name of a user. It goes with password. References are allowed.",
)
PASSWORD: Final = Key("password", _SECRET, "A reference to that user's password.")
AUTHORIZATION: Final = Key(
    "authorization", _SECRET, "A reference to a whole Authorization header, which is sent as it is."
)
TOOLSETS: Final = Key(
    "toolsets",
    ListOf(Choice({"all": "all", **{str(id): str(id) for id in KNOWN}}), or_commas=True, nothing_is_empty=False),
    "The toolsets of DocSpace to start from: files, folders, people, rooms; all for every one, [] for none.",
    "all",
)
_TOOLS: Final = ListOf(Choice({name: name for name in _NAMES}), or_commas=True, nothing_is_empty=False)
ENABLED_TOOLS: Final = Key("enabled_tools", _TOOLS, "Tools of DocSpace to add, by their names.")
DISABLED_TOOLS: Final = Key("disabled_tools", _TOOLS, "Tools of DocSpace to take away. They win over enabled_tools.")
TRUST: Final = Key(
    "trust",
    Choice({trust.value: trust for trust in Trust}),
    "When a tool waits for a person's approval, as of a server. These tools are part of Pegboard, and so it is never "
    "unless you say otherwise.",
    Trust.OPEN.value,
)
REQUEST_CREDENTIALS: Final = Key(
    "request_credentials",
    Truth(),
    "Whether a caller over HTTP may bring a base URL and credentials of its own, in place of these: X-Mcp-Base-Url "
    "with X-Mcp-Api-Key, X-Mcp-Auth-Token, X-Mcp-Username and X-Mcp-Password, or Authorization.",
    False,
)
REQUEST_BASE_URLS: Final = Key(
    "request_base_urls",
    ListOf(
        Text(
            Form(
                r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\s]+[^?#\s]*",
                "write a URL that begins with http:// or https://, without a query",
            )
        ),
        or_commas=True,
        nothing_is_empty=False,
    ),
    "With request_credentials, the only base URLs that a caller may bring. By default any outside: one inside this "
    "machine or its network must be named here, unless it is base_url.",
)
USER_AGENT: Final = Key("user_agent", Text(_HEADER_TEXT), 'What Pegboard calls itself there; "" for nothing.')
TIMEOUT_KEY: Final = Key(
    "timeout", Seconds(), "How long one request to DocSpace may take: seconds, or a text such as 90s or 2m.", TIMEOUT
)
DEADLINE_KEY: Final = Key(
    "deadline",
    Seconds(),
    "How long DocSpace may take for a copy, a move, a deletion or a conversion: seconds, or a text such as 10m.",
    DEADLINE,
)

SECTION: Final = Section(
    "",
    (
        *(BASE_URL, API_KEY, AUTH_TOKEN, USERNAME, PASSWORD, AUTHORIZATION),
        *(TOOLSETS, ENABLED_TOOLS, DISABLED_TOOLS, TRUST),
        *(REQUEST_CREDENTIALS, REQUEST_BASE_URLS, USER_AGENT, TIMEOUT_KEY, DEADLINE_KEY),
    ),
    needs={"request_base_urls": "request_credentials"},
    advice={
        "url": "Write base_url.",
        "key": "Write api_key.",
        "token": "Write auth_token.",
        "user": "Write username.",
        "tools": "Write enabled_tools or disabled_tools.",
        "dynamic": "Write presentation: meta at the top of the file.",
        "presentation": "Write it at the top of the file.",
        "enabled": "Leave docspace out to have none of it; or write toolsets.",
    },
)

DOCSPACE: Final = Key(
    "docspace",
    SECTION,
    "An ONLYOFFICE DocSpace, whose files, folders, people and rooms become four toolsets. Without this key, the "
    "DOCSPACE_* environment variables are read in its place.",
)
