"""The keys of `docspace`: where it is, as whom it is asked, and which of its tools are on the board."""

from typing import Final

from pegboard.core.docspace.connection import DEADLINE_S, TIMEOUT_S
from pegboard.core.docspace.toolsets import TOOLSETS as KNOWN
from pegboard.core.server import Trust

from .section import ConfigKey, ConfigSection
from .shape import BooleanField, ChoiceField, DurationField, ListField, TextField, TextRule

_NAMES: Final = tuple(name for names in KNOWN.values() for name in names)
_URL: Final = TextRule(
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\s]+|\$\{)[^\s]*",
    "write a URL that begins with http:// or https://, or with a reference",
)
_NOT_BLANK: Final = TextRule(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_REFERENCE: Final = TextRule(
    r"\$\{(?:(?!:-)[^}])+\}",
    "write a reference without a default, ${NAME} or ${file:path}, so that the secret is not in this file",
)
_SECRET: Final = TextField(_REFERENCE, allows_references=True, is_secret=True)
_HEADER_TEXT: Final = TextRule(r"[\x20-\x7e]*", "a header's value is one line of printable ASCII characters")

BASE_URL: Final = ConfigKey(
    "base_url",
    TextField(_URL, allows_references=True, is_secret=True),
    "Where DocSpace is: https://example.onlyoffice.com. References are allowed.",
)
API_KEY: Final = ConfigKey("api_key", _SECRET, "A reference to an API key: ${NAME} or ${file:path}.")
AUTH_TOKEN: Final = ConfigKey("auth_token", _SECRET, "A reference to a personal access token.")
USERNAME: Final = ConfigKey(
    "username",
    TextField(_NOT_BLANK, allows_references=True),
    "The name of a user. It goes with password. References are allowed.",
)
PASSWORD: Final = ConfigKey("password", _SECRET, "A reference to that user's password.")
AUTHORIZATION: Final = ConfigKey(
    "authorization", _SECRET, "A reference to a whole Authorization header, which is sent as it is."
)
TOOLSETS: Final = ConfigKey(
    "toolsets",
    ListField(
        ChoiceField({"all": "all", **{str(id): str(id) for id in KNOWN}}), allows_commas=True, null_is_empty=False
    ),
    "The toolsets of DocSpace to start from: files, folders, people, rooms; all for every one, [] for none.",
    "all",
)
_TOOLS: Final = ListField(ChoiceField({name: name for name in _NAMES}), allows_commas=True, null_is_empty=False)
ENABLED_TOOLS: Final = ConfigKey("enabled_tools", _TOOLS, "Tools of DocSpace to add, by their names.")
DISABLED_TOOLS: Final = ConfigKey(
    "disabled_tools", _TOOLS, "Tools of DocSpace to take away. They win over enabled_tools."
)
TRUST: Final = ConfigKey(
    "trust",
    ChoiceField({trust.value: trust for trust in Trust}),
    "When a tool waits for a person's approval, as of a server. These tools are part of Pegboard, and so it is never "
    "unless you say otherwise.",
    Trust.OPEN.value,
)
REQUEST_CREDENTIALS: Final = ConfigKey(
    "request_credentials",
    BooleanField(),
    "Whether a caller over HTTP may bring a base URL and credentials of its own, in place of these: X-Mcp-Base-Url "
    "with X-Mcp-Api-Key, X-Mcp-Auth-Token, X-Mcp-Username and X-Mcp-Password, or Authorization.",
    False,
)
REQUEST_BASE_URLS: Final = ConfigKey(
    "request_base_urls",
    ListField(
        TextField(
            TextRule(
                r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\s]+[^?#\s]*",
                "write a URL that begins with http:// or https://, without a query",
            )
        ),
        allows_commas=True,
        null_is_empty=False,
    ),
    "With request_credentials, the only base URLs that a caller may bring. By default any outside: one inside this "
    "machine or its network must be named here, unless it is base_url.",
)
USER_AGENT: Final = ConfigKey(
    "user_agent", TextField(_HEADER_TEXT), 'What Pegboard calls itself there; "" for nothing.'
)
TIMEOUT_KEY: Final = ConfigKey(
    "timeout",
    DurationField(),
    "How long one request to DocSpace may take: seconds, or a text such as 90s or 2m.",
    TIMEOUT_S,
)
DEADLINE_KEY: Final = ConfigKey(
    "deadline",
    DurationField(),
    "How long DocSpace may take for a copy, a move, a deletion or a conversion: seconds, or a text such as 10m.",
    DEADLINE_S,
)

SECTION: Final = ConfigSection(
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

DOCSPACE: Final = ConfigKey(
    "docspace",
    SECTION,
    "An ONLYOFFICE DocSpace, whose files, folders, people and rooms become four toolsets. Without this key, the "
    "DOCSPACE_* environment variables are read in its place.",
)
