"""Overrides say things of single parameters, and each of their fields knows whose word it is."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("tool_overrides", sa.Column("arguments", sa.Text))
    op.add_column("tool_overrides", sa.Column("origins", sa.Text))
