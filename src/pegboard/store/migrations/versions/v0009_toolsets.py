"""Toolsets bring tools of their own: Python functions and containers, and the files that they are made of."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "toolset_own",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("own", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("trust", sa.Text, nullable=False),
        sa.Column("tool_limit", sa.Text, nullable=False),
        sa.Column("timeouts", sa.Text, nullable=False),
        sa.Column("quarantined", sa.Boolean, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", name="pk_toolset_own"),
        _of_toolset("toolset_own"),
    )
    op.create_table(
        "tools",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("tool_id", sa.Text, nullable=False),
        sa.Column("whole", sa.Text),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("entrypoint", sa.Text),
        sa.Column("container", sa.Text),
        sa.Column("command", sa.Text),
        sa.Column("seconds", sa.Text),
        sa.Column("spec", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", "tool_id", name="pk_tools"),
        _of_toolset("tools"),
    )
    op.create_table(
        "toolset_docker_containers",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("container_id", sa.Text, nullable=False),
        sa.Column("image", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", "container_id", name="pk_toolset_docker_containers"),
        _of_toolset("toolset_docker_containers"),
    )
    op.create_table(
        "toolset_files",
        sa.Column("toolset_id", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("whole", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("toolset_id", "path", name="pk_toolset_files"),
        _of_toolset("toolset_files"),
    )


def _of_toolset(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["toolset_id"], ["toolsets.id"], name=f"fk_{table}_toolsets", deferrable=True, initially="DEFERRED"
    )
