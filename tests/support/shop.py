"""A small database of SQLite: a shop with customers, orders and what nobody should see."""

import sqlite3
from contextlib import closing
from pathlib import Path

STATEMENTS = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, email TEXT);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  placed TEXT NOT NULL,
  total REAL NOT NULL
);
CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT NOT NULL, salary INTEGER NOT NULL);
INSERT INTO customers VALUES
  (1, 'Ada', 'Lyon', 'ada@example.com'), (2, 'Ben', 'Lyon', 'ben@example.com'), (3, 'Cleo', 'Paris', NULL);
INSERT INTO orders VALUES (1, 1, '2026-01-02', 12.5), (2, 1, '2026-02-03', 7.25), (3, 3, '2026-03-04', 40.0);
INSERT INTO staff VALUES (1, 'Dora', 4200);
"""


def shop(file: Path) -> Path:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(STATEMENTS)
    return file


def customers(file: Path) -> list[str]:
    """As the file has them now."""
    with closing(sqlite3.connect(file)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM customers ORDER BY id")]
