"""How Alembic runs the migrations: on the connection, and in the transaction, that it is handed."""

from alembic import context

from pegboard.store.schema import REVISION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=REVISION_TABLE)
with context.begin_transaction():
    context.run_migrations()
