"""The order in which a query finds tools: by words, and by meaning where vectors are at hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ServerKey, ToolId
from pegboard.search.documents import COUNT_BITS, MAX_COUNT, DocumentField, FloatArray, IndexedDocuments
from pegboard.search.index import ChosenDocuments
from pegboard.search.lexical import LexicalMatches, matches_prefixes
from pegboard.search.semantic import fuse_scores, raise_to_top, spread, standardize
from pegboard.search.text import ParsedQuery, split_words

# Why a tool stands where it does: the words that made its rank, where they are, and what else counted.

_ROUND_DIGITS: Final = 3


def explain_rank(ranked: "SearchResults", key: ToolId) -> JsonObject:
    """Of a tool among the chosen. The words are the query's own; `gain` is what each adds, before what else counts."""
    matches, chosen = ranked.matches, ranked.matches.documents
    place = chosen.index.places.get(key)
    if place is None or (position := int(chosen.positions[place])) < 0:
        return {}
    gains = dict(_gains(matches, position))
    said = [*_document_terms(*chosen.index.document(place))]
    told: list[tuple[float, JsonObject]] = []
    for number, (term, word) in enumerate(matches.query.terms.items()):
        if number in gains:
            where: JsonObject = {field.name.lower(): count for field, count in _field_counts(term, said).items()}
            told.append((-gains[number], {"word": word, "fields": where, "gain": _round_score(gains[number])}))
    answer: JsonObject = {
        "score": _round_score(float(ranked.scores[position])),
        "parts": {name: _round_score(part) for name, part in ranked.score_components(position).items()},
        "words": [each for _, each in sorted(told, key=lambda one: one[0])],
        "name_covered": _round_score(float(ranked.coverage[position])),
    }
    if position in ranked.exact_positions:
        answer["exact_name"] = True
    if ranked.cosines is not None:
        answer["meaning"] = _round_score(float(ranked.cosines[position]))
    return answer


STACK_NAMES: Final = {
    DocumentField.NAME: "name",
    DocumentField.TITLE: "name",
    DocumentField.SERVER: "server",
    DocumentField.DESCRIPTION: "description",
    DocumentField.PARAMETERS: "arguments",
    DocumentField.VALUES: "arguments",
}


def score_stack(ranked: "SearchResults", key: ToolId) -> dict[str, float]:
    """What a tool's score is piled up from, by where its words are. `base` is the same for all: what a tool has of
    which the query says nothing. The sum is the score."""
    chosen = ranked.matches.documents
    place = chosen.index.places.get(key)
    if place is None or (position := int(chosen.positions[place])) < 0:
        return {}
    parts = ranked.score_components(position)
    words = ranked.words_score(position)
    piled = {"base": parts["words"] - words, "name": parts["name"], "description": 0.0, "arguments": 0.0}
    piled["server"] = parts["server"]
    piled |= {name: parts[name] for name in ("meaning", "exact_name") if name in parts}
    for name, share in _shares(ranked.matches, position, [*_document_terms(*chosen.index.document(place))]).items():
        piled[name] += words * share
    return {name: _round_score(part) for name, part in piled.items()}


def _shares(matches: LexicalMatches, position: int, said: list[tuple[str, DocumentField, int]]) -> dict[str, float]:
    """How much of what words add comes from which field; together 1, where any word was met."""
    weights, worths = matches.query.weights, matches.documents.field_weights[position]
    terms, shares = [*matches.query.terms], dict[str, float]()
    for number, gain in _gains(matches, position):
        counts = _field_counts(terms[number], said)
        amounts = {document_field: count * float(worths[document_field]) for document_field, count in counts.items()}
        whole = sum(amounts.values())
        for document_field, amount in amounts.items():
            name = STACK_NAMES[document_field]
            shares[name] = shares.get(name, 0.0) + weights[number] * gain * amount / whole
    whole = sum(shares.values())
    return {name: share / whole for name, share in shares.items()} if whole else {}


def explain_query(matches: LexicalMatches) -> JsonObject:
    """Which words were looked for, which of them none of the tools has, and which were passed over."""
    met = [each.count > 0 for each in matches.term_matches]
    words = [*matches.query.terms.values()]
    looked_for = [*dict.fromkeys(words)]
    missing = [*dict.fromkeys(word for word, is_met in zip(words, met, strict=True) if not is_met)]
    found = {word for word, is_met in zip(words, met, strict=True) if is_met}
    return {
        "searched": _as_json_list(looked_for),
        "unmatched": _as_json_list([word for word in missing if word not in found]),
        "ignored": _as_json_list([*matches.query.ignored]),
    }


def _gains(matches: LexicalMatches, position: int) -> Iterator[tuple[int, float]]:
    """The numbers of the terms that are there, and what each adds."""
    for number, met in enumerate(matches.term_matches):
        if gain := met.gain(position):
            yield number, gain


def _as_json_list(words: list[str]) -> list[Json]:
    return [*words]


def _document_terms(part: IndexedDocuments, place: int) -> Iterator[tuple[str, DocumentField, int]]:
    """What a document has: term, field, how often."""
    here = slice(int(part.starts[place]), int(part.starts[place + 1]))
    for number, mark in zip(part.terms[here].tolist(), part.field_counts[here].tolist(), strict=True):
        yield part.vocabulary[number], DocumentField(mark >> COUNT_BITS), mark & MAX_COUNT


def _field_counts(term: str, said: list[tuple[str, DocumentField, int]]) -> dict[DocumentField, int]:
    """Where the term is, or a longer word that begins so."""
    longer = matches_prefixes(term)
    counts: dict[DocumentField, int] = {}
    for word, document_field, count in said:
        if word == term or (longer and word.startswith(term)):
            counts[document_field] = counts.get(document_field, 0) + count
    return dict(sorted(counts.items()))


def _round_score(number: float) -> float:
    return round(number, _ROUND_DIGITS)


Ranker: TypeAlias = Literal["lexical", "hybrid"]

COVERAGE_WEIGHT: Final = 0.6
"""What it is worth that the query says a tool's whole name."""

SERVER_WEIGHT: Final = 0.1
"""How much the tools of one server lift each other."""

EXACT_NAME_BONUS: Final = 10_000.0
"""What is called by its very name stands above all."""

_FIRST_BATCH: Final = 128


class SemanticScores(Protocol):
    """A query's meaning, beside the meanings of documents."""

    @property
    def floor(self) -> float:
        """The cosine from which a tool is found by its meaning alone."""
        ...

    def cosines(self, chosen: ChosenDocuments) -> FloatArray | None:
        """One for each position; no number for the few of which none is known. Nothing, where these are many: then
        words alone decide."""
        ...

    def clause_cosines(self, chosen: ChosenDocuments) -> Sequence[FloatArray]:
        """The same of each clause of the query, where it has several that were read."""
        ...


@dataclass(frozen=True, slots=True)
class RankedDocument:
    key: ToolId
    score: float


@dataclass(frozen=True)
class SearchResults:
    """What a query finds among the chosen. The best come at little cost, all the others at some."""

    matches: LexicalMatches
    scores: FloatArray
    """By position."""
    coverage: FloatArray
    found_positions: NDArray[np.int64]
    """The positions that fit the query at all, ascending."""
    ranker: Ranker
    exact_positions: frozenset[int] = frozenset()
    """The positions of what was called by its very name."""
    cosines: FloatArray | None = None
    semantic_share: float = 0.0
    """How much the meaning counts for this query; words count for the rest."""
    raised_positions: Mapping[int, float] = field(default_factory=dict[int, float])
    """By position: what was added so that it stands among the first ten."""

    def __len__(self) -> int:
        return len(self.found_positions)

    def __iter__(self) -> Iterator[ToolId]:
        """Best first, equals in their own order."""
        return (self.matches.documents.key(position) for position in self._positions())

    @cached_property
    def hits(self) -> tuple[RankedDocument, ...]:
        key = self.matches.documents.key
        return tuple([RankedDocument(key(position), float(self.scores[position])) for position in self._positions()])

    def __contains__(self, key: object, /) -> bool:
        place = self.matches.documents.index.places.get(key) if isinstance(key, ToolId) else None
        if place is None:
            return False
        position = int(self.matches.documents.positions[place])
        return position >= 0 and position in self.found_positions

    def score_components(self, position: int) -> dict[str, float]:
        """What its score is the sum of."""
        score = float(self.scores[position])
        parts = {
            "words": (1 - self.semantic_share) * float(self._standardized_scores[position]),
            "name": COVERAGE_WEIGHT * float(self.coverage[position]),
            "server": float(self._server_lifts[self.matches.documents.servers[position]]),
        }
        if position in self.exact_positions:
            parts["exact_name"] = EXACT_NAME_BONUS
        if self.cosines is not None:
            parts["meaning"] = score - sum(parts.values())
        return parts

    def words_score(self, position: int) -> float:
        """What the words of the query add to it, over a tool that has none of them."""
        lexical = self.matches.scores()
        return (1 - self.semantic_share) * float(lexical[position]) / spread(lexical)

    @cached_property
    def _standardized_scores(self) -> FloatArray:
        return standardize(self.matches.scores())

    @cached_property
    def _server_lifts(self) -> FloatArray:
        """By server. A lift is a share of the mean before it, and so is in the mean of what was lifted."""
        chosen, lifted = self.matches.documents, self.scores.copy()
        lifted[[*self.exact_positions]] -= EXACT_NAME_BONUS
        for position, amount in self.raised_positions.items():
            lifted[position] -= amount
        means: FloatArray = np.bincount(chosen.servers, lifted) / chosen.server_sizes
        return SERVER_WEIGHT / (1 + SERVER_WEIGHT) * means

    def explain_rank(self, key: ToolId) -> JsonObject:
        return explain_rank(self, key)

    def score_parts(self, key: ToolId) -> dict[str, float]:
        return score_stack(self, key)

    def query_words(self) -> JsonObject:
        return explain_query(self.matches)

    def _positions(self) -> Iterator[int]:
        scores = self.scores[self.found_positions]
        if len(scores) > 2 * _FIRST_BATCH:
            least = np.partition(scores, -_FIRST_BATCH)[-_FIRST_BATCH]
            best = np.flatnonzero(scores >= least)
            yield from self.found_positions[_sort_descending(best, scores)].tolist()
            rest = np.flatnonzero(scores < least)
        else:
            rest = np.arange(len(scores))
        yield from self.found_positions[_sort_descending(rest, scores)].tolist()


def rank_documents(text: str, chosen: ChosenDocuments, dense: SemanticScores | None = None) -> SearchResults:
    """The documents that fit the query, as if there were no others than the chosen."""
    matches = LexicalMatches.of(ParsedQuery.of(text), chosen)
    lexical = matches.scores()
    cosines = None if dense is None else dense.cosines(chosen)
    clauses = () if dense is None or cosines is None else dense.clause_cosines(chosen)
    both = None if cosines is None else fuse_scores(lexical, cosines, clauses)
    scores = standardize(lexical) if both is None else both.scores
    coverage = matches.coverage()
    scores += COVERAGE_WEIGHT * coverage
    scores += (SERVER_WEIGHT / chosen.server_sizes * np.bincount(chosen.servers, scores))[chosen.servers]
    fits = lexical > 0
    if dense is not None and cosines is not None:
        fits |= cosines >= dense.floor
    found = np.flatnonzero(fits)
    lifts = {} if both is None else _raise_found(scores, found, both.leaders)
    for position, amount in lifts.items():
        scores[position] += amount
    exact = _exactly_named(matches, coverage)
    scores[exact] += EXACT_NAME_BONUS
    ranker: Ranker = "lexical" if both is None else "hybrid"
    share = 0.0 if both is None else both.semantic_share
    return SearchResults(matches, scores, coverage, found, ranker, frozenset(exact), cosines, share, lifts)


def _raise_found(scores: FloatArray, found: NDArray[np.int64], firsts: Sequence[int]) -> dict[int, float]:
    """Among what is found at all."""
    places = np.searchsorted(found, firsts)
    there = [int(at) for at, first in zip(places, firsts, strict=True) if at < len(found) and found[at] == first]
    return {int(found[at]): amount for at, amount in raise_to_top(scores[found], there).items()}


def _exactly_named(matches: LexicalMatches, coverage: FloatArray) -> list[int]:
    """The positions of tools whose own name the query is, or has in it as only names are written; alone, or after the
    name of their server."""
    names = {*matches.query.names}
    if not names:
        return []
    chosen = matches.documents
    covered = np.flatnonzero(coverage == 1.0).tolist()
    return [position for position in covered if not names.isdisjoint(_own_names(chosen.key(position)))]


def _own_names(key: ToolId) -> Iterator[tuple[str, ...]]:
    yield tuple(split_words(key.name))
    yield tuple(split_words(str(key)))
    yield tuple(split_words(f"{key.source} {key.name}"))
    if isinstance(key.source, ServerKey):
        yield tuple(split_words(f"{key.source.server} {key.name}"))


def _sort_descending(places: NDArray[np.int64], scores: FloatArray) -> NDArray[np.int64]:
    return places[np.argsort(-scores[places], kind="stable")]
