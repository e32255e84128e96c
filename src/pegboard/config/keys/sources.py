"""Keys about where tools come from: servers, toolsets, DocSpace, databases, containers."""

from typing import Final

from pegboard.config.docspace_toolsets import TOOLSETS as KNOWN
from pegboard.config.schema.fields import (
    BooleanField,
    ChoiceField,
    DurationField,
    IntegerField,
    ListField,
    MapField,
    TextField,
    TextRule,
)
from pegboard.config.schema.section import ConfigKey, ConfigSection
from pegboard.core.model.databases import DEFAULT_CALL_ROWS, DEFAULT_QUERY_LIMITS
from pegboard.core.model.ids import ID_RULE
from pegboard.core.model.server import Trust
from pegboard.core.model.web_api import DEADLINE_S, TIMEOUT_S

# The keys of `databases`: where each source is, what of it may be seen, and how much of it at once.

_ID: Final = TextRule(r"[a-z0-9][a-z0-9_-]{0,63}", f"use {ID_RULE}")
_DATABASE_REFERENCE: Final = r"\$\{(?:(?!:-)[^}])+\}"
_PASSWORD: Final = TextRule(
    rf"[a-z]+://[^/@:]*:(?!{_DATABASE_REFERENCE}@)(?:\$\{{[^}}]*\}}|[^/@])+@[\s\S]*"
    rf"|[\s\S]*[?&]password=(?!{_DATABASE_REFERENCE}(?:&|$))[\s\S]*",
    "write the password as a reference without a default, ${NAME} or ${file:path}, so that it is not in this file",
)
_DATABASE_URL: Final = TextRule(
    r"(?:sqlite:///|duckdb:///|(?:postgres(?:ql)?|mysql|mariadb)://|\$\{)[\s\S]+",
    "write a URL: sqlite:///file.db, duckdb:///file.duckdb, postgresql://user:${PASSWORD}@host/database, "
    "mysql://… or mariadb://…; or a reference to one",
    excluded=_PASSWORD,
)
_NOT_BLANK: Final = TextRule(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_PATTERNS: Final = ListField(TextField(_NOT_BLANK, accepts_scalars=True), allows_commas=True, null_is_empty=False)

MAX_ROWS: Final = 10_000
MAX_BYTES: Final = 16 * 1024 * 1024

URL: Final = ConfigKey(
    "url",
    TextField(_DATABASE_URL, allows_references=True, is_secret=True),
    "Where it is: sqlite:///file.db or duckdb:///file.duckdb (from the folder of this file; with four slashes from "
    "the root), postgresql://, mysql:// or mariadb://user:${PASSWORD}@host:port/database. References are allowed, and "
    "a password must be one.",
)
ENABLED: Final = ConfigKey(
    "enabled", BooleanField(), "Whether the source is on. Without any, no tool for databases is listed.", True
)
DESCRIPTION: Final = ConfigKey("description", TextField(), "What is in it: models read it to choose the right source.")
ALLOW: Final = ConfigKey(
    "allow",
    _PATTERNS,
    "Only these tables may be seen: patterns schema.table or table with *, ? and […]. By default all.",
)
DENY: Final = ConfigKey(
    "deny",
    _PATTERNS,
    "These tables and columns may not be seen, by any road: patterns schema.table, table or schema.table.column. They "
    "win over allow.",
)
ROWS: Final = ConfigKey(
    "max_rows",
    IntegerField(1, MAX_ROWS),
    f"The most rows that one call may ask for; who does not ask gets {DEFAULT_CALL_ROWS}.",
    DEFAULT_QUERY_LIMITS.rows,
)
BYTES: Final = ConfigKey(
    "max_bytes", IntegerField(1_000, MAX_BYTES), "The most bytes of one answer.", DEFAULT_QUERY_LIMITS.bytes
)
CELL: Final = ConfigKey(
    "max_cell",
    IntegerField(16, 1_000_000),
    "The most bytes of one value; longer ones are cut.",
    DEFAULT_QUERY_LIMITS.cell_chars,
)
TIME: Final = ConfigKey(
    "timeout",
    DurationField(),
    "How long one statement may run: seconds, or a text such as 500ms, 10s or 1m.",
    DEFAULT_QUERY_LIMITS.seconds,
)
SAMPLES: Final = ConfigKey(
    "samples",
    BooleanField(),
    "Whether search_schemas may read sample values, find tables by them and show some. They leave the database.",
    False,
)
WRITES: Final = ConfigKey(
    "writes",
    BooleanField(),
    "Whether statements may change it. A person must say yes to each of them.",
    False,
)
FORCE: Final = ConfigKey(
    "force",
    BooleanField(),
    "Whether it is used though its user may do anything there (a superuser, or one who may read files of the server). "
    "Better create a role that may only read.",
    False,
)

SOURCE: Final = ConfigSection(
    "One database.",
    (URL, ENABLED, DESCRIPTION, ALLOW, DENY, ROWS, BYTES, CELL, TIME, SAMPLES, WRITES, FORCE),
    required=("url",),
    advice={
        "path": "Write url: sqlite:///path.",
        "file": "Write url: sqlite:///path.",
        "dsn": "Write url.",
        "password": "Write it in the url, as a reference: postgresql://user:${PASSWORD}@host/database.",
        "read_only": "It is read-only unless you write writes: true.",
        "readonly": "It is read-only unless you write writes: true.",
        "tables": "Write allow or deny.",
        "limits": "Write max_rows, max_bytes, max_cell or timeout.",
        "rows": "Write max_rows.",
    },
)
DATABASES: Final = ConfigKey(
    "databases",
    MapField(_ID, SOURCE),
    "Databases that models may ask with search_schemas and execute_sql, each under an id of your choice.",
)


_NAMES: Final = tuple(name for names in KNOWN.values() for name in names)
_DOCSPACE_URL: Final = TextRule(
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\s]+|\$\{)[^\s]*",
    "write a URL that begins with http:// or https://, or with a reference",
)
_DOCSPACE_REFERENCE: Final = TextRule(
    r"\$\{(?:(?!:-)[^}])+\}",
    "write a reference without a default, ${NAME} or ${file:path}, so that the secret is not in this file",
)
_SECRET: Final = TextField(_DOCSPACE_REFERENCE, allows_references=True, is_secret=True)
_HEADER_TEXT: Final = TextRule(r"[\x20-\x7e]*", "a header's value is one line of printable ASCII characters")

BASE_URL: Final = ConfigKey(
    "base_url",
    TextField(_DOCSPACE_URL, allows_references=True, is_secret=True),
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
