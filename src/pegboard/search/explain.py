"""Why a tool stands where it does: the words that made its rank, where they are, and what else counted."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pegboard.core.ids import ToolId
from pegboard.core.tool import Json, JsonObject

from .fields import DocumentField
from .lexical import LexicalMatches, matches_prefixes
from .part import COUNT_BITS, MAX_COUNT, IndexedDocuments

if TYPE_CHECKING:
    from .rank import SearchResults

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
        "looked_for": _as_json_list(looked_for),
        "found_nowhere": _as_json_list([word for word in missing if word not in found]),
        "passed_over": _as_json_list([*matches.query.ignored]),
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
