"""All tables of the first release."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = None


def upgrade() -> None:
    _create_toolset_tables()
    _create_decision_tables()
    _create_activity_tables()


def _texts(*names: str) -> Iterator[sa.Column[str]]:
    return (sa.Column(name, sa.Text, nullable=False) for name in names)


def _optional_texts(*names: str) -> Iterator[sa.Column[str]]:
    return (sa.Column(name, sa.Text) for name in names)


def _flags(*names: str) -> Iterator[sa.Column[bool]]:
    return (sa.Column(name, sa.Boolean, nullable=False) for name in names)


def _numbers(*names: str) -> Iterator[sa.Column[int]]:
    return (sa.Column(name, sa.BigInteger, nullable=False) for name in names)


def _optional_numbers(*names: str) -> Iterator[sa.Column[int]]:
    return (sa.Column(name, sa.BigInteger) for name in names)


def _reference_to_toolset(table: str) -> sa.ForeignKeyConstraint:
    """Deferred, because a changed row is deleted and inserted within one transaction."""
    return sa.ForeignKeyConstraint(
        ["toolset_id"], ["toolsets.id"], name=f"fk_{table}_toolsets", deferrable=True, initially="DEFERRED"
    )


def _create_toolset_tables() -> None:
    op.create_table(
        "toolsets",
        *_texts("id", "name", "version", "description"),
        *_flags("enabled", "user_mcp"),
        *_texts("origin"),
        *_optional_texts("brought"),
        sa.PrimaryKeyConstraint("id", name="pk_toolsets"),
    )
    op.create_table(
        "toolset_mcp_servers",
        *_texts("toolset_id", "server_id", "connection"),
        *_flags("enabled"),
        *_texts("trust", "tool_limit", "timeouts"),
        *_flags("quarantined"),
        *_texts("origin"),
        sa.PrimaryKeyConstraint("toolset_id", "server_id", name="pk_toolset_mcp_servers"),
        _reference_to_toolset("toolset_mcp_servers"),
    )
    op.create_table(
        "toolset_own",
        *_texts("toolset_id", "own"),
        *_flags("enabled"),
        *_texts("trust", "tool_limit", "timeouts"),
        *_flags("quarantined"),
        *_texts("origin"),
        sa.PrimaryKeyConstraint("toolset_id", name="pk_toolset_own"),
        _reference_to_toolset("toolset_own"),
    )
    op.create_table(
        "tools",
        *_texts("toolset_id", "tool_id"),
        *_optional_texts("whole"),
        sa.Column("place", sa.Integer, nullable=False),
        *_optional_texts("entrypoint", "container", "command", "seconds"),
        *_texts("spec"),
        sa.PrimaryKeyConstraint("toolset_id", "tool_id", name="pk_tools"),
        _reference_to_toolset("tools"),
    )
    op.create_table(
        "toolset_docker_containers",
        *_texts("toolset_id", "container_id", "image"),
        sa.PrimaryKeyConstraint("toolset_id", "container_id", name="pk_toolset_docker_containers"),
        _reference_to_toolset("toolset_docker_containers"),
    )
    op.create_table(
        "toolset_files",
        *_texts("toolset_id", "path"),
        *_optional_texts("whole"),
        *_texts("kind", "sha256"),
        *_numbers("size"),
        sa.Column("executable", sa.Boolean),
        sa.PrimaryKeyConstraint("toolset_id", "path", name="pk_toolset_files"),
        _reference_to_toolset("toolset_files"),
    )
    op.create_table(
        "tool_overrides",
        *_texts("toolset_id", "tool_id", "kind"),
        *_optional_texts("whole"),
        sa.Column("place", sa.Integer, nullable=False),
        *_optional_texts("renderer", "renderer_config", "name_override", "description_override"),
        sa.Column("requires_confirmation", sa.Boolean),
        sa.Column("enabled", sa.Boolean),
        *_flags("declared"),
        *_optional_texts("arguments", "origins", "confirmation"),
        sa.PrimaryKeyConstraint("toolset_id", "tool_id", "kind", name="pk_tool_overrides"),
    )


def _create_decision_tables() -> None:
    op.create_table(
        "switches",
        *_texts("target", "kind"),
        *_optional_texts("whole"),
        *_flags("is_on"),
        *_texts("by", "at", "note"),
        sa.PrimaryKeyConstraint("target", "kind", name="pk_switches"),
    )
    op.create_table(
        "approvals",
        *_texts("tool_id", "kind"),
        *_optional_texts("whole"),
        *_texts("spec", "by", "at"),
        *_flags("first_sight"),
        sa.PrimaryKeyConstraint("tool_id", "kind", name="pk_approvals"),
    )
    op.create_table(
        "baselines",
        *_texts("toolset_id", "server_id", "at"),
        sa.PrimaryKeyConstraint("toolset_id", "server_id", name="pk_baselines"),
    )
    op.create_table(
        "trust",
        *_texts("toolset_id", "server_id", "trust"),
        sa.PrimaryKeyConstraint("toolset_id", "server_id", name="pk_trust"),
    )
    op.create_table(
        "grants",
        *_texts("principal"),
        *_optional_texts("whole"),
        *_texts("toolsets"),
        sa.PrimaryKeyConstraint("principal", name="pk_grants"),
    )
    op.create_table(
        "principal_confirmations",
        *_texts("principal"),
        *_optional_texts("whole"),
        sa.Column("interactive", sa.Boolean),
        *_optional_texts("confirmation", "origins"),
        sa.PrimaryKeyConstraint("principal", name="pk_principal_confirmations"),
    )
    op.create_table(
        "consents",
        *_texts("id", "tool_id", "kind", "fingerprint", "principal"),
        *_optional_texts("client"),
        *_texts("by", "at"),
        *_optional_texts("whose", "until"),
        sa.PrimaryKeyConstraint("id", name="pk_consents"),
    )
    op.create_table(
        "consent_uses",
        *_texts("id"),
        *_numbers("used_at"),
        sa.PrimaryKeyConstraint("id", name="pk_consent_uses"),
    )
    op.create_table(
        "api_tokens",
        *_texts("id", "principal", "name", "prefix", "sha256", "scopes", "made_by", "made_at"),
        *_optional_texts("expires_at", "revoked_by", "revoked_at"),
        sa.PrimaryKeyConstraint("id", name="pk_api_tokens"),
    )
    op.create_table(
        "token_uses",
        *_texts("id"),
        *_numbers("used_at"),
        sa.PrimaryKeyConstraint("id", name="pk_token_uses"),
    )
    op.create_table(
        "token_requirement",
        *_texts("name"),
        *_numbers("since"),
        sa.PrimaryKeyConstraint("name", name="pk_token_requirement"),
    )
    op.create_table(
        "visits",
        *_texts("place", "secret", "token"),
        *_numbers("began_at", "seen_at"),
        sa.PrimaryKeyConstraint("place", "secret", name="pk_visits"),
    )
    op.create_table(
        "tool_waits",
        *_texts("tool", "fingerprint"),
        *_numbers("since"),
        sa.PrimaryKeyConstraint("tool", name="pk_tool_waits"),
    )
    op.create_table(
        "policy_versions",
        sa.Column("version", sa.BigInteger, nullable=False, autoincrement=False),
        *_texts("at", "by", "what"),
        sa.PrimaryKeyConstraint("version", name="pk_policy_versions"),
    )


def _create_activity_tables() -> None:
    op.create_table(
        "tickets",
        *_texts("id"),
        *_numbers("asked_at", "deadline"),
        *_texts("principal"),
        *_optional_texts("whole_principal"),
        *_texts("client", "tool_id", "kind", "name", "fingerprint", "digest", "shown"),
        *_optional_texts("sealed"),
        *_texts("state"),
        *_optional_texts("decided_by"),
        *_optional_numbers("decided_at"),
        *_optional_texts("scope"),
        *_texts("note"),
        *_optional_numbers("begun_at"),
        *_optional_texts("call_id"),
        *_texts("ended"),
        *_optional_texts("whose", "run_id", "filled"),
        sa.PrimaryKeyConstraint("id", name="pk_tickets"),
        sa.Index("ix_tickets_asked_at", "asked_at"),
        sa.Index("ix_tickets_digest", "digest", "asked_at"),
        sa.Index("ix_tickets_state", "state", "deadline"),
    )
    op.create_table(
        "runs",
        *_texts("id", "mark"),
        *_numbers("kept_at", "until"),
        *_optional_numbers("claimed_at"),
        *_optional_texts("sealed", "principal"),
        *_optional_numbers("size"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.Index("ix_runs_until", "until"),
    )
    op.create_table(
        "run_tickets",
        *_texts("ticket", "run_id"),
        sa.PrimaryKeyConstraint("ticket", name="pk_run_tickets"),
        sa.Index("ix_run_tickets_run_id", "run_id"),
    )
    op.create_table(
        "secrets",
        *_texts("name", "sealed"),
        sa.PrimaryKeyConstraint("name", name="pk_secrets"),
    )
    op.create_table(
        "vectors",
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_vectors"),
        sa.Index("ix_vectors_used", "used"),
    )
    op.create_table(
        "search_queries",
        *_texts("name", "query", "principal", "expected", "by"),
        *_numbers("at"),
        sa.PrimaryKeyConstraint("name", name="pk_search_queries"),
    )
    op.create_table(
        "calls",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=True),
        *_numbers("at"),
        *_texts("call_id"),
        *_optional_texts("parent_id"),
        *_texts("principal", "client", "name"),
        *_optional_texts("tool"),
        *_texts("ended", "said"),
        *_numbers("took_us", "argument_bytes", "result_bytes"),
        sa.Column("kind", sa.Text, nullable=False, server_default="call"),
        *_optional_numbers("policy_version", "argument_tokens", "result_tokens"),
        *_optional_texts("arguments", "result", "presentation"),
        *_optional_numbers("gate_us"),
        sa.PrimaryKeyConstraint("number", name="pk_calls"),
        sqlite_autoincrement=True,
    )
    ended, kind = sa.text("ended <> 'returned'"), sa.text("kind <> 'call'")
    op.create_index("ix_calls_ended", "calls", ["ended", "number"], sqlite_where=ended, postgresql_where=ended)
    op.create_index("ix_calls_kind", "calls", ["number"], sqlite_where=kind, postgresql_where=kind)
