"""What a ranking is worth: the usual measures over the first ten, and what each answer cost."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

BEST: Final = 10
POINTS: Final = ("ndcg@10", "recall@1", "recall@5", "recall@10", "mrr")


@dataclass(frozen=True, slots=True)
class Answer:
    """The ids that were found, best first, and the CPU time it took."""

    found: tuple[str, ...]
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Score:
    """Of one set, or of several: means over requests, between 0 and 1; and CPU milliseconds a query."""

    points: Mapping[str, float]
    cpu_p50: float
    cpu_p99: float

    def as_json(self) -> dict[str, float]:
        times = {"cpu_ms_p50": round(self.cpu_p50, 3), "cpu_ms_p99": round(self.cpu_p99, 3)}
        return {**{name: round(value, 4) for name, value in self.points.items()}, **times}


def score(answers: Sequence[Answer], relevant: Sequence[Collection[str]]) -> Score:
    measured = [points(answer.found, wanted) for answer, wanted in zip(answers, relevant, strict=True)]
    times = sorted(answer.milliseconds for answer in answers)
    means = {name: fmean(each[name] for each in measured) for name in POINTS}
    return Score(means, median(times), times[min(len(times) - 1, math.ceil(0.99 * len(times)) - 1)])


def points(found: Sequence[str], wanted: Collection[str]) -> dict[str, float]:
    """Of one ranking. What is found twice counts once."""
    best = [*dict.fromkeys(found)][:BEST]
    places = [place for place, id in enumerate(best) if id in wanted]
    gain = sum(1 / math.log2(place + 2) for place in places)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(BEST, len(wanted))))
    recall = {f"recall@{size}": sum(place < size for place in places) / len(wanted) for size in (1, 5, 10)}
    return {"ndcg@10": gain / ideal, **recall, "mrr": 1 / (places[0] + 1) if places else 0.0}


def mean(scores: Sequence[Score]) -> Score:
    """Over sets, each counting the same."""
    return Score(
        {name: fmean(each.points[name] for each in scores) for name in POINTS},
        fmean(each.cpu_p50 for each in scores),
        fmean(each.cpu_p99 for each in scores),
    )
