"""Tickets and remembered grants tell in whose name the call was to run."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("tickets", sa.Column("whose", sa.Text))
    op.add_column("consents", sa.Column("whose", sa.Text))
