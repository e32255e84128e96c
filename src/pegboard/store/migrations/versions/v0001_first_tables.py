"""The first tables: what people install and decide, its history, and the calls."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _installed()
    _decided()
    _recorded()


def _installed() -> None:
    op.create_table(
        "toolsets",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("user_mcp", sa.Boolean, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_toolsets"),
    )
    op.create_table(
        "toolset_mcp_servers",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("server_id", sa.Text, nullable=False),
        sa.Column("connection", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("trust", sa.Text, nullable=False),
        sa.Column("tool_limit", sa.Text, nullable=False),
        sa.Column("timeouts", sa.Text, nullable=False),
        sa.Column("quarantined", sa.Boolean, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", "server_id", name="pk_toolset_mcp_servers"),
        sa.ForeignKeyConstraint(
            ["toolset_id"],
            ["toolsets.id"],
            name="fk_toolset_mcp_servers_toolsets",
            deferrable=True,
            initially="DEFERRED",
        ),
    )
    op.create_table(
        "tool_overrides",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("tool_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("whole", sa.Text),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("renderer", sa.Text),
        sa.Column("renderer_config", sa.Text),
        sa.Column("name_override", sa.Text),
        sa.Column("description_override", sa.Text),
        sa.Column("requires_confirmation", sa.Boolean),
        sa.Column("enabled", sa.Boolean),
        sa.Column("declared", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", "tool_id", "kind", name="pk_tool_overrides"),
    )


def _decided() -> None:
    op.create_table(
        "switches",
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("whole", sa.Text),
        sa.Column("is_on", sa.Boolean, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("target", "kind", name="pk_switches"),
    )
    op.create_table(
        "approvals",
        sa.Column("tool_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("whole", sa.Text),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("first_sight", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("tool_id", "kind", name="pk_approvals"),
    )
    op.create_table(
        "baselines",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("server_id", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", "server_id", name="pk_baselines"),
    )
    op.create_table(
        "trust",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("server_id", sa.Text, nullable=False),
        sa.Column("trust", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", "server_id", name="pk_trust"),
    )
    op.create_table(
        "grants",
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("whole", sa.Text),
        sa.Column("toolsets", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("principal", name="pk_grants"),
    )


def _recorded() -> None:
    op.create_table(
        "policy_versions",
        sa.Column("version", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_policy_versions"),
    )
    op.create_table(
        "calls",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("call_id", sa.Text, nullable=False),
        sa.Column("parent_id", sa.Text),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("tool", sa.Text),
        sa.Column("ended", sa.Text, nullable=False),
        sa.Column("said", sa.Text, nullable=False),
        sa.Column("took_us", sa.BigInteger, nullable=False),
        sa.Column("argument_bytes", sa.BigInteger, nullable=False),
        sa.Column("result_bytes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_calls"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_calls_at", "calls", ["at", "number"])
    op.create_index("ix_calls_tool", "calls", ["tool", "at", "number"])
    op.create_index("ix_calls_principal", "calls", ["principal", "at", "number"])
    op.create_index("ix_calls_ended", "calls", ["ended", "at", "number"])
