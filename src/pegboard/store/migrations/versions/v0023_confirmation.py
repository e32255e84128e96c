"""How calls of a tool and of a principal are confirmed, and which principals are interactive."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("tool_overrides", sa.Column("confirmation", sa.Text))
    op.create_table(
        "principal_confirmations",
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("whole", sa.Text),
        sa.Column("interactive", sa.Boolean),
        sa.Column("confirmation", sa.Text),
        sa.Column("origins", sa.Text),
        sa.PrimaryKeyConstraint("principal", name="pk_principal_confirmations"),
    )
