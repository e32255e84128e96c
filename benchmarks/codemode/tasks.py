"""Three tasks of many calls, each as a model does it with tools one by one and as a program.

Both are done for real, on the demo's library and desk, and must come to the same answer. Whoever works tool by tool is
given every advantage: it makes no mistake, and calls that do not need each other's answers stand in one turn.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Call: TypeAlias = tuple[str, dict[str, Any]]
Turn: TypeAlias = Callable[[Sequence[Call]], Awaitable[list[Any]]]
"""Writes some calls and reads their answers."""

NOTES: Final = 12


@dataclass(frozen=True)
class Task:
    name: str
    asked: str
    """Of the model, by its user."""
    query: str
    """What a model searches for that is not shown all tools."""
    by_calls: Callable[[Turn], Awaitable[Any]]
    """The answer that it works out by itself from what it reads."""
    program: str
    limit: int = 4


async def _thickest(turn: Turn) -> Any:
    [shelves] = await turn([("list_shelves", {})])
    [found] = await turn([("search_books", {"limit": 50})])
    books = await turn([("get_book", {"book_id": book["id"]}) for book in found["books"]])
    answer = {}
    for shelf in shelves["shelves"]:
        inside = [book for book in books if book["shelf"] == shelf["id"]]
        thickest = max(inside, key=lambda book: book["pages"])
        answer[shelf["name"]] = [sum(book["pages"] for book in inside), thickest["title"]]
    return answer


_THICKEST: Final = """\
import asyncio
shelves = (await library.list_shelves())["shelves"]
found = (await library.search_books(limit=50))["books"]
books = await asyncio.gather(*[library.get_book(book_id=book["id"]) for book in found])
answer = {}
for shelf in shelves:
    inside = [book for book in books if book["shelf"] == shelf["id"]]
    thickest = max(inside, key=lambda book: book["pages"])
    answer[shelf["name"]] = [sum(book["pages"] for book in inside), thickest["title"]]
answer
"""


async def _digest(turn: Turn) -> Any:
    [listed] = await turn([("list_notes", {"folder": "journal"})])
    notes = await turn([("read_note", {"name": note["name"]}) for note in listed["notes"]])
    lines = [
        f"{note['name']}: {line}" for note in notes for line in note["text"].splitlines() if line.startswith("TODO")
    ]
    [written] = await turn([("write_note", {"name": "open-ends", "text": "\n".join(lines)})])
    return [len(lines), written["bytes"]]


_DIGEST: Final = """\
import asyncio
listed = (await desk.list_notes(folder="journal"))["notes"]
notes = await asyncio.gather(*[desk.read_note(name=note["name"]) for note in listed])
lines = [f"{note['name']}: {line}" for note in notes for line in note["text"].splitlines() if line.startswith("TODO")]
written = await desk.write_note(name="open-ends", text="\\n".join(lines))
[len(lines), written["bytes"]]
"""

_WORDS: Final = ("storms", "lamps", "winter")


async def _reading_list(turn: Turn) -> Any:
    found = await turn([("search_books", {"query": word, "limit": 50}) for word in _WORDS])
    ids = sorted({book["id"] for each in found for book in each["books"]})
    books = await turn([("get_book", {"book_id": id}) for id in ids])
    chosen = sorted((book for book in books if book["pages"] <= 320), key=lambda book: book["year"])
    for book in chosen:
        line = f"{book['year']} {book['title']} ({book['pages']} pages)"
        await turn([("append_note", {"name": "reading", "text": line})])
    return [book["title"] for book in chosen]


_READING_LIST: Final = """\
import asyncio
found = await asyncio.gather(*[library.search_books(query=word, limit=50) for word in ("storms", "lamps", "winter")])
ids = sorted({book["id"] for each in found for book in each["books"]})
books = await asyncio.gather(*[library.get_book(book_id=each) for each in ids])
chosen = sorted([book for book in books if book["pages"] <= 320], key=lambda book: book["year"])
for book in chosen:
    await desk.append_note(name="reading", text=f"{book['year']} {book['title']} ({book['pages']} pages)")
[book["title"] for book in chosen]
"""

TASKS: Final = (
    Task(
        "the thickest book of each shelf",
        "How many pages do the books of each shelf have together, and which is the thickest?",
        "list shelves, search books, read a catalogue entry",
        _thickest,
        _THICKEST,
    ),
    Task(
        "open ends of a journal",
        "Go through the notes in journal and collect every line that begins with TODO in the note open-ends.",
        "list, read and write notes",
        _digest,
        _DIGEST,
    ),
    Task(
        "a reading list",
        "Put books about storms, lamps and winter of at most 320 pages on the note reading, oldest first.",
        "search books, read a catalogue entry, append to a note",
        _reading_list,
        _READING_LIST,
    ),
)


def journal(number: int) -> Call:
    """What was on the desk before."""
    days = "\n".join(
        f"Day {number * 10 + day}: rain until noon, then {8 + day % 5} knots from the west. Mended nets, "
        f"wrote letters and read aloud to the children of the harbour street."
        for day in range(8)
    )
    ends = f"TODO: answer letter {number}\n" if number % 3 == 0 else ""
    return "write_note", {"name": f"journal/week-{number:02d}", "text": f"{days}\n{ends}"}
