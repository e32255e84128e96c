"""The tables. A change here needs a migration in `migrations/versions`."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from pegboard.store.text import SafeText

REVISION: Final = "0024"
"""The migration that makes these tables: a database at this revision needs no work when it is opened."""

DEFERRED: Final = "deferred"
"""Marks a column that may hold megabytes and is read only by who needs it, not when a whole table is checked."""

REVISION_TABLE: Final = "pegboard_schema"
"""Not Alembic's usual name, so that a database shared with another program has no two owners of one table."""

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

toolsets: Final = Table(
    "toolsets",
    metadata,
    Column("id", Text, nullable=False),
    Column("name", SafeText, nullable=False),
    Column("version", SafeText, nullable=False),
    Column("description", SafeText, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("user_mcp", Boolean, nullable=False),
    Column("origin", SafeText, nullable=False),
    Column("brought", SafeText),
    PrimaryKeyConstraint("id"),
)

toolset_mcp_servers: Final = Table(
    "toolset_mcp_servers",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("server_id", Text, nullable=False),
    Column("connection", SafeText, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("trust", Text, nullable=False),
    Column("tool_limit", SafeText, nullable=False),
    Column("timeouts", Text, nullable=False),
    Column("quarantined", Boolean, nullable=False),
    Column("origin", SafeText, nullable=False),
    PrimaryKeyConstraint("toolset_id", "server_id"),
    # Deferred, because a changed row is deleted and inserted within one transaction.
    ForeignKeyConstraint(["toolset_id"], ["toolsets.id"], deferrable=True, initially="DEFERRED"),
)

toolset_own: Final = Table(
    "toolset_own",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("own", SafeText, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("trust", Text, nullable=False),
    Column("tool_limit", SafeText, nullable=False),
    Column("timeouts", Text, nullable=False),
    Column("quarantined", Boolean, nullable=False),
    Column("origin", SafeText, nullable=False),
    PrimaryKeyConstraint("toolset_id"),
    ForeignKeyConstraint(["toolset_id"], ["toolsets.id"], deferrable=True, initially="DEFERRED"),
)
"""How the tools that a toolset brings itself are run, and what is allowed of them; each of them is in `tools`."""

tools: Final = Table(
    "tools",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("tool_id", SafeText, nullable=False),
    Column("whole", SafeText),
    Column("place", Integer, nullable=False),
    Column("entrypoint", SafeText),
    Column("container", SafeText),
    Column("command", SafeText),
    Column("seconds", Text),
    Column("spec", SafeText, nullable=False),
    PrimaryKeyConstraint("toolset_id", "tool_id"),
    ForeignKeyConstraint(["toolset_id"], ["toolsets.id"], deferrable=True, initially="DEFERRED"),
)
"""An entrypoint, or a container and its command; and what the tool was described as when it was imported."""

toolset_docker_containers: Final = Table(
    "toolset_docker_containers",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("container_id", Text, nullable=False),
    Column("image", SafeText, nullable=False),
    PrimaryKeyConstraint("toolset_id", "container_id"),
    ForeignKeyConstraint(["toolset_id"], ["toolsets.id"], deferrable=True, initially="DEFERRED"),
)
"""Those whose tools are commands. One that speaks MCP is a server of its toolset."""

toolset_files: Final = Table(
    "toolset_files",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("path", SafeText, nullable=False),
    Column("whole", SafeText),
    Column("kind", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("executable", Boolean),
    PrimaryKeyConstraint("toolset_id", "path"),
    ForeignKeyConstraint(["toolset_id"], ["toolsets.id"], deferrable=True, initially="DEFERRED"),
)

tool_overrides: Final = Table(
    "tool_overrides",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("tool_id", SafeText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("whole", SafeText),
    Column("place", Integer, nullable=False),
    Column("renderer", SafeText),
    Column("renderer_config", SafeText),
    Column("name_override", SafeText),
    Column("description_override", SafeText),
    Column("requires_confirmation", Boolean),
    Column("enabled", Boolean),
    Column("declared", Boolean, nullable=False),
    Column("arguments", SafeText),
    Column("origins", SafeText),
    Column("confirmation", Text),
    PrimaryKeyConstraint("toolset_id", "tool_id", "kind"),
)

switches: Final = Table(
    "switches",
    metadata,
    Column("target", SafeText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("whole", SafeText),
    Column("is_on", Boolean, nullable=False),
    Column("by", SafeText, nullable=False),
    Column("at", Text, nullable=False),
    Column("note", SafeText, nullable=False),
    PrimaryKeyConstraint("target", "kind"),
)

approvals: Final = Table(
    "approvals",
    metadata,
    Column("tool_id", SafeText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("whole", SafeText),
    Column("spec", SafeText, nullable=False),
    Column("by", SafeText, nullable=False),
    Column("at", Text, nullable=False),
    Column("first_sight", Boolean, nullable=False),
    PrimaryKeyConstraint("tool_id", "kind"),
)

baselines: Final = Table(
    "baselines",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("server_id", Text, nullable=False),
    Column("at", Text, nullable=False),
    PrimaryKeyConstraint("toolset_id", "server_id"),
)

trust: Final = Table(
    "trust",
    metadata,
    Column("toolset_id", Text, nullable=False),
    Column("server_id", Text, nullable=False),
    Column("trust", Text, nullable=False),
    PrimaryKeyConstraint("toolset_id", "server_id"),
)

grants: Final = Table(
    "grants",
    metadata,
    Column("principal", SafeText, nullable=False),
    Column("whole", SafeText),
    Column("toolsets", SafeText, nullable=False),
    PrimaryKeyConstraint("principal"),
)

principal_confirmations: Final = Table(
    "principal_confirmations",
    metadata,
    Column("principal", SafeText, nullable=False),
    Column("whole", SafeText),
    Column("interactive", Boolean),
    Column("confirmation", Text),
    Column("origins", SafeText),
    PrimaryKeyConstraint("principal"),
)
"""Whether clients of a principal may confirm calls, and how its calls are confirmed; NULL is unset."""

policy_versions: Final = Table(
    "policy_versions",
    metadata,
    Column("version", BigInteger, nullable=False, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("by", SafeText, nullable=False),
    Column("what", SafeText, nullable=False),
    PrimaryKeyConstraint("version"),
)

consents: Final = Table(
    "consents",
    metadata,
    Column("id", Text, nullable=False),
    Column("tool_id", SafeText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("client", SafeText),
    Column("by", SafeText, nullable=False),
    Column("at", Text, nullable=False),
    Column("whose", SafeText),
    Column("until", Text),
    PrimaryKeyConstraint("id"),
)
"""Standing permissions. `until` is a moment or `never`; where there is none, it counts from `at` (`decisions.py`)."""

consent_uses: Final = Table(
    "consent_uses",
    metadata,
    Column("id", Text, nullable=False),
    Column("used_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("id"),
)
"""Beside the permissions, as `token_uses` beside the tokens: a use is no decision."""

tickets: Final = Table(
    "tickets",
    metadata,
    Column("id", Text, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    Column("deadline", BigInteger, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("whole_principal", SafeText),
    Column("client", SafeText, nullable=False),
    Column("tool_id", SafeText, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", SafeText, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("shown", SafeText, nullable=False),
    Column("sealed", Text, info={DEFERRED: True}),
    Column("state", Text, nullable=False),
    Column("decided_by", SafeText),
    Column("decided_at", BigInteger),
    Column("scope", Text),
    Column("note", SafeText, nullable=False),
    Column("begun_at", BigInteger),
    Column("call_id", SafeText),
    Column("ended", Text, nullable=False),
    Column("whose", SafeText),
    Column("run_id", SafeText),
    Column("filled", SafeText),
    PrimaryKeyConstraint("id"),
    Index("ix_tickets_digest", "digest", "asked_at"),
    Index("ix_tickets_state", "state", "deadline"),
    Index("ix_tickets_asked_at", "asked_at"),
)
"""Microseconds since 1970 in the times. The arguments are in `sealed`, encrypted, for as long as they may be used."""

runs: Final = Table(
    "runs",
    metadata,
    Column("id", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Column("kept_at", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("claimed_at", BigInteger),
    Column("sealed", Text, info={DEFERRED: True}),
    Column("principal", SafeText),
    Column("size", BigInteger),
    PrimaryKeyConstraint("id"),
    Index("ix_runs_until", "until"),
)
"""Programs that wait for a person. Their state is in `sealed`, encrypted, until somebody goes on with it, and takes so
many bytes there as `size` says."""

run_tickets: Final = Table(
    "run_tickets",
    metadata,
    Column("ticket", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    PrimaryKeyConstraint("ticket"),
    Index("ix_run_tickets_run_id", "run_id"),
)
"""The calls of those programs that wait. Of two programs that make the same call the later one has its ticket."""

api_tokens: Final = Table(
    "api_tokens",
    metadata,
    Column("id", Text, nullable=False),
    *(Column(name, SafeText, nullable=False) for name in ("principal", "name", "prefix")),
    Column("sha256", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("made_by", SafeText, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("revoked_by", SafeText),
    Column("revoked_at", Text),
    PrimaryKeyConstraint("id"),
)
"""Of the token itself only its hash."""

token_uses: Final = Table(
    "token_uses",
    metadata,
    Column("id", Text, nullable=False),
    Column("used_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("id"),
)
"""Not in the same table: to use a token is no decision, and makes no new version of the policy."""

token_requirement: Final = Table(
    "token_requirement",
    metadata,
    Column("name", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    PrimaryKeyConstraint("name"),
)
"""One row while callers must show tokens. No decision: it follows from decisions and from files, and outlives both."""

visits: Final = Table(
    "visits",
    metadata,
    *(Column(name, Text, nullable=False) for name in ("place", "secret", "token")),
    *(Column(name, BigInteger, nullable=False) for name in ("began_at", "seen_at")),
    PrimaryKeyConstraint("place", "secret"),
)

secrets: Final = Table(
    "secrets",
    metadata,
    Column("name", Text, nullable=False),
    Column("sealed", Text, nullable=False),
    PrimaryKeyConstraint("name"),
)
"""Encrypted by `secrets.py`, as base64 text: whoever reads the database reads nothing of it."""

vectors: Final = Table(
    "vectors",
    metadata,
    Column("digest", LargeBinary, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Column("used", Integer, nullable=False),
    PrimaryKeyConstraint("digest"),
    Index("ix_vectors_used", "used"),
)
"""By the SHA-256 of a model and a text. The day in `used` is counted from 1970."""

search_queries: Final = Table(
    "search_queries",
    metadata,
    Column("name", Text, nullable=False),
    Column("query", SafeText, nullable=False),
    Column("principal", SafeText, nullable=False),
    Column("expected", SafeText, nullable=False),
    Column("by", SafeText, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("name"),
)
"""Queries with the tools that they should find, as a JSON list of ids."""

tool_waits: Final = Table(
    "tool_waits",
    metadata,
    *(Column(name, Text, nullable=False) for name in ("tool", "fingerprint")),
    Column("since", BigInteger, nullable=False),
    PrimaryKeyConstraint("tool"),
)

NOT_RETURNED: Final = text("ended <> 'returned'")
NOT_CALL: Final = text("kind <> 'call'")
"""As text, because an engine knows that an index fits a query by the words in which both say so."""

calls: Final = Table(
    "calls",
    metadata,
    # Only an INTEGER key counts up by itself in SQLite, where it has 64 bits anyway.
    Column("number", BigInteger().with_variant(Integer, "sqlite"), nullable=False, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("call_id", Text, nullable=False),
    Column("parent_id", Text),
    Column("principal", Text, nullable=False),
    Column("client", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("tool", Text),
    Column("ended", Text, nullable=False),
    Column("said", Text, nullable=False),
    Column("took_us", BigInteger, nullable=False),
    Column("argument_bytes", BigInteger, nullable=False),
    Column("result_bytes", BigInteger, nullable=False),
    Column("kind", Text, nullable=False, server_default="call"),
    Column("policy_version", BigInteger),
    Column("argument_tokens", BigInteger),
    Column("result_tokens", BigInteger),
    Column("arguments", Text),
    Column("result", Text),
    Column("presentation", Text),
    Column("gate_us", BigInteger),
    PrimaryKeyConstraint("number"),
    Index("ix_calls_ended", "ended", "number", sqlite_where=NOT_RETURNED),
    Index("ix_calls_kind", "number", sqlite_where=NOT_CALL),
    sqlite_autoincrement=True,
)
"""Every call, and beside them every decision (`activity.py`). Microseconds since 1970 in `at`. Rows are told by
number, so no query sorts: it walks back along the rows, or along an index of the few that are no calls, or did not end
well. An index over all rows costs more than a row itself; a walk over all of them takes up to half a second, so it is
made in parts. Texts are escaped by `calls.py` itself, past SQLAlchemy's types, which cost more than the insertion."""


def declare_postgresql_indexes() -> None:
    """The same indexes there. Asked for by who opens such a database, because its options load all of its dialect."""
    for index in calls.indexes:
        index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
