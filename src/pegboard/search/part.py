"""Documents taken apart once: which words each has in which field, and how often."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.core.ids import ToolId

from .documents import Document
from .fields import MOST_LETTERS, Field
from .text import STOP_TERMS, telling_terms, terms, words

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Whole: TypeAlias = NDArray[np.int32]
Marks: TypeAlias = NDArray[np.uint8]
"""A field and how often, in one byte: what is there more often than that is there no more for it."""

COUNT_BITS: Final = 5
MOST_COUNTED: Final = (1 << COUNT_BITS) - 1
_NONE: Final[Whole] = np.empty(0, np.int32)
_AT_ONCE: Final = 2_000
"""Documents: what lies between text and numbers takes fifty times the room, so it is kept for a few only."""


@dataclass(frozen=True)
class Part:
    """Some documents. An index is made of parts, so that a change costs only its own.

    What the documents have lies one after the other, document by document: an object each would take ten times the
    room.
    """

    keys: tuple[ToolId, ...]
    vocabulary: tuple[str, ...]
    """Every term, sorted."""
    starts: Whole
    """Where each document begins, and at last where all of them end."""
    terms: Whole
    """Places in the vocabulary."""
    marks: Marks
    lengths: Whole
    """Of each field of each document, in terms."""
    name_sizes: Whole
    """How many words each name has that tell something."""

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Part":
        rest = iter(documents)
        vocabulary: dict[str, int] = {}
        chunks = []
        while chunk := tuple(islice(rest, _AT_ONCE)):
            chunks.append(_taken_apart(chunk, vocabulary))
        return _ordered(vocabulary, chunks)

    def __len__(self) -> int:
        return len(self.keys)

    def changed(self, kept: Mapping[int, int], fresh: "Part", size: int) -> "Part":
        """Another part of that size: of the places that are kept, by their new place, and else of fresh documents in
        their order."""
        order = np.empty(size, np.int64)
        order[[*kept]] = [*kept.values()]
        new = np.ones(size, np.bool_)
        new[[*kept]] = False
        order[new] = len(self) + np.arange(len(fresh))
        both = joined((self, fresh))
        counts = np.diff(both.starts)[order]
        starts = _ends(counts)
        rows = np.repeat(both.starts[order] - starts[:-1], counts) + np.arange(starts[-1])
        used, numbers = np.unique(both.terms[rows], return_inverse=True)
        return Part(
            tuple([both.keys[place] for place in order.tolist()]),
            tuple([both.vocabulary[place] for place in used.tolist()]),
            starts,
            numbers.astype(np.int32),
            both.marks[rows],
            both.lengths[order],
            both.name_sizes[order],
        )


def joined(parts: Sequence[Part]) -> Part:
    """One part of all their documents, in order."""
    vocabulary = tuple(sorted({term for part in parts for term in part.vocabulary}))
    numbers = {term: number for number, term in enumerate(vocabulary)}
    renumbered = [
        np.fromiter(map(numbers.__getitem__, part.vocabulary), np.int32, len(part.vocabulary))[part.terms]
        for part in parts
    ]
    return _laid_together(vocabulary, parts, renumbered)


def _laid_together(vocabulary: tuple[str, ...], parts: Sequence[Part], numbers: Sequence[Whole]) -> Part:
    return Part(
        tuple([key for part in parts for key in part.keys]),
        vocabulary,
        _ends(np.concatenate([_NONE, *(np.diff(part.starts) for part in parts)])),
        np.concatenate([_NONE, *numbers]),
        np.concatenate([_NONE.astype(np.uint8), *(part.marks for part in parts)]),
        np.concatenate([_NONE.reshape(0, len(Field)), *(part.lengths for part in parts)]),
        np.concatenate([_NONE, *(part.name_sizes for part in parts)]),
    )


def _taken_apart(documents: Sequence[Document], vocabulary: dict[str, int]) -> Part:
    """Its terms are numbered as they come, not in order yet."""
    said: list[int] = []
    lengths = np.zeros((len(documents), len(Field)), np.int32)
    sizes = np.zeros(len(documents), np.int32)
    for place, document in enumerate(documents):
        for field, text in enumerate(document.texts):
            # Names keep the words of every sentence: a tool may be called by nothing else.
            own = (terms if field == Field.NAME else telling_terms)(text[: MOST_LETTERS[field]])
            said += [vocabulary.setdefault(term, len(vocabulary)) for term in own]
            lengths[place, field] = len(own)
        sizes[place] = len(name_words(document.name[: MOST_LETTERS[Field.NAME]]))
    many = len(vocabulary) or 1
    slots = np.repeat(np.arange(lengths.size), lengths.ravel())
    found, counts = np.unique(slots * many + np.array(said, np.int64), return_counts=True)
    slots, numbers = np.divmod(found, many)
    places, fields = np.divmod(slots, len(Field))
    return Part(
        tuple([document.key for document in documents]),
        (),
        _ends(np.bincount(places, minlength=len(documents))),
        numbers.astype(np.int32),
        (fields << COUNT_BITS | np.minimum(counts, MOST_COUNTED)).astype(np.uint8),
        lengths,
        sizes,
    )


def name_words(name: str) -> list[str]:
    """Those that tell something, if any does."""
    own = words(name)
    return [word for word in own if word not in STOP_TERMS] or own


def _ordered(vocabulary: Mapping[str, int], chunks: Sequence[Part]) -> Part:
    sorted_words = tuple(sorted(vocabulary))
    numbers = np.empty(len(sorted_words), np.int32)
    numbers[[vocabulary[word] for word in sorted_words]] = np.arange(len(sorted_words), dtype=np.int32)
    return _laid_together(sorted_words, chunks, [numbers[chunk.terms] for chunk in chunks])


def _ends(counts: NDArray[np.integer]) -> Whole:
    return np.concatenate([_NONE, [0], np.cumsum(counts)]).astype(np.int32)
