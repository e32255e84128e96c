"""How one text became another, word by word, for a person who decides: bounded, and harmless to show.

Whatever the texts are, the work grows with their length alone, and nothing that does not show stays unseen: blanks in
number, line breaks and characters without a look are written out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pegboard.core.scan.findings import INVISIBLE
from pegboard.core.scan.text import lookalike_key

MAX_TEXT_CHARS: Final = 4_000
"""Characters of one piece. Of more its beginning and its end are told, and how many are between them."""
MAX_PIECES: Final = 100
_CONTEXT_CHARS: Final = 60
_MAX_WORDS: Final = 3_000
"""Of both texts together, after what they begin and end with in common. More are not put side by side."""
_MAX_EDITS: Final = 400
_MAX_COMPARED_WORDS: Final = 250
_MAX_WORD_CHARS: Final = 32
_WORD: Final = re.compile(rf"\s+|\w{{1,{_MAX_WORD_CHARS}}}|[^\w\s]")
_RUNS: Final = re.compile(r" {9,}|([\s\S])\1{29,}")
_MARKS: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class PieceKind(Enum):
    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class DiffPiece:
    kind: PieceKind
    text: str


def diff_words(before: str, after: str) -> tuple[DiffPiece, ...]:
    """The pieces in order. Of what stayed, only what stands around a change; nothing at all when nothing changed."""
    if before == after:
        return ()
    start, end = _common_ends(before, after)
    runs = [
        (PieceKind.KEPT, before[:start]),
        *_diff_runs(_WORD.findall(before[start : len(before) - end]), _WORD.findall(after[start : len(after) - end])),
        (PieceKind.KEPT, before[len(before) - end :]),
    ]
    pieces = [*_to_pieces(_merge_runs(runs))]
    if len(pieces) > MAX_PIECES:
        more = f"… {len(pieces) - MAX_PIECES:,} more changes"
        return (*pieces[:MAX_PIECES], DiffPiece(PieceKind.KEPT, more))
    return tuple(pieces)


def harmless_text(text: str, longest: int = MAX_TEXT_CHARS) -> str:
    """On one line, bounded, with everything written out that does not show or moves what does."""
    # First, or a screenful of blanks would use up the room of what stands behind them.
    short = _RUNS.sub(_repeat_text, text)
    if len(short) <= longest:
        return _escape_text(short)
    end = longest // 4
    start = longest - end
    left_out = f"… [{len(short) - longest:,} more characters] …"
    return f"{_escape_text(short[:start])}{left_out}{_escape_text(short[-end:])}"


def _repeat_text(found: re.Match[str]) -> str:
    what, number = found.group()[0], len(found.group())
    return f" [{number:,} blanks] " if what == " " else f"{what} [{number:,} times] "


def _escape_text(text: str) -> str:
    return text if text.isascii() and text.isprintable() else "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if character.isprintable() and not INVISIBLE.match(character):
        return character
    return f"\\u{{{ord(character):04x}}}"


def _spell_out(text: str) -> str:
    """For two texts that look alike: whatever is no plain letter by its number."""
    return "".join(character if character.isascii() else f"\\u{{{ord(character):04x}}}" for character in text)


def _common_ends(before: str, after: str) -> tuple[int, int]:
    """How many characters both begin and end with, back to where a word begins and ends."""
    most = min(len(before), len(after))
    start = common_prefix_length(before, after, most)
    # No further than the longest word: what has no blanks at all has no words.
    floor = max(0, start - _MAX_WORD_CHARS)
    while start > floor and (_is_inside_word(before, start) or _is_inside_word(after, start)):
        start -= 1
    end = common_prefix_length(before[::-1], after[::-1], most - start)
    floor = max(0, end - _MAX_WORD_CHARS)
    while end > floor and (_is_inside_word(before, len(before) - end) or _is_inside_word(after, len(after) - end)):
        end -= 1
    return start, end


def common_prefix_length(one: str, other: str, most: int) -> int:
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


def _is_inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


def _diff_runs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[PieceKind, str]]:
    if len(before) + len(after) > _MAX_WORDS or (trace := _trace_edits(before, after)) is None:
        yield PieceKind.REMOVED, "".join(before)
        yield PieceKind.ADDED, "".join(after)
        return
    yield from _follow_trace(trace, before, after)


def _trace_edits(before: Sequence[str], after: Sequence[str]) -> list[dict[int, int]] | None:
    """The shortest way from one to the other, by how far each diagonal was reached with so many edits; `None` when it
    takes too many for a reader to follow."""
    reached = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(_MAX_EDITS, len(before) + len(after)) + 1):
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


def _follow_trace(
    trace: list[dict[int, int]], before: Sequence[str], after: Sequence[str]
) -> Iterable[tuple[PieceKind, str]]:
    x, y = len(before), len(after)
    steps: list[tuple[PieceKind, str]] = []
    for edits in range(len(trace) - 1, -1, -1):
        reached, diagonal = trace[edits], x - y
        down = diagonal == -edits or (
            diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
        )
        former = diagonal + 1 if down else diagonal - 1
        was_x = reached[former]
        was_y = was_x - former
        while x > max(was_x, 0) and y > max(was_y, 0):
            steps.append((PieceKind.KEPT, before[x - 1]))
            x, y = x - 1, y - 1
        if edits == 0:
            break
        steps.append((PieceKind.ADDED, after[y - 1]) if down else (PieceKind.REMOVED, before[x - 1]))
        x, y = was_x, was_y
    return reversed(steps)


def _merge_runs(steps: Iterable[tuple[PieceKind, str]]) -> Iterator[tuple[PieceKind, str]]:
    """What follows each other in one way is one run. Blanks between two changes belong to both, or no word would be
    left beside its neighbour."""
    gone: list[str] = []
    come: list[str] = []
    kept: list[str] = []
    for how, text in (*steps, (PieceKind.KEPT, "")):
        if how is PieceKind.KEPT:
            kept.append(text)
            continue
        between = "".join(kept)
        if (gone or come) and between.strip():
            yield from _change_runs(gone, come)
            gone, come = [], []
        if gone or come:
            gone.append(between)
            come.append(between)
        elif between:
            yield PieceKind.KEPT, between
        kept = []
        (gone if how is PieceKind.REMOVED else come).append(text)
    yield from _change_runs(gone, come)
    if "".join(kept):
        yield PieceKind.KEPT, "".join(kept)


def _change_runs(gone: list[str], come: list[str]) -> Iterator[tuple[PieceKind, str]]:
    removed, added = "".join(gone), "".join(come)
    if removed == added:
        if removed:
            yield PieceKind.KEPT, removed
        return
    if removed:
        yield PieceKind.REMOVED, removed
    if added:
        yield PieceKind.ADDED, added


def _to_pieces(runs: Iterable[tuple[PieceKind, str]]) -> Iterator[DiffPiece]:
    every = [*runs]
    for place, (how, text) in enumerate(every):
        if how is PieceKind.KEPT:
            yield DiffPiece(how, _context_of(text, place > 0, place + 1 < len(every)))
        else:
            other = every[place + 1] if how is PieceKind.REMOVED and place + 1 < len(every) else every[place - 1]
            alike = other[0] not in (PieceKind.KEPT, how) and _looks_alike(text, other[1])
            yield DiffPiece(how, _spell_out(harmless_text(text)) if alike else harmless_text(text))


def _looks_alike(one: str, other: str) -> bool:
    return max(len(one), len(other)) <= _MAX_COMPARED_WORDS and lookalike_key(one) == lookalike_key(other)


def _context_of(text: str, after_change: bool, before_change: bool) -> str:
    """The ends of what stayed, as far as a change stands there."""
    ends = _CONTEXT_CHARS * (after_change + before_change)
    if len(text) <= ends + _CONTEXT_CHARS:
        return harmless_text(text)
    head = harmless_text(text[:_CONTEXT_CHARS]) if after_change else ""
    tail = harmless_text(text[-_CONTEXT_CHARS:]) if before_change else ""
    return f"{head}…{tail}"
