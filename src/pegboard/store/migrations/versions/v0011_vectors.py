"""Vectors of what tools say, by the digest of the text and of the model that read it."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "vectors",
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_vectors"),
        sa.Index("ix_vectors_used", "used"),
    )
