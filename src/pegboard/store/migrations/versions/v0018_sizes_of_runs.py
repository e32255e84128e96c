"""What is kept of programs tells whose they are and how much room they take."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("runs", sa.Column("principal", sa.Text))
    op.add_column("runs", sa.Column("size", sa.BigInteger))
    op.execute("UPDATE runs SET size = length(sealed)")
