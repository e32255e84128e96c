"""A table for visits of browsers."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "visits",
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("began_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("place", "secret", name="pk_visits"),
    )
