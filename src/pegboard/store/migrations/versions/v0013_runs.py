"""Tables for programs that wait for a person's decision, and for the tickets that each waits for."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("mark", sa.Text, nullable=False),
        sa.Column("kept_at", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("claimed_at", sa.BigInteger),
        sa.Column("sealed", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.Index("ix_runs_until", "until"),
    )
    op.create_table(
        "run_tickets",
        sa.Column("ticket", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("ticket", name="pk_run_tickets"),
        sa.Index("ix_run_tickets_run_id", "run_id"),
    )
