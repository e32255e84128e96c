"""`python -m benchmarks.search`: what finding tools by words costs, beside a plain loop and SQLite's full-text search.

The floor is BM25 as a loop over all tools, as the usual small libraries have it: words counted once, every tool
weighed for every query. The peer is FTS5 in memory, written in C. Neither looks for longer words that begin so, and to
neither do the words of a name count more.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from typing import Final, Protocol

import anyio

from benchmarks import hybrid, large, through, timing
from benchmarks.described import tools_of
from benchmarks.fulltext import BEST, Fts5, has_fts5, text_of, words_of
from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.retrieval.meaning import model_in
from benchmarks.timing import Act, Row, row
from pegboard.core.model.tool import Tool
from pegboard.search.documents import ToolDocumentSource
from pegboard.search.index import ChosenDocuments, SearchIndex
from pegboard.search.rank import rank_documents

FLOOR, PEER, PEGBOARD = "floor", "FTS5", "Pegboard"
QUERIES: Final = 50


class Searched(Protocol):
    """Tools made ready to be searched by one contender."""

    def best(self, query: str, among: Collection[int] | None = None) -> list[int]:
        """The places of the ten that fit best, among all or among some places only."""
        ...


class PlainLoop:
    def __init__(self, tools: Sequence[Tool]) -> None:
        counted = [Counter(words_of(text_of(tool))) for tool in tools]
        self._counts: Sequence[Mapping[str, int]] = counted
        self._lengths = [each.total() for each in counted]
        self._in: Mapping[str, int] = Counter(word for each in counted for word in each)

    def best(self, query: str, among: Collection[int] | None = None) -> list[int]:
        asked = words_of(query)
        places = range(len(self._counts)) if among is None else among
        average = sum(self._lengths) / len(self._lengths)
        rarity = {word: self._rarity(word) for word in asked}
        scores = {place: self._score(place, rarity, average) for place in places}
        return sorted((place for place in scores if scores[place] > 0), key=lambda place: (-scores[place], place))[
            :BEST
        ]

    def _rarity(self, word: str) -> float:
        having = self._in.get(word, 0)
        return math.log(1 + (len(self._counts) - having + 0.5) / (having + 0.5))

    def _score(self, place: int, rarity: Mapping[str, float], average: float) -> float:
        counts, share = self._counts[place], self._lengths[place] / average
        score = 0.0
        for word, rare in rarity.items():
            often = counts.get(word, 0)
            score += rare * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * share))
        return score


class Pegboard:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._ids = [tool.id for tool in tools]
        self._places = {id: place for place, id in enumerate(self._ids)}
        self._index = SearchIndex.of([ToolDocumentSource(tool.id, tool.spec).document for tool in tools])
        self._chosen: dict[int | None, ChosenDocuments] = {None: self._index.choose()}

    def best(self, query: str, among: Collection[int] | None = None) -> list[int]:
        """A choice is made once, as it is on a board for every view."""
        known = None if among is None else id(among)
        if known not in self._chosen and among is not None:
            self._chosen[known] = self._index.choose([self._ids[place] for place in among])
        return [self._places[key] for key in islice(rank_documents(query, self._chosen[known]), BEST)]


@dataclass(frozen=True, slots=True)
class Sample:
    """A board, and what is asked of it."""

    tools: tuple[Tool, ...]
    queries: tuple[str, ...]
    half: frozenset[int]

    @staticmethod
    def of(size: int) -> "Sample":
        tools, random = tools_of(size), Random(1)
        asked = (random.choice(tools).spec for _ in range(QUERIES))
        return Sample(
            tools,
            tuple(f"{spec.title} {random.choice(spec.description.split())} {spec.name[-6:]}" for spec in asked),
            frozenset(random.sample(range(size), max(1, size // 2))),
        )


def contenders() -> dict[str, Callable[[Sequence[Tool]], Searched]]:
    """Floor first and Pegboard last; the peer where this Python's SQLite has it."""
    peers: dict[str, Callable[[Sequence[Tool]], Searched]] = {PEER: Fts5} if has_fts5() else {}
    return {FLOOR: PlainLoop, **peers, PEGBOARD: Pegboard}


def rows_of(size: int, rounds: int) -> list[Row]:
    sample, all_ = Sample.of(size), contenders()
    ready = {who: make(sample.tools) for who, make in all_.items()}

    def asking(searched: Searched, among: Collection[int] | None) -> Act:
        return lambda: [searched.best(query, among) for query in sample.queries]

    def making(make: Callable[[Sequence[Tool]], Searched]) -> Act:
        return lambda: make(sample.tools)

    made = {who: partial(making, make) for who, make in all_.items()}
    asked = {who: partial(asking, each, None) for who, each in ready.items()}
    among = {who: partial(asking, each, sample.half) for who, each in ready.items()}
    return [
        row("making the index", size, size, made, rounds),
        row(f"{QUERIES} queries", size, QUERIES, asked, rounds),
        row(f"{QUERIES} queries among half", size, QUERIES, among, rounds),
    ]


def as_json(
    rows: Sequence[Row],
    rounds: int,
    boards: Sequence[large.Large],
    whole: Sequence[through.Through],
    both: Sequence[hybrid.Hybrid] = (),
) -> dict[str, object]:
    return {
        "benchmark": "search",
        "rounds": rounds,
        "rows": [each.as_json() for each in rows],
        "large": [each.as_json() for each in boards],
        "through": [each.as_json() for each in whole],
        "hybrid": [each.as_json() for each in both],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = timing.flags("search", "What finding tools by words costs.", (100, 1_000, 5_000), 5)
    parser.add_argument(
        "--large", nargs="*", type=timing.positive, default=[*large.GOALS], metavar="N", help="sizes of large boards"
    )
    parser.add_argument(
        "--through",
        nargs="*",
        type=timing.positive,
        default=[],
        metavar="N",
        help="sizes of boards, end to end over MCP",
    )
    parser.add_argument(
        "--semantic", action="store_true", help="the large boards by words and meaning too (sets the model up)"
    )
    chosen = parser.parse_args(arguments)
    sizes, rounds = timing.chosen_sizes(chosen)
    rows: list[Row] = []
    for size in sizes:
        print(f"measuring {size} tools …", file=sys.stderr, flush=True)
        rows += rows_of(size, rounds)
    boards: list[large.Large] = []
    for size in [] if chosen.quick else chosen.large:
        print(f"measuring a board of {size} tools …", file=sys.stderr, flush=True)
        boards.append(large.measured(size))
    whole: list[through.Through] = []
    for size in chosen.through:
        print(f"measuring {size} tools end to end …", file=sys.stderr, flush=True)
        whole.append(through.measured(size))
    both = _by_meaning([] if chosen.quick or not chosen.semantic else chosen.large)
    if isinstance(both, Unavailable):
        print(f"Not measured by meaning: {both.reason}", file=sys.stderr)
        return 1
    if not has_fts5():
        print("SQLite has no FTS5 here, so the peer is missing.", file=sys.stderr)
    if chosen.json:
        print(json.dumps(as_json(rows, rounds, boards, whole, both), indent=2))
    else:
        tables = [timing.as_text("searching", rows)]
        tables += [large.as_text(boards)] if boards else []
        tables += [hybrid.as_text(both)] if both else []
        tables += [through.as_text(whole)] if whole else []
        print("\n\n".join(tables))
    return 0


def _by_meaning(sizes: Sequence[int]) -> list[hybrid.Hybrid] | Unavailable:
    if not sizes:
        return []
    model = anyio.run(model_in, None)
    if isinstance(model, Unavailable):
        return model
    both: list[hybrid.Hybrid] = []
    for size in sizes:
        print(f"measuring a board of {size} tools by words and meaning …", file=sys.stderr, flush=True)
        both.append(hybrid.measured(size, model))
    return both


if __name__ == "__main__":
    sys.exit(main())
