"""Tables for calls that wait for a person's decision, and for the grants that people let be remembered."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "consents",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("tool_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("client", sa.Text),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_consents"),
    )
    op.create_table(
        "tickets",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("deadline", sa.BigInteger, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("whole_principal", sa.Text),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("tool_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("shown", sa.Text, nullable=False),
        sa.Column("sealed", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("decided_by", sa.Text),
        sa.Column("decided_at", sa.BigInteger),
        sa.Column("scope", sa.Text),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("begun_at", sa.BigInteger),
        sa.Column("call_id", sa.Text),
        sa.Column("ended", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tickets"),
    )
    op.create_index("ix_tickets_digest", "tickets", ["digest", "asked_at"])
    op.create_index("ix_tickets_state", "tickets", ["state", "deadline"])
    op.create_index("ix_tickets_asked_at", "tickets", ["asked_at"])
