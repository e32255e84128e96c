"""Makes the demo's database: who borrowed which book of `library.json`, when it is due, and what is reserved.

python lending.py FILE        makes FILE, unless it is there
"""

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

CATALOGUE = Path(__file__).resolve().parent / "library.json"
FIRST = date(2026, 1, 5)
READERS = (
    ("Mira Vance", "Harbour Street", "LC-4417"),
    ("Teodor Blum", "Harbour Street", "LC-2093"),
    ("Ines Okafor", "Mill Lane", "LC-7750"),
    ("Sunniva Dahl", "Mill Lane", "LC-1186"),
    ("Rafael Quist", "Station Road", "LC-9034"),
    ("Hana Petrov", "Station Road", "LC-3321"),
)
TABLES = """
CREATE TABLE shelves (id TEXT PRIMARY KEY, name TEXT NOT NULL, floor TEXT NOT NULL);
CREATE TABLE books (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  author TEXT NOT NULL,
  year INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  shelf_id TEXT NOT NULL REFERENCES shelves (id)
);
CREATE TABLE readers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, street TEXT NOT NULL, card_number TEXT NOT NULL);
CREATE TABLE loans (
  id INTEGER PRIMARY KEY,
  book_id TEXT NOT NULL REFERENCES books (id),
  reader_id INTEGER NOT NULL REFERENCES readers (id),
  lent_on TEXT NOT NULL,
  due_on TEXT NOT NULL,
  returned_on TEXT
);
CREATE TABLE reservations (
  id INTEGER PRIMARY KEY,
  book_id TEXT NOT NULL REFERENCES books (id),
  reader_id INTEGER NOT NULL REFERENCES readers (id),
  since TEXT NOT NULL
);
"""


def make(file: Path) -> None:
    """Beside it first, so that nobody ever finds half of it."""
    catalogue = json.loads(CATALOGUE.read_text("utf-8"))
    file.parent.mkdir(parents=True, exist_ok=True)
    begun = file.with_suffix(".new")
    begun.unlink(missing_ok=True)
    books = [(b["id"], b["title"], b["author"], b["year"], b["copies"], b["shelf"]) for b in catalogue["books"]]
    ids = [book[0] for book in books]
    with closing(sqlite3.connect(begun)) as connection, connection:
        connection.executescript(TABLES)
        connection.executemany(
            "INSERT INTO shelves VALUES (?, ?, ?)", [(s["id"], s["name"], s["floor"]) for s in catalogue["shelves"]]
        )
        connection.executemany("INSERT INTO books VALUES (?, ?, ?, ?, ?, ?)", books)
        connection.executemany("INSERT INTO readers (name, street, card_number) VALUES (?, ?, ?)", READERS)
        connection.executemany(
            "INSERT INTO loans (book_id, reader_id, lent_on, due_on, returned_on) VALUES (?, ?, ?, ?, ?)", loans(ids)
        )
        connection.executemany(
            "INSERT INTO reservations (book_id, reader_id, since) VALUES (?, ?, ?)",
            [(ids[place * 5], place + 1, str(FIRST + timedelta(days=60 + place))) for place in range(4)],
        )
    begun.replace(file)


def loans(books: list[str]) -> Iterator[tuple[str, int, str, str, str | None]]:
    """Sixty of them, the same for everybody: all but the last twelve came back."""
    for number in range(60):
        lent = FIRST + timedelta(days=number)
        returned = None if number >= 48 else str(lent + timedelta(days=7 + number % 20))
        book, reader = books[number * 7 % len(books)], number * 5 % len(READERS) + 1
        yield book, reader, str(lent), str(lent + timedelta(days=21)), returned


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if not place.exists():
        make(place)
