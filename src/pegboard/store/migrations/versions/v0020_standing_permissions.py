"""Standing permissions have an end, and it is known when each was used last."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

DAYS = 30


def upgrade() -> None:
    op.add_column("consents", sa.Column("until", sa.Text))
    consents = sa.table("consents", sa.column("id", sa.Text), sa.column("at", sa.Text), sa.column("until", sa.Text))
    connection = op.get_bind()
    for id, at in connection.execute(sa.select(consents.c.id, consents.c.at)).all():
        until = datetime.fromisoformat(at) + timedelta(days=DAYS)
        connection.execute(sa.update(consents).where(consents.c.id == id).values(until=until.isoformat()))
    op.create_table(
        "consent_uses",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_consent_uses"),
    )
