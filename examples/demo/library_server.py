"""A small lending library as an MCP server: four tools that only read, over the invented catalogue in `library.json`.

python library_server.py        speaks MCP over stdio
"""

import unicodedata
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

CATALOGUE = Path(__file__).resolve().parent / "library.json"
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

ShelfId = Annotated[
    str | None,
    Field(max_length=40, description="A shelf id as list_shelves gives it, for example 'sea'; null for any."),
]


class Shelf(BaseModel):
    """Where a book stands."""

    id: str
    name: str
    floor: Literal["basement", "ground", "first"]
    about: str = Field(description="What you find there.")


class ShelfCount(Shelf):
    books: int = Field(description="How many titles stand there.")


class Shelves(BaseModel):
    shelves: list[ShelfCount]


class BookLine(BaseModel):
    """A book in a list."""

    id: str = Field(description="Pass it to get_book for everything else.")
    title: str
    author: str
    year: int
    language: str
    shelf: str


class Book(BookLine):
    """Everything the catalogue knows of a book."""

    pages: int
    copies: int = Field(description="Copies the library owns.")
    subjects: list[str]
    summary: str


class BookFilter(BaseModel):
    """Conditions that a book has to meet, all of them."""

    model_config = ConfigDict(extra="forbid")

    shelf: ShelfId = None
    author: str | None = Field(default=None, max_length=100, description="Part of the author's name.")
    language: str | None = Field(default=None, pattern="^[a-z]{2}$", description="Two letters, for example 'en'.")
    published_from: int | None = Field(default=None, description="The first year to include.")
    published_to: int | None = Field(default=None, description="The last year to include.")


class BooksFound(BaseModel):
    total: int = Field(description="How many books match, of which `books` is one page.")
    books: list[BookLine]


class BookCounts(BaseModel):
    by: str
    counts: dict[str, int] = Field(description="From each shelf, author, language or decade to its number of titles.")
    total: int


class Catalogue(BaseModel):
    shelves: list[Shelf]
    books: list[Book]


def plain(text: str) -> str:
    """Without case and accents, so that 'uber' finds 'Über'."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


catalogue = Catalogue.model_validate_json(CATALOGUE.read_bytes())
books = {book.id: book for book in catalogue.books}
titles = {book.id: plain(book.title) for book in catalogue.books}
everything = {
    book.id: plain(" ".join((book.title, book.author, *book.subjects, book.summary))) for book in catalogue.books
}
server = MCPServer(
    "library",
    title="Harbour Street Library",
    version="1.0.0",
    log_level="WARNING",
    instructions="Search with search_books, then read one entry with get_book. Nothing here can be changed.",
)


def known_shelf(shelf: str) -> str:
    shelves = [each.id for each in catalogue.shelves]
    if shelf not in shelves:
        raise ToolError(f"there is no shelf {shelf!r}. The shelves are {', '.join(shelves)}.")
    return shelf


def meets(book: Book, conditions: BookFilter) -> bool:
    return (
        (conditions.shelf is None or book.shelf == conditions.shelf)
        and (conditions.author is None or plain(conditions.author) in plain(book.author))
        and (conditions.language is None or book.language == conditions.language)
        and (conditions.published_from is None or book.year >= conditions.published_from)
        and (conditions.published_to is None or book.year <= conditions.published_to)
    )


@server.tool(
    title="Search the catalogue",
    description=(
        "Find books by words of their title, author, subjects or summary. Every word has to occur; case and accents do "
        "not matter; books with a match in the title come first. An empty query lists every book that meets the filter."
    ),
    annotations=READS,
)
def search_books(
    query: Annotated[
        str, Field(max_length=200, description="Words to look for, for example 'lighthouse winter'.")
    ] = "",
    filter: Annotated[BookFilter | None, Field(description="Narrow the search.")] = None,
    limit: Annotated[int, Field(ge=1, le=50, description="Books on one page.")] = 10,
    offset: Annotated[int, Field(ge=0, description="Books to skip, for the next page.")] = 0,
) -> BooksFound:
    conditions = filter or BookFilter()
    if conditions.shelf is not None:
        known_shelf(conditions.shelf)
    words = plain(query).split()
    found = [
        book
        for book in catalogue.books
        if meets(book, conditions) and all(word in everything[book.id] for word in words)
    ]
    found.sort(key=lambda book: -sum(word in titles[book.id] for word in words))
    page = [BookLine.model_validate(book.model_dump()) for book in found[offset : offset + limit]]
    return BooksFound(total=len(found), books=page)


@server.tool(
    title="Read a catalogue entry",
    description="Everything the catalogue knows of one book: pages, copies, subjects and a summary.",
    annotations=READS,
)
def get_book(
    book_id: Annotated[str, Field(max_length=40, description="The id from a search, for example 'bk-014'.")],
) -> Book:
    if book_id not in books:
        raise ToolError(
            f"there is no book {book_id!r}. Ids run from {min(books)} to {max(books)}; find one with search_books."
        )
    return books[book_id]


@server.tool(
    title="List the shelves",
    description="The shelves of the library: where each stands, what it is about and how many titles it holds.",
    annotations=READS,
)
def list_shelves() -> Shelves:
    counts = Counter(book.shelf for book in catalogue.books)
    return Shelves(shelves=[ShelfCount(**shelf.model_dump(), books=counts[shelf.id]) for shelf in catalogue.shelves])


@server.tool(
    title="Count the books",
    description="How many titles there are by shelf, author, language or decade; of the whole library or of one shelf.",
    annotations=READS,
)
def count_books(
    by: Annotated[Literal["shelf", "author", "language", "decade"], Field(description="What to count by.")] = "shelf",
    shelf: ShelfId = None,
) -> BookCounts:
    if shelf is not None:
        known_shelf(shelf)
    counted = [book for book in catalogue.books if shelf in (None, book.shelf)]
    counts = Counter(f"{book.year // 10 * 10}s" if by == "decade" else str(getattr(book, by)) for book in counted)
    return BookCounts(by=by, counts=dict(sorted(counts.items())), total=len(counted))


if __name__ == "__main__":
    server.run("stdio")
