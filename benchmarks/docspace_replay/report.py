"""What a replay found, as a table for people and as JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import table

from .comparing import Discrepancy
from .recordings import Recording


@dataclass(frozen=True)
class Verdict:
    """How one call compared. It matched when it has neither names nor discrepancies."""

    recording: Recording
    on_purpose: tuple[str, ...] = ()
    """The names of what we do differently, where that is all there is."""
    discrepancies: tuple[Discrepancy, ...] = ()

    @property
    def differs(self) -> bool:
        return bool(self.discrepancies)

    @property
    def matched(self) -> bool:
        return not self.on_purpose and not self.discrepancies


def as_json(file: str, verdicts: Sequence[Verdict], why: Mapping[str, str]) -> dict[str, Any]:
    return {
        "benchmark": "docspace_replay",
        "file": file,
        **_counts(verdicts),
        "tools": [
            {"tool": tool, **_counts(of), "names": dict(sorted(_names(of).items()))} for tool, of in by_tool(verdicts)
        ],
        "named": {name: why[name] for name in sorted(_names(verdicts))},
        "on_purpose_calls": [
            {**_which(each.recording), "names": list(each.on_purpose)} for each in verdicts if each.on_purpose
        ],
        "differing_calls": [
            {
                **_which(each.recording),
                "differences": [
                    {"where": found.where, "recorded": found.recorded, "ours": found.ours}
                    for found in each.discrepancies
                ],
            }
            for each in verdicts
            if each.differs
        ],
    }


def as_text(file: str, verdicts: Sequence[Verdict], why: Mapping[str, str]) -> str:
    counts = _counts(verdicts)
    rows = [
        (
            tool,
            *(str(_counts(of)[key]) for key in ("calls", "matched", "on_purpose", "differs")),
            ", ".join(f"{name} ({many})" for name, many in sorted(_names(of).items())),
        )
        for tool, of in by_tool(verdicts)
    ]
    rows.append(("all", *(str(counts[key]) for key in ("calls", "matched", "on_purpose", "differs")), ""))
    headings = ("tool", "calls", "matched", "on purpose", "differs", "what we do differently")
    lines = [f"{file}: {counts['calls']} recorded calls", "", table.render(headings, rows)]
    if names := sorted(_names(verdicts)):
        lines += ["", "On purpose:", *(f"  {name}: {why[name]}" for name in names)]
    for each in verdicts:
        if each.differs:
            lines += ["", each.recording.title, *(f"  {found}" for found in each.discrepancies)]
    return "\n".join(lines)


def by_tool(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """In the order in which the file names them first."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.recording.tool, []).append(verdict)
    return list(found.items())


def _counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    return {
        "calls": len(verdicts),
        "matched": sum(each.matched for each in verdicts),
        "on_purpose": sum(bool(each.on_purpose) and not each.differs for each in verdicts),
        "differs": sum(each.differs for each in verdicts),
    }


def _names(verdicts: Sequence[Verdict]) -> Counter[str]:
    return Counter(name for each in verdicts for name in each.on_purpose)


def _which(recording: Recording) -> dict[str, Any]:
    return {"number": recording.number, "tool": recording.tool, "note": recording.note}
