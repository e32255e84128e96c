"""The per-server rollup: how many tools a server has callable, and how many are locked for which reason."""

from collections import Counter
from collections.abc import Mapping

from .ids import SourceKey
from .resolve import HiddenTool, LockedTool, OpenTool, Resolution
from .status import LockStatus


def tool_counts(resolution: Resolution) -> Mapping[SourceKey, Mapping[str, int]]:
    """`callable` and one key a status, zeros left out. Tools outside the view are not counted."""
    tallies: dict[SourceKey, Counter[str]] = {}
    for id, verdict in resolution.verdicts.items():
        match verdict:
            case HiddenTool():
                continue
            case OpenTool():
                tallies.setdefault(id.source, Counter())["callable"] += 1
            case LockedTool():
                tallies.setdefault(id.source, Counter())[verdict.status.value] += 1
    return {source: _in_status_order(tally) for source, tally in tallies.items()}


def locked_counts(resolution: Resolution) -> Mapping[SourceKey, Mapping[str, int]]:
    """Only the servers of which something is not callable."""
    return {source: tally for source, tally in tool_counts(resolution).items() if tally.keys() - {"callable"}}


def _in_status_order(tally: Counter[str]) -> Mapping[str, int]:
    stated = {status.value: tally[status.value] for status in LockStatus if tally[status.value]}
    return {"callable": tally["callable"], **stated}
