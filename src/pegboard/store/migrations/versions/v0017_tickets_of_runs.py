"""Tickets tell which program waits for them."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("tickets", sa.Column("run_id", sa.Text))
