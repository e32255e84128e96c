"""Toolsets tell where they were imported from, and their files whether they may be run."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("toolsets", sa.Column("brought", sa.Text))
    op.add_column("toolset_files", sa.Column("executable", sa.Boolean))
