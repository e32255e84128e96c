"""The keys of `databases`: where each source is, what of it may be seen, and how much of it at once."""

from typing import Final

from pegboard.core.database.source import DEFAULT_CALL_ROWS, DEFAULT_LIMITS
from pegboard.core.ids import ID_RULE

from .section import Key, Section
from .shape import Form, ListOf, MapOf, Seconds, Text, Truth, Whole

_ID: Final = Form(r"[a-z0-9][a-z0-9_-]{0,63}", f"use {ID_RULE}")
_REFERENCE: Final = r"\$\{(?:(?!:-)[^}])+\}"
_PASSWORD: Final = Form(
    rf"[a-z]+://[^/@:]*:(?!{_REFERENCE}@)(?:\$\{{[^}}]*\}}|[^/@])+@[\s\S]*"
    rf"|[\s\S]*[?&]password=(?!{_REFERENCE}(?:&|$))[\s\S]*",
    "write the password as a reference without a default, ${NAME} or ${file:path}, so that it is not in this file",
)
_URL: Final = Form(
    r"(?:sqlite:///|duckdb:///|(?:postgres(?:ql)?|mysql|mariadb)://|\$\{)[\s\S]+",
    "write a URL: sqlite:///file.db, duckdb:///file.duckdb, postgresql://user:${PASSWORD}@host/database, "
    "mysql://… or mariadb://…; or a reference to one",
    taken=_PASSWORD,
)
_FILLED: Final = Form(r"[\s\S]*\S[\s\S]*", "it must not be blank")
_PATTERNS: Final = ListOf(Text(_FILLED, as_written=True), or_commas=True, nothing_is_empty=False)

MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 16 * 1024 * 1024

URL: Final = Key(
    "url",
    Text(_URL, holds_references=True, is_secret=True),
    "Where it is: sqlite:///file.db or duckdb:///file.duckdb (from the folder of this file; with four slashes from "
    "the root), postgresql://, mysql:// or mariadb://user:${PASSWORD}@host:port/database. References are allowed, and "
    "a password must be one.",
)
ENABLED: Final = Key(
    "enabled", Truth(), "Whether the source is on. Without any, no tool for databases is listed.", True
)
DESCRIPTION: Final = Key("description", Text(), "What is in it: models read it to choose the right source.")
ALLOW: Final = Key(
    "allow",
    _PATTERNS,
    "Only these tables may be seen: patterns schema.table or table with *, ? and […]. By default all.",
)
DENY: Final = Key(
    "deny",
    _PATTERNS,
    "These tables and columns may not be seen, by any road: patterns schema.table, table or schema.table.column. They "
    "win over allow.",
)
ROWS: Final = Key(
    "max_rows",
    Whole(1, MOST_ROWS),
    f"The most rows that one call may ask for; who does not ask gets {DEFAULT_CALL_ROWS}.",
    DEFAULT_LIMITS.rows,
)
BYTES: Final = Key("max_bytes", Whole(1_000, MOST_BYTES), "The most bytes of one answer.", DEFAULT_LIMITS.bytes)
CELL: Final = Key(
    "max_cell", Whole(16, 1_000_000), "The most bytes of one value; longer ones are cut.", DEFAULT_LIMITS.cell
)
TIME: Final = Key(
    "timeout",
    Seconds(),
    "How long one statement may run: seconds, or a text such as 500ms, 10s or 1m.",
    DEFAULT_LIMITS.seconds,
)
SAMPLES: Final = Key(
    "samples",
    Truth(),
    "Whether search_schemas may read sample values, find tables by them and show some. They leave the database.",
    False,
)
WRITES: Final = Key(
    "writes",
    Truth(),
    "Whether statements may change it. A person must say yes to each of them.",
    False,
)
FORCE: Final = Key(
    "force",
    Truth(),
    "Whether it is used though its user may do anything there (a superuser, or one who may read files of the server). "
    "Better create a role that may only read.",
    False,
)

SOURCE: Final = Section(
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
DATABASES: Final = Key(
    "databases",
    MapOf(_ID, SOURCE),
    "Databases that models may ask with search_schemas and execute_sql, each under an id of your choice.",
)
