"""How one text became another, word by word, for a person who decides: bounded, and harmless to show.

Whatever the texts are, the work grows with their length alone, and nothing that does not show stays unseen: blanks in
number, line breaks and characters without a look are written out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from .scan.excerpt import UNSEEN
from .scan.letters import lookalike

LONGEST: Final = 4_000
"""Characters of one piece. Of more its beginning and its end are told, and how many are between them."""
MOST_PIECES: Final = 100
_CONTEXT: Final = 60
_WORDS: Final = 3_000
"""Of both texts together, after what they begin and end with in common. More are not put side by side."""
_EDITS: Final = 400
_LIKE: Final = 250
_LONGEST_WORD: Final = 32
_WORD: Final = re.compile(rf"\s+|\w{{1,{_LONGEST_WORD}}}|[^\w\s]")
_RUNS: Final = re.compile(r" {9,}|([\s\S])\1{29,}")
_MARKS: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class How(Enum):
    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Piece:
    how: How
    text: str


def reworded(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces in order. Of what stayed, only what stands around a change; nothing at all when nothing changed."""
    if before == after:
        return ()
    start, end = _shared(before, after)
    runs = [
        (How.KEPT, before[:start]),
        *_runs(_WORD.findall(before[start : len(before) - end]), _WORD.findall(after[start : len(after) - end])),
        (How.KEPT, before[len(before) - end :]),
    ]
    pieces = [*_shown(_joined(runs))]
    if len(pieces) > MOST_PIECES:
        more = f"… {len(pieces) - MOST_PIECES:,} more changes"
        return (*pieces[:MOST_PIECES], Piece(How.KEPT, more))
    return tuple(pieces)


def harmless(text: str, longest: int = LONGEST) -> str:
    """On one line, bounded, with everything written out that does not show or moves what does."""
    # First, or a screenful of blanks would use up the room of what stands behind them.
    short = _RUNS.sub(_counted, text)
    if len(short) <= longest:
        return _written_out(short)
    end = longest // 4
    start = longest - end
    left_out = f"… [{len(short) - longest:,} more characters] …"
    return f"{_written_out(short[:start])}{left_out}{_written_out(short[-end:])}"


def _counted(found: re.Match[str]) -> str:
    what, number = found.group()[0], len(found.group())
    return f" [{number:,} blanks] " if what == " " else f"{what} [{number:,} times] "


def _written_out(text: str) -> str:
    return text if text.isascii() and text.isprintable() else "".join(map(_character, text))


def _character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if character.isprintable() and not UNSEEN.match(character):
        return character
    return f"\\u{{{ord(character):04x}}}"


def _spelt(text: str) -> str:
    """For two texts that look alike: whatever is no plain letter by its number."""
    return "".join(character if character.isascii() else f"\\u{{{ord(character):04x}}}" for character in text)


def _shared(before: str, after: str) -> tuple[int, int]:
    """How many characters both begin and end with, back to where a word begins and ends."""
    most = min(len(before), len(after))
    start = shared_beginning(before, after, most)
    # No further than the longest word: what has no blanks at all has no words.
    floor = max(0, start - _LONGEST_WORD)
    while start > floor and (_inside(before, start) or _inside(after, start)):
        start -= 1
    end = shared_beginning(before[::-1], after[::-1], most - start)
    floor = max(0, end - _LONGEST_WORD)
    while end > floor and (_inside(before, len(before) - end) or _inside(after, len(after) - end)):
        end -= 1
    return start, end


def shared_beginning(one: str, other: str, most: int) -> int:
    """How many characters both begin with, of so many at most. By halves, because to compare character by character
    takes a second for a megabyte."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _inside(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


def _runs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[How, str]]:
    if len(before) + len(after) > _WORDS or (trace := _traced(before, after)) is None:
        yield How.REMOVED, "".join(before)
        yield How.ADDED, "".join(after)
        return
    yield from _along(trace, before, after)


def _traced(before: Sequence[str], after: Sequence[str]) -> list[dict[int, int]] | None:
    """The shortest way from one to the other, by how far each diagonal was reached with so many edits; `None` when it
    takes too many for a reader to follow."""
    reached = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(_EDITS, len(before) + len(after)) + 1):
        trace.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
            )
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            y = x - diagonal
            while x < len(before) and y < len(after) and before[x] == after[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= len(before) and y >= len(after):
                return trace
    return None


def _along(trace: list[dict[int, int]], before: Sequence[str], after: Sequence[str]) -> Iterable[tuple[How, str]]:
    x, y = len(before), len(after)
    steps: list[tuple[How, str]] = []
    for edits in range(len(trace) - 1, -1, -1):
        reached, diagonal = trace[edits], x - y
        down = diagonal == -edits or (
            diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
        )
        former = diagonal + 1 if down else diagonal - 1
        was_x = reached[former]
        was_y = was_x - former
        while x > max(was_x, 0) and y > max(was_y, 0):
            steps.append((How.KEPT, before[x - 1]))
            x, y = x - 1, y - 1
        if edits == 0:
            break
        steps.append((How.ADDED, after[y - 1]) if down else (How.REMOVED, before[x - 1]))
        x, y = was_x, was_y
    return reversed(steps)


def _joined(steps: Iterable[tuple[How, str]]) -> Iterator[tuple[How, str]]:
    """What follows each other in one way is one run. Blanks between two changes belong to both, or no word would be
    left beside its neighbour."""
    gone: list[str] = []
    come: list[str] = []
    kept: list[str] = []
    for how, text in (*steps, (How.KEPT, "")):
        if how is How.KEPT:
            kept.append(text)
            continue
        between = "".join(kept)
        if (gone or come) and between.strip():
            yield from _told(gone, come)
            gone, come = [], []
        if gone or come:
            gone.append(between)
            come.append(between)
        elif between:
            yield How.KEPT, between
        kept = []
        (gone if how is How.REMOVED else come).append(text)
    yield from _told(gone, come)
    if "".join(kept):
        yield How.KEPT, "".join(kept)


def _told(gone: list[str], come: list[str]) -> Iterator[tuple[How, str]]:
    removed, added = "".join(gone), "".join(come)
    if removed == added:
        if removed:
            yield How.KEPT, removed
        return
    if removed:
        yield How.REMOVED, removed
    if added:
        yield How.ADDED, added


def _shown(runs: Iterable[tuple[How, str]]) -> Iterator[Piece]:
    every = [*runs]
    for place, (how, text) in enumerate(every):
        if how is How.KEPT:
            yield Piece(how, _around(text, place > 0, place + 1 < len(every)))
        else:
            other = every[place + 1] if how is How.REMOVED and place + 1 < len(every) else every[place - 1]
            alike = other[0] not in (How.KEPT, how) and _alike(text, other[1])
            yield Piece(how, _spelt(harmless(text)) if alike else harmless(text))


def _alike(one: str, other: str) -> bool:
    return max(len(one), len(other)) <= _LIKE and lookalike(one) == lookalike(other)


def _around(text: str, after_change: bool, before_change: bool) -> str:
    """The ends of what stayed, as far as a change stands there."""
    ends = _CONTEXT * (after_change + before_change)
    if len(text) <= ends + _CONTEXT:
        return harmless(text)
    head = harmless(text[:_CONTEXT]) if after_change else ""
    tail = harmless(text[-_CONTEXT:]) if before_change else ""
    return f"{head}…{tail}"
