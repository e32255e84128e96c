"""A record as text: a table for the terminal, and the reference page."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import fill
from typing import Final

from tests.conformance.known import Known
from tests.conformance.record import Record
from tests.conformance.suite import PACKAGE, VERSIONS, Version
from tests.conformance.ways import WAYS

PAGE_PATH: Final = "docs/reference/conformance.md"
_HEAD: Final = f"""\
# Conformance

The protocol's own suite, npm `{PACKAGE}`, against Pegboard in front of a
server that has every fixture the suite asks for (`tests/servers/everything`). The same server alone is the measure:
what passes there must pass through the gateway.

```sh
make conformance                     # every way below, both versions; a few minutes
make conformance ARGS="--way http"   # one way
make conformance ARGS=--record       # write what it shows into this page
```

It needs nothing but the development requirements: the suite is installed by npm into `.cache` on the first run. It ends
with an error when a check falls short that is not in `tests/conformance/known.yaml`, and when one in there does not
any more. A scenario that surprises is run again, twice at most, because some checks give an answer no more than half a
second. `make test` runs the ways `alone`, `http` and `stdio`.

A gateway is a client too. On the way `client` the suite plays the server behind the gateway; its scenarios about
signing in are left out.

## Scores

Checks passed/failed, of `--suite all`; `w` counts warnings, which are about what a server should do, not must.
"""
_TOLD: Final = """
## What falls short, and why
"""
_ALL_PASS: Final = "\nNothing does.\n"
_SCENARIOS: Final = """
## Scenarios

For servers: the server alone, and through the gateway to the same server over HTTP and over stdio. For clients: the
client of the SDK alone, and the same client calling through the gateway, which is what the suite sees.
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
    rows = [[name, *(str(run.scenarios.get(name, "")) for run in runs)] for name in names]
    return [["scenario", *ways], *rows, ["total", *(str(run.score) for run in runs)]]


def scores(record: Record) -> list[list[str]]:
    rows = [
        [f"`{way.name}`", way.about, *(str(record.run(way.name, version).score) for version in VERSIONS)]
        for way in WAYS
        if way.name in record.ways
    ]
    return [["way", "", *VERSIONS], *rows]


def page(record: Record, known: Iterable[Known]) -> str:
    told = "".join(_reason(list(entries)) for _, entries in groupby(known, key=lambda entry: entry.reason))
    parts = [_HEAD, "\n", _markdown(scores(record)), _TOLD, told or _ALL_PASS, _SCENARIOS]
    for shown in (("alone", "http", "stdio"), ("client-alone", "client")):
        for version in VERSIONS:
            parts += [f"\n{version}:\n\n", _markdown(scenarios(record, version, shown))]
    return "".join(parts)


def _reason(entries: Sequence[Known]) -> str:
    """One reason, where it holds, and the checks that it is for."""
    first = entries[0]
    ways = ", ".join(f"`{way}`" for way in first.ways)
    lines = [f"- {entry.short}: `{entry.check}`" for entry in entries]
    return "\n" + fill(f"{first.reason} ({', '.join(first.versions)}; {ways})", 118) + "\n\n" + "\n".join(lines) + "\n"
