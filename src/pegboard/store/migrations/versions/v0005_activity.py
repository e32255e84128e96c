"""The record of calls becomes the record of all activity: decisions beside calls, and the policy of their time."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("calls", sa.Column("kind", sa.Text, nullable=False, server_default="call"))
    op.add_column("calls", sa.Column("policy_version", sa.BigInteger))
    op.add_column("calls", sa.Column("argument_tokens", sa.BigInteger))
    op.add_column("calls", sa.Column("result_tokens", sa.BigInteger))
    op.add_column("calls", sa.Column("arguments", sa.Text))
    op.add_column("calls", sa.Column("result", sa.Text))
    refused = ", ".join(f"'{word}'" for word in _REFUSALS)
    op.execute(f"UPDATE calls SET kind = 'refusal' WHERE ended IN ({refused})")  # noqa: S608 - our own words
    for name in ("ix_calls_at", "ix_calls_tool", "ix_calls_principal", "ix_calls_ended"):
        op.drop_index(name, "calls")
    ended, kind = sa.text("ended <> 'returned'"), sa.text("kind <> 'call'")
    op.create_index("ix_calls_ended", "calls", ["ended", "number"], sqlite_where=ended, postgresql_where=ended)
    op.create_index("ix_calls_kind", "calls", ["number"], sqlite_where=kind, postgresql_where=kind)


_REFUSALS = (
    "unknown_tool",
    "bad_arguments",
    "server_disabled",
    "server_quarantined",
    "disabled_by_config",
    "disabled_by_user",
    "pending_approval",
    "server_unavailable",
    "disabled_unknown",
)
