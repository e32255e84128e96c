"""A whole run: each way opened once, each version of the suite run on it, and what surprises run again."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import Final

from tests.conformance.checks import Check, CheckId, Checks, score
from tests.conformance.known import Known, shortfalls, surprises
from tests.conformance.record import Record, Run, record_of, run_of
from tests.conformance.suite import VERSIONS, Version, all_of, one_of, required_of
from tests.conformance.ways import ALONE, Way, opened

MOST_TRIES: Final = 3
"""Some checks give an answer half a second, which a busy machine needs for itself; what is wrong stays wrong."""


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def run(
    ways: Sequence[Way], versions: Sequence[Version], folder: Path, known: Sequence[Known], *, required: bool = False
) -> Record:
    """The server alone always comes first: it is what the other ways are held against."""
    models: dict[Version, Checks] = {}
    runs: list[Run] = []
    for way in (ALONE, *(way for way in ways if way != ALONE)):
        began = monotonic()
        async with opened(way, folder / way.name) as address:
            for version in versions:
                checks = await _steady(way, version, address, models.get(version), folder / way.name / version, known)
                runs.append(run_of(way.name, version, checks, models.setdefault(version, checks)))
            if required:
                found = await required_of(address, VERSIONS[-1], folder / way.name / "required")
                say(f"{way.name}: {VERSIONS[-1]} as released, extensions included: {score(found.values())}")
        say(f"{way.name}: {monotonic() - began:.0f} s")
    return record_of(tuple(runs))


async def _steady(
    way: Way, version: Version, address: str, model: Checks | None, folder: Path, known: Iterable[Known]
) -> dict[CheckId, Check]:
    """Scenarios that surprise are run again, by themselves; the last word counts."""
    checks = await all_of(address, version, folder)
    for again in range(2, MOST_TRIES + 1):
        surprising = surprises(way.name, version, shortfalls(checks, model or checks), known)
        for scenario in dict.fromkeys(surprise.scenario for surprise in surprising):
            say(f"{way.name} {version}: {scenario} surprises; running it again")
            found = await one_of(address, version, scenario, folder / f"{scenario}-{again}")
            checks = {id: check for id, check in checks.items() if id.scenario != scenario} | found
    return checks
