"""A small shop as a schema, for whoever tells of tables."""

from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, ForeignKey, TableColumn, TableName
from pegboard.core.model.databases import Dialect


def name(table: str, schema: str = "public") -> TableName:
    return TableName(schema, table)


def table(
    called: str, *columns: str, key: tuple[str, ...] = ("id",), comment: str = "", schema: str = "public"
) -> DatabaseTable:
    """Columns as `name type`; without a type they are texts."""
    split = (column.partition(" ") for column in columns)
    own = tuple(TableColumn(first, type or "text") for first, _, type in split)
    return DatabaseTable(name(called, schema), own, key, comment)


def refers(called: str, column: str, to: str, *, schema: str = "public", to_schema: str = "public") -> ForeignKey:
    return ForeignKey(name(called, schema), (column,), name(to, to_schema), ("id",))


CUSTOMERS = table("customers", "id bigint", "full_name", "email", "vip boolean", comment="Who buys")
ORDERS = table("orders", "id bigint", "customer_id bigint", "placed_at timestamp", "grand_total numeric")
LINES = table("order", "id bigint", "order_id bigint", "Stück integer", "from", schema="Übersicht")
SECRETS = table("secrets", "id bigint", "customer_id bigint", "pin")

SHOP = DatabaseSchema(
    Dialect.POSTGRESQL,
    (CUSTOMERS, ORDERS, LINES),
    (refers("orders", "customer_id", "customers"), refers("order", "order_id", "orders", schema="Übersicht")),
    "public",
)
