"""Tickets tell what overrides put into their calls."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("tickets", sa.Column("filled", sa.Text))
