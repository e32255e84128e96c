"""Why a tool stands where it does: the words that made its rank, where they are, and what else counted."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pegboard.core.ids import ToolId
from pegboard.core.tool import Json, JsonObject

from .fields import Field
from .lexical import Matches, begins
from .part import COUNT_BITS, MOST_COUNTED, Part

if TYPE_CHECKING:
    from .rank import Ranked

_DIGITS: Final = 3


def why(ranked: "Ranked", key: ToolId) -> JsonObject:
    """Of a tool among the chosen. The words are the query's own; `gain` is what each adds, before what else counts."""
    matches, chosen = ranked.matches, ranked.matches.chosen
    place = chosen.index.places.get(key)
    if place is None or (position := int(chosen.positions[place])) < 0:
        return {}
    gains = dict(_gains(matches, position))
    said = [*_said(*chosen.index.document(place))]
    told: list[tuple[float, JsonObject]] = []
    for number, (term, word) in enumerate(matches.query.terms.items()):
        if number in gains:
            where: JsonObject = {field.name.lower(): count for field, count in _fields(term, said).items()}
            told.append((-gains[number], {"word": word, "fields": where, "gain": _short(gains[number])}))
    answer: JsonObject = {
        "score": _short(float(ranked.scores[position])),
        "parts": {name: _short(part) for name, part in ranked.parts(position).items()},
        "words": [each for _, each in sorted(told, key=lambda one: one[0])],
        "name_covered": _short(float(ranked.coverage[position])),
    }
    if position in ranked.exact:
        answer["exact_name"] = True
    if ranked.cosines is not None:
        answer["meaning"] = _short(float(ranked.cosines[position]))
    return answer


STACKED: Final = {
    Field.NAME: "name",
    Field.TITLE: "name",
    Field.SERVER: "server",
    Field.DESCRIPTION: "description",
    Field.PARAMETERS: "arguments",
    Field.VALUES: "arguments",
}


def stack(ranked: "Ranked", key: ToolId) -> dict[str, float]:
    """What a tool's score is piled up from, by where its words are. `base` is the same for all: what a tool has of
    which the query says nothing. The sum is the score."""
    chosen = ranked.matches.chosen
    place = chosen.index.places.get(key)
    if place is None or (position := int(chosen.positions[place])) < 0:
        return {}
    parts = ranked.parts(position)
    words = ranked.words(position)
    piled = {"base": parts["words"] - words, "name": parts["name"], "description": 0.0, "arguments": 0.0}
    piled["server"] = parts["server"]
    piled |= {name: parts[name] for name in ("meaning", "exact_name") if name in parts}
    for name, share in _shares(ranked.matches, position, [*_said(*chosen.index.document(place))]).items():
        piled[name] += words * share
    return {name: _short(part) for name, part in piled.items()}


def _shares(matches: Matches, position: int, said: list[tuple[str, Field, int]]) -> dict[str, float]:
    """How much of what words add comes from which field; together 1, where any word was met."""
    weights, worths = matches.query.weights, matches.chosen.worths[position]
    terms, shares = [*matches.query.terms], dict[str, float]()
    for number, gain in _gains(matches, position):
        counts = _fields(terms[number], said)
        amounts = {document_field: count * float(worths[document_field]) for document_field, count in counts.items()}
        whole = sum(amounts.values())
        for document_field, amount in amounts.items():
            name = STACKED[document_field]
            shares[name] = shares.get(name, 0.0) + weights[number] * gain * amount / whole
    whole = sum(shares.values())
    return {name: share / whole for name, share in shares.items()} if whole else {}


def heard(matches: Matches) -> JsonObject:
    """Which words were looked for, which of them none of the tools has, and which were passed over."""
    met = [each.count > 0 for each in matches.met]
    words = [*matches.query.terms.values()]
    looked_for = [*dict.fromkeys(words)]
    missing = [*dict.fromkeys(word for word, is_met in zip(words, met, strict=True) if not is_met)]
    found = {word for word, is_met in zip(words, met, strict=True) if is_met}
    return {
        "looked_for": _listed(looked_for),
        "found_nowhere": _listed([word for word in missing if word not in found]),
        "passed_over": _listed([*matches.query.ignored]),
    }


def _gains(matches: Matches, position: int) -> Iterator[tuple[int, float]]:
    """The numbers of the terms that are there, and what each adds."""
    for number, met in enumerate(matches.met):
        if gain := met.gain(position):
            yield number, gain


def _listed(words: list[str]) -> list[Json]:
    return [*words]


def _said(part: Part, place: int) -> Iterator[tuple[str, Field, int]]:
    """What a document has: term, field, how often."""
    here = slice(int(part.starts[place]), int(part.starts[place + 1]))
    for number, mark in zip(part.terms[here].tolist(), part.marks[here].tolist(), strict=True):
        yield part.vocabulary[number], Field(mark >> COUNT_BITS), mark & MOST_COUNTED


def _fields(term: str, said: list[tuple[str, Field, int]]) -> dict[Field, int]:
    """Where the term is, or a longer word that begins so."""
    longer = begins(term)
    counts: dict[Field, int] = {}
    for word, document_field, count in said:
        if word == term or (longer and word.startswith(term)):
            counts[document_field] = counts.get(document_field, 0) + count
    return dict(sorted(counts.items()))


def _short(number: float) -> float:
    return round(number, _DIGITS)
