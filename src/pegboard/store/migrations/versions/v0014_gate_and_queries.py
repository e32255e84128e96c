"""How long a call's admission took, in its record; and a table for queries kept with what they should find."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("calls", sa.Column("gate_us", sa.BigInteger))
    op.create_table(
        "search_queries",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("expected", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_search_queries"),
    )
