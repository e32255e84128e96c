"""The shop as statements that every engine understands."""

from collections.abc import Iterator

from benchmarks.sql_attacks.stage import PASSWORD, SECRET

CUSTOMERS = 50
ORDERS = 400


def statements(text: str = "VARCHAR(200)") -> Iterator[str]:
    yield f"CREATE TABLE customers (id INTEGER PRIMARY KEY, name {text} NOT NULL, city {text})"
    yield (
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), "
        f"total DOUBLE PRECISION NOT NULL, note {text})"
    )
    yield f"CREATE TABLE accounts (id INTEGER PRIMARY KEY, name {text}, password {text})"
    yield f"CREATE TABLE vault (id INTEGER PRIMARY KEY, secret {text})"
    yield "CREATE VIEW order_totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id"
    yield "CREATE VIEW vault_view AS SELECT secret FROM vault"
    yield "CREATE VIEW vault_size AS SELECT count(*) AS rows_there FROM vault"
    yield "CREATE VIEW account_view AS SELECT id, password FROM accounts"
    yield "CREATE VIEW account_names AS SELECT id, name FROM accounts"
    yield "CREATE VIEW account_star AS SELECT * FROM accounts"
    customers = ", ".join(f"({n}, 'Customer {n}', 'City {n % 7}')" for n in range(1, CUSTOMERS + 1))
    yield f"INSERT INTO customers (id, name, city) VALUES {customers}"
    orders = ", ".join(f"({n}, {n % CUSTOMERS + 1}, {n % 97 + 0.5}, 'note {n % 5}')" for n in range(1, ORDERS + 1))
    yield f"INSERT INTO orders (id, customer_id, total, note) VALUES {orders}"
    yield f"INSERT INTO accounts (id, name, password) VALUES (1, 'ada', '{PASSWORD}'), (2, 'bob', '{PASSWORD}-2')"
    yield f"INSERT INTO vault (id, secret) VALUES (1, '{SECRET}')"
