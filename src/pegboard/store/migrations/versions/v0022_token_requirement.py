"""The store remembers that callers had to show tokens, so that no change of files or tokens opens the board again."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "token_requirement",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_token_requirement"),
    )
