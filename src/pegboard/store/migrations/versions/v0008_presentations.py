"""A call's record tells how its caller is shown tools, where that is not each as itself."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("calls", sa.Column("presentation", sa.Text))
