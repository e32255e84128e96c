"""What was measured, as a table and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import table
from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.retrieval.scoring import POINTS, Score, mean
from benchmarks.retrieval.sets import ToolSet

PEER: Final = "FastMCP BM25"
LEXICAL: Final = "Pegboard lexical"
HYBRID: Final = "Pegboard hybrid"
MEAN: Final = "mean"


@dataclass(frozen=True, slots=True)
class Measured:
    """One set by all that were asked."""

    one: ToolSet
    scores: Mapping[str, Score | Unavailable]

    @property
    def is_measured(self) -> bool:
        return isinstance(self.scores.get(LEXICAL), Score)


def means(measured: Sequence[Measured]) -> dict[str, Score]:
    """Of those that were measured on every set, over the sets that could be."""
    told = [each for each in measured if each.is_measured]
    everybody = dict.fromkeys(who for each in told for who in each.scores)
    scored = {who: [s for each in told if isinstance(s := each.scores.get(who), Score)] for who in everybody}
    return {who: mean(scores) for who, scores in scored.items() if scores and len(scores) == len(told)}


def ahead(measured: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """How many points of nDCG@10 each of ours is ahead of the peer: set by set, and on the mean."""
    rows = [(each.one.name, each.scores) for each in measured if each.is_measured]
    overall: dict[str, Mapping[str, Score | Unavailable]] = {MEAN: means(measured)}
    told: dict[str, dict[str, float]] = {}
    for name, scores in (*rows, *overall.items()):
        peer = scores.get(PEER)
        for who in (LEXICAL, HYBRID):
            if isinstance(own := scores.get(who), Score) and isinstance(peer, Score):
                points = 100 * (own.points["ndcg@10"] - peer.points["ndcg@10"])
                told.setdefault(who, {})[name] = round(points, 2)
    return told


def as_json(data: str, measured: Sequence[Measured]) -> dict[str, object]:
    return {
        "benchmark": "retrieval",
        "data": data,
        "sets": {
            each.one.name: {
                "tools": len(each.one.tools),
                "queries": len(each.one.requests),
                "notes": [*each.one.notes],
                "rankers": {who: _told(score) for who, score in each.scores.items()},
            }
            for each in measured
        },
        "mean": {who: score.as_json() for who, score in means(measured).items()},
        "ndcg_points_ahead": ahead(measured),
    }


def as_text(measured: Sequence[Measured]) -> str:
    headings = ("set", "tools", "queries", "ranker", *POINTS, "ahead", "CPU ms p50", "p99", "of floor")
    leads = ahead(measured)
    rows: list[tuple[str, ...]] = []
    for each in measured:
        size = (each.one.name, table.number(len(each.one.tools)), table.number(len(each.one.requests)))
        if not each.is_measured:
            rows.append((each.one.name, "nothing to measure"))
        for who, score in each.scores.items():
            rows.append((*size, who, *_cells(score, leads.get(who, {}).get(each.one.name), each.scores.get(PEER))))
    overall = means(measured)
    for who, score in overall.items():
        lead = leads.get(who, {}).get(MEAN)
        rows.append((MEAN, "", "", who, *_cells(score, lead, overall.get(PEER))))
    missing = {
        f"{who}: {score.reason}"
        for each in measured
        for who, score in each.scores.items()
        if isinstance(score, Unavailable)
    }
    remarks = [*sorted(missing), *(f"{each.one.name}: {note}" for each in measured for note in each.one.notes)]
    return "\n".join([table.render(headings, rows), *(["", *remarks] if remarks else [])])


def _cells(score: Score | Unavailable, lead: float | None, peer: Score | Unavailable | None) -> tuple[str, ...]:
    if isinstance(score, Unavailable):
        return ("-",) * (len(POINTS) + 4)
    points = tuple(table.number(100 * score.points[name], 1) for name in POINTS)
    floor = score.cpu_p50 / peer.cpu_p50 if isinstance(peer, Score) and peer.cpu_p50 else None
    told = "" if lead is None else f"{lead:+.1f}"
    return (*points, told, table.number(score.cpu_p50, 2), table.number(score.cpu_p99, 2), table.times(floor))


def _told(score: Score | Unavailable) -> dict[str, object]:
    return {"unavailable": score.reason} if isinstance(score, Unavailable) else {**score.as_json()}
