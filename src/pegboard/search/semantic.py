"""Ranking by meaning: the vectors of what tools say, and how near a query's lies to each of them.

A cosine is computed row by row, from the two vectors alone: to the last bit it is the same whatever else is there.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.search.documents import FloatArray, IndexedDocuments, IntArray, SearchDocument
from pegboard.search.index import ChosenDocuments

VectorRows: TypeAlias = NDArray[np.float32]

_BLOCK_ROWS: Final = 4_096
"""Vectors that lie together: what grows in blocks is never copied."""
_ALL: Final = -1
_SPARSE_SHARE: Final = 0.25
"""The share of all below which only the chosen are read."""

_MAX_LETTERS: Final = 2_000
_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-/.~:]+")


def document_text(document: SearchDocument) -> str:
    """What is read of a tool: its server, its name, what it does, what it takes. Nothing that its document lacks."""
    if document.embedding_text:
        return document.embedding_text
    name = document.title or _readable_name(document.name)
    said = f"{_readable_name(document.server)} {name}: {document.description[:_MAX_LETTERS]}".rstrip()
    parameters = ", ".join(map(_readable_name, document.parameters))
    return f"{said} Parameters: {parameters}" if parameters else said


def text_digest(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()


def pack_vector(vector: VectorRows) -> bytes:
    """Half of what it takes in memory; the rest would be noise."""
    return vector.astype("<f2").tobytes()


def unpack_vector(content: bytes) -> VectorRows:
    """At length one again."""
    vector = np.frombuffer(content, "<f2").astype(np.float32)
    length = np.sqrt(np.dot(vector, vector))
    return vector / length if length > 0 else vector


def _readable_name(name: str) -> str:
    return " ".join(_WORD_BREAK.sub(" ", name).split())


class VectorMatrix:
    """By digest; all of one length. Only grows, so one may read while another adds."""

    def __init__(self) -> None:
        self._rows: dict[bytes | None, int] = {}
        self._blocks: list[VectorRows] = []
        self._count = 0
        self._row_cache: dict[int, tuple[PartDigests, int, IntArray]] = {}

    def __len__(self) -> int:
        return self._count

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._rows

    @property
    def width(self) -> int | None:
        """How many numbers a vector has; nobody knows before the first."""
        return self._blocks[0].shape[1] if self._blocks else None

    def add(self, vectors: Mapping[bytes, VectorRows]) -> None:
        """Those of another length than the first are left out: they are of another model."""
        for digest, vector in vectors.items():
            if digest in self._rows or (self._blocks and vector.shape != self._blocks[0].shape[1:]):
                continue
            if self._count == len(self._blocks) * _BLOCK_ROWS:
                self._blocks.append(np.zeros((_BLOCK_ROWS, len(vector)), np.float32))
            self._blocks[-1][self._count % _BLOCK_ROWS] = vector
            self._rows[digest] = self._count
            self._count += 1

    def rows(self, read: "PartDigests") -> IntArray:
        """Where each of them lies; less than nothing for one that is not there."""
        known, count = self._row_cache.get(id(read)), self._count
        if known is not None and known[0] is read and known[1] in (count, _ALL):
            return known[2]
        places = self._rows
        rows = np.array([places.get(digest, -1) for digest in read.digests], np.int32)
        self._row_cache[id(read)] = read, count if (rows < 0).any() else _ALL, rows
        return rows

    def forget_all_but(self, reads: Iterable["PartDigests"]) -> None:
        """Where the others lie."""
        kept = {id(read) for read in reads}
        self._row_cache = {number: found for number, found in self._row_cache.items() if number in kept}

    def subset(self, digests: Iterable[bytes]) -> "VectorMatrix":
        """Those of them that are there, and room for few others."""
        kept, places = VectorMatrix(), self._rows
        there = ((digest, places[digest]) for digest in digests if digest in places)
        kept.add({digest: self._blocks[row // _BLOCK_ROWS][row % _BLOCK_ROWS] for digest, row in there})
        return kept

    def cosines(self, query: VectorRows, rows: IntArray) -> FloatArray:
        """Of the vectors in these rows."""
        if len(rows) < _SPARSE_SHARE * self._count:
            found = np.empty(len(rows), np.float32)
            for number, block in enumerate(self._blocks):
                here = np.flatnonzero(rows // _BLOCK_ROWS == number)
                found[here] = _products(block[rows[here] % _BLOCK_ROWS], query)
            return found.astype(np.float64)
        whole = [_products(block, query) for block in self._blocks]
        return np.concatenate(whole)[rows].astype(np.float64)


def _products(vectors: VectorRows, query: VectorRows) -> VectorRows:
    # A matrix product would add up in an order that depends on how many rows there are.
    products: VectorRows = np.einsum("ij,j->i", vectors, query)
    return products


@dataclass(frozen=True, eq=False)
class PartDigests:
    """The digests of what is read of one part, in its order; nothing of a tool that is not to be read."""

    part: IndexedDocuments
    digests: tuple[bytes | None, ...]


class BoardEmbeddings:
    """What was read of a board: the digests of its parts, and the vectors that are there."""

    def __init__(self) -> None:
        self.vectors = VectorMatrix()
        self.part_digests: Mapping[int, PartDigests] = {}
        """By the identity of the part, which is kept with it."""

    def update(self, reads: Iterable[PartDigests]) -> None:
        self.part_digests = {id(read.part): read for read in reads}
        self.vectors.forget_all_but(self.part_digests.values())

    def wanted_digests(self) -> set[bytes]:
        return {digest for read in self.part_digests.values() for digest in read.digests if digest is not None}

    def drop_unused_vectors(self) -> None:
        """Forgets the vectors of tools that are gone, once they are the most."""
        wanted = self.wanted_digests()
        if len(self.vectors) > _BLOCK_ROWS and len(self.vectors) > 2 * len(wanted):
            self.vectors = self.vectors.subset(wanted)


@dataclass(frozen=True)
class QueryVectors:
    """A query's own vector, beside those of a board: how near it is to each."""

    vector: VectorRows
    board: BoardEmbeddings
    floor: float
    """The cosine from which a tool is found by its meaning alone."""
    max_missing_share: float
    """The share of the chosen that may lack a vector. They are ranked by their words; beyond it, all are."""
    clauses: tuple[VectorRows, ...] = ()
    """The vectors of the query's clauses, where it has several."""

    def cosines(self, chosen: ChosenDocuments) -> FloatArray | None:
        """One for each position, and no number for the few that lack a vector. Nothing, where too many do."""
        return self._cosines_of(self.vector, chosen)

    def clause_cosines(self, chosen: ChosenDocuments) -> tuple[FloatArray, ...]:
        near = (self._cosines_of(clause, chosen) for clause in self.clauses)
        return tuple([cosines for cosines in near if cosines is not None])

    def _cosines_of(self, vector: VectorRows, chosen: ChosenDocuments) -> FloatArray | None:
        vectors, reads = self.board.vectors, self.board.part_digests
        of_parts = [_rows(part, reads.get(id(part)), vectors) for part in chosen.index.parts]
        rows = np.concatenate([np.empty(0, np.int32), *of_parts])[chosen.places]
        there = rows >= 0
        count = int(np.count_nonzero(there))
        if not count or len(rows) - count > self.max_missing_share * len(rows) or vector.shape != (vectors.width,):
            return None
        if count == len(rows):
            return vectors.cosines(vector, rows)
        cosines = np.full(len(rows), np.nan)
        cosines[there] = vectors.cosines(vector, rows[there])
        return cosines


def _rows(part: IndexedDocuments, read: PartDigests | None, vectors: VectorMatrix) -> IntArray:
    if read is None or read.part is not part:
        return np.full(len(part), -1, np.int32)
    return vectors.rows(read)


# Words and meaning together: two scores of the same documents made one.
#
# How much the meaning counts is decided for each query, by how far each of the two sets its best hits apart from
# the
# rest: the one that is sure of itself counts more. The numbers were chosen on four sets of tools and requests, each
# measured with what was chosen on the other three (benchmarks/README.md).

SEMANTIC_WEIGHT: Final = 3.0
"""How much more a lead by meaning counts than the same lead by words: cosines lie close together."""
CLAUSE_WEIGHT: Final = 2.0
"""How much the clause that is nearest to a tool counts beside the whole query, which may ask for several tools."""
MIN_SEMANTIC_SHARE: Final = 0.1
MAX_SEMANTIC_SHARE: Final = 0.9
"""The shares between which the meaning always counts: neither of the two is ever left out."""
LEAD_RANK: Final = 20
"""A lead is that of the first over the one in this place."""
GUARANTEED_RANK: Final = 9
"""What words or meaning have first of all stands in the first ten, whatever the other says of it."""

_MIN_LEAD: Final = 0.05
_EPSILON: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FusedScores:
    scores: FloatArray
    semantic_share: float
    """How much the meaning counts; words count for the rest."""
    leaders: tuple[int, ...]
    """The positions of what words and what meaning have first."""


def standardize(scores: FloatArray) -> FloatArray:
    """How far each lies above or below the average, so that scores of different kinds can be added."""
    if not len(scores):
        return scores
    standardised: FloatArray = (scores - np.mean(scores)) / spread(scores)
    return standardised


def spread(scores: FloatArray) -> float:
    """What counts as one step above the average."""
    return float(np.std(scores)) + _EPSILON


def fuse_scores(lexical: FloatArray, cosines: FloatArray, clauses: Sequence[FloatArray] = ()) -> FusedScores:
    """One that has no cosine is judged by its words, as if its meaning said the same. `clauses` are the cosines of
    each clause of the query, where it has several."""
    words = standardize(lexical)
    known = ~np.isnan(cosines)
    if not known.any():
        return FusedScores(words, 0.0, ())
    near = standardize(cosines[known])
    if clauses:
        nearest = np.max([standardize(clause[known]) for clause in clauses], axis=0)
        near = standardize(near + CLAUSE_WEIGHT * nearest)
    meanings = words.copy()
    meanings[known] = near
    pull = SEMANTIC_WEIGHT * lead(near)
    share = min(max(pull / (pull + lead(words)), MIN_SEMANTIC_SHARE), MAX_SEMANTIC_SHARE)
    firsts = [int(np.flatnonzero(known)[np.argmax(near)])]
    if lexical.max() > 0:
        firsts.append(int(np.argmax(words)))
    return FusedScores((1 - share) * words + share * meanings, share, tuple(dict.fromkeys(firsts)))


def lead(standardised: FloatArray) -> float:
    """How far the first is ahead of those that follow."""
    size = min(LEAD_RANK, len(standardised))
    best = np.partition(standardised, -size)[-size:]
    return max(float(best.max() - best.min()), _MIN_LEAD)


def raise_to_top(scores: FloatArray, firsts: Sequence[int]) -> dict[int, float]:
    """By position: what each of these lacks to stand among the first ten."""
    if len(scores) <= GUARANTEED_RANK:
        return {}
    least = float(np.partition(scores, -GUARANTEED_RANK)[-GUARANTEED_RANK])
    enough = float(np.nextafter(least, np.inf))
    return {first: enough - float(scores[first]) for first in firsts if scores[first] < least}
