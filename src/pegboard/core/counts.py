"""The per-server rollup: how many tools a server has callable, and how many are locked for which reason."""

from collections import Counter
from collections.abc import Mapping

from .ids import Source
from .resolve import Absent, Locked, Open, Resolution
from .status import Status


def counts(resolution: Resolution) -> Mapping[Source, Mapping[str, int]]:
    """`callable` and one key a status, zeros left out. Tools outside the view are not counted."""
    tallies: dict[Source, Counter[str]] = {}
    for id, verdict in resolution.verdicts.items():
        match verdict:
            case Absent():
                continue
            case Open():
                tallies.setdefault(id.source, Counter())["callable"] += 1
            case Locked():
                tallies.setdefault(id.source, Counter())[verdict.status.value] += 1
    return {source: _ordered(tally) for source, tally in tallies.items()}


def locked_counts(resolution: Resolution) -> Mapping[Source, Mapping[str, int]]:
    """Only the servers of which something is not callable."""
    return {source: tally for source, tally in counts(resolution).items() if tally.keys() - {"callable"}}


def _ordered(tally: Counter[str]) -> Mapping[str, int]:
    stated = {status.value: tally[status.value] for status in Status if tally[status.value]}
    return {"callable": tally["callable"], **stated}
