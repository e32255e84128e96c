"""Documents taken apart once: which words each has in which field, and how often."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.core.ids import ToolId

from .documents import SearchDocument
from .fields import MAX_LETTERS, DocumentField
from .text import STOP_TERMS, content_terms, split_words, terms

FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int32]
FieldCounts: TypeAlias = NDArray[np.uint8]
"""A field and how often, in one byte: what is there more often than that is there no more for it."""

COUNT_BITS: Final = 5
MAX_COUNT: Final = (1 << COUNT_BITS) - 1
_NO_NUMBERS: Final[IntArray] = np.empty(0, np.int32)
_CHUNK_DOCUMENTS: Final = 2_000
"""Documents: what lies between text and numbers takes fifty times the room, so it is kept for a few only."""


@dataclass(frozen=True)
class IndexedDocuments:
    """Some documents. An index is made of parts, so that a change costs only its own.

    What the documents have lies one after the other, document by document: an object each would take ten times the
    room.
    """

    keys: tuple[ToolId, ...]
    vocabulary: tuple[str, ...]
    """Every term, sorted."""
    starts: IntArray
    """Where each document begins, and at last where all of them end."""
    terms: IntArray
    """Places in the vocabulary."""
    field_counts: FieldCounts
    lengths: IntArray
    """Of each field of each document, in terms."""
    name_sizes: IntArray
    """How many words each name has that tell something."""

    @classmethod
    def of(cls, documents: Iterable[SearchDocument]) -> "IndexedDocuments":
        rest = iter(documents)
        vocabulary: dict[str, int] = {}
        chunks = []
        while chunk := tuple(islice(rest, _CHUNK_DOCUMENTS)):
            chunks.append(_analyze(chunk, vocabulary))
        return _sort_vocabulary(vocabulary, chunks)

    def __len__(self) -> int:
        return len(self.keys)

    def with_changes(self, kept: Mapping[int, int], fresh: "IndexedDocuments", size: int) -> "IndexedDocuments":
        """Another part of that size: of the places that are kept, by their new place, and else of fresh documents in
        their order."""
        order = np.empty(size, np.int64)
        order[[*kept]] = [*kept.values()]
        new = np.ones(size, np.bool_)
        new[[*kept]] = False
        order[new] = len(self) + np.arange(len(fresh))
        both = join_parts((self, fresh))
        counts = np.diff(both.starts)[order]
        starts = _offsets(counts)
        rows = np.repeat(both.starts[order] - starts[:-1], counts) + np.arange(starts[-1])
        used, numbers = np.unique(both.terms[rows], return_inverse=True)
        return IndexedDocuments(
            tuple([both.keys[place] for place in order.tolist()]),
            tuple([both.vocabulary[place] for place in used.tolist()]),
            starts,
            numbers.astype(np.int32),
            both.field_counts[rows],
            both.lengths[order],
            both.name_sizes[order],
        )


def join_parts(parts: Sequence[IndexedDocuments]) -> IndexedDocuments:
    """One part of all their documents, in order."""
    vocabulary = tuple(sorted({term for part in parts for term in part.vocabulary}))
    numbers = {term: number for number, term in enumerate(vocabulary)}
    renumbered = [
        np.fromiter(map(numbers.__getitem__, part.vocabulary), np.int32, len(part.vocabulary))[part.terms]
        for part in parts
    ]
    return _concatenate(vocabulary, parts, renumbered)


def _concatenate(
    vocabulary: tuple[str, ...], parts: Sequence[IndexedDocuments], numbers: Sequence[IntArray]
) -> IndexedDocuments:
    return IndexedDocuments(
        tuple([key for part in parts for key in part.keys]),
        vocabulary,
        _offsets(np.concatenate([_NO_NUMBERS, *(np.diff(part.starts) for part in parts)])),
        np.concatenate([_NO_NUMBERS, *numbers]),
        np.concatenate([_NO_NUMBERS.astype(np.uint8), *(part.field_counts for part in parts)]),
        np.concatenate([_NO_NUMBERS.reshape(0, len(DocumentField)), *(part.lengths for part in parts)]),
        np.concatenate([_NO_NUMBERS, *(part.name_sizes for part in parts)]),
    )


def _analyze(documents: Sequence[SearchDocument], vocabulary: dict[str, int]) -> IndexedDocuments:
    """Its terms are numbered as they come, not in order yet."""
    said: list[int] = []
    lengths = np.zeros((len(documents), len(DocumentField)), np.int32)
    sizes = np.zeros(len(documents), np.int32)
    for place, document in enumerate(documents):
        for field, text in enumerate(document.texts):
            # Names keep the words of every sentence: a tool may be called by nothing else.
            own = (terms if field == DocumentField.NAME else content_terms)(text[: MAX_LETTERS[field]])
            said += [vocabulary.setdefault(term, len(vocabulary)) for term in own]
            lengths[place, field] = len(own)
        sizes[place] = len(name_words(document.name[: MAX_LETTERS[DocumentField.NAME]]))
    many = len(vocabulary) or 1
    slots = np.repeat(np.arange(lengths.size), lengths.ravel())
    found, counts = np.unique(slots * many + np.array(said, np.int64), return_counts=True)
    slots, numbers = np.divmod(found, many)
    places, fields = np.divmod(slots, len(DocumentField))
    return IndexedDocuments(
        tuple([document.key for document in documents]),
        (),
        _offsets(np.bincount(places, minlength=len(documents))),
        numbers.astype(np.int32),
        (fields << COUNT_BITS | np.minimum(counts, MAX_COUNT)).astype(np.uint8),
        lengths,
        sizes,
    )


def name_words(name: str) -> list[str]:
    """Those that tell something, if any does."""
    own = split_words(name)
    return [word for word in own if word not in STOP_TERMS] or own


def _sort_vocabulary(vocabulary: Mapping[str, int], chunks: Sequence[IndexedDocuments]) -> IndexedDocuments:
    sorted_words = tuple(sorted(vocabulary))
    numbers = np.empty(len(sorted_words), np.int32)
    numbers[[vocabulary[word] for word in sorted_words]] = np.arange(len(sorted_words), dtype=np.int32)
    return _concatenate(sorted_words, chunks, [numbers[chunk.terms] for chunk in chunks])


def _offsets(counts: NDArray[np.integer]) -> IntArray:
    return np.concatenate([_NO_NUMBERS, [0], np.cumsum(counts)]).astype(np.int32)
