"""The keys of `databases`: where each source is, what of it may be seen, and how much of it at once."""

from typing import Final

from pegboard.core.database.source import DEFAULT_CALL_ROWS, DEFAULT_QUERY_LIMITS
from pegboard.core.ids import ID_RULE

from .section import ConfigKey, ConfigSection
from .shape import BooleanField, DurationField, IntegerField, ListField, MapField, TextField, TextRule

_ID: Final = TextRule(r"[a-z0-9][a-z0-9_-]{0,63}", f"use {ID_RULE}")
_REFERENCE: Final = r"\$\{(?:(?!:-)[^}])+\}"
_PASSWORD: Final = TextRule(
    rf"[a-z]+://[^/@:]*:(?!{_REFERENCE}@)(?:\$\{{[^}}]*\}}|[^/@])+@[\s\S]*"
    rf"|[\s\S]*[?&]password=(?!{_REFERENCE}(?:&|$))[\s\S]*",
    "write the password as a reference without a default, ${NAME} or ${file:path}, so that it is not in this file",
)
_URL: Final = TextRule(
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
    TextField(_URL, allows_references=True, is_secret=True),
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
