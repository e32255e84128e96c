"""A record as text: a table for the terminal, and the reference page."""

from collections.abc import Iterable, Sequence
from typing import Final

from tests.conformance.checks import Score
from tests.conformance.known import Known
from tests.conformance.record import Record
from tests.conformance.suite import PACKAGE, VERSIONS, Version
from tests.conformance.ways import WAYS

PAGE_PATH: Final = "docs/reference/conformance.md"
_HEAD: Final = f"""\
# Conformance

The protocol's own suite, npm `{PACKAGE}`, against Pegboard in front of a server that has every fixture the suite asks
for (`tests/servers/everything`). The same server alone is the measure: what passes there must pass through the gateway.

```sh
make conformance                     # every way below, both versions; about a minute and a half
make conformance ARGS="--way http"   # one way
make conformance ARGS=--record       # write what it shows into this page
```

It needs nothing but the development requirements: the suite is installed by npm into `.cache` on the first run. It ends
with an error when a check falls short that is not in `tests/conformance/known.yaml`, and when one in there does not
any more.

## Scores

Checks passed/failed, of `--suite all`; `w` counts warnings, which are about what a server should do, not must.
"""
_TOLD: Final = """
## What falls short, and why
"""
_ALL_PASS: Final = "\nNothing does.\n"
_SCENARIOS: Final = """
## Scenarios

{version}: the server alone, and through the gateway to the same server over HTTP and over stdio.
"""


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the first row is the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _markdown(rows: Iterable[Sequence[str]]) -> str:
    head, *rest = rows
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rest)]
    return "\n".join(lines) + "\n"


def scenarios(record: Record, version: Version, ways: Sequence[str]) -> list[list[str]]:
    """One row for each scenario that any of these ways ran, and one for the sum."""
    runs = [record.run(way, version) for way in ways]
    names = dict.fromkeys(name for run in runs for name in run.scenarios)
    rows = [[name, *(str(run.scenarios.get(name, Score())) for run in runs)] for name in names]
    return [["scenario", *ways], *rows, ["total", *(str(run.score) for run in runs)]]


def scores(record: Record) -> list[list[str]]:
    rows = [
        [way.about, *(str(record.run(way.name, version).score) for version in VERSIONS)]
        for way in WAYS
        if way.name in record.ways
    ]
    return [["", *VERSIONS], *rows]


def page(record: Record, known: Iterable[Known]) -> str:
    reasons = [
        [f"`{entry.check}`", entry.short, ", ".join(entry.versions), ", ".join(entry.ways), entry.reason]
        for entry in known
    ]
    told = _markdown([["check", "how", "version", "way", "why"], *reasons]) if reasons else ""
    shown = [way for way in ("alone", "http", "stdio") if way in record.ways]
    parts = [_HEAD, "\n", _markdown(scores(record)), _TOLD, "\n" + told if told else _ALL_PASS]
    for number, version in enumerate(VERSIONS):
        intro = _SCENARIOS.format(version=version) if number == 0 else f"\n{version}:\n"
        parts += [intro, "\n", _markdown(scenarios(record, version, shown))]
    return "".join(parts)
