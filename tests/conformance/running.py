"""A whole run: each way opened once, each version of the suite run on it, and what surprises run again."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias

from tests.conformance.checks import Check, CheckId, Checks, score
from tests.conformance.known import Known, shortfalls, surprises
from tests.conformance.record import Record, Run, record_of, run_of
from tests.conformance.suite import FOR_CLIENTS, VERSIONS, Version, all_of, client_of, one_of, required_of
from tests.conformance.ways import MODELS, Way, opened
from tests.support.fork_server import python

MOST_TRIES: Final = 3
"""Some checks give an answer half a second, which a busy machine needs for itself; what is wrong stays wrong."""
MOST_AGAIN: Final = 5
"""When more scenarios than this surprise, it is not for want of time."""
Found: TypeAlias = dict[CheckId, Check]


@dataclass(frozen=True)
class Suite:
    """The suite on one way that stands open."""

    whole: Callable[[Version, Path], Awaitable[Found]]
    one: Callable[[Version, str, Path], Awaitable[Found]]


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def run(
    ways: Sequence[Way], versions: Sequence[Version], folder: Path, known: Sequence[Known], *, required: bool = False
) -> Record:
    """What a way is held against comes before it, asked for or not."""
    models: dict[tuple[bool, Version], Checks] = {}
    runs: list[Run] = []
    for way in dict.fromkeys(each for asked in ways for each in (MODELS[asked.clients], asked)):
        began = monotonic()
        async with _suite(way, folder / way.name, required=required) as suite:
            for version in versions:
                model = models.get((way.clients, version))
                checks = await _steady(way, version, suite, model, folder / way.name / version, known)
                models.setdefault((way.clients, version), checks)
                runs.append(run_of(way.name, version, checks, checks if model is None else model))
        say(f"{way.name}: {monotonic() - began:.0f} s")
    return record_of(tuple(runs))


@asynccontextmanager
async def _suite(way: Way, folder: Path, *, required: bool) -> AsyncIterator[Suite]:
    if way.clients:
        caller = (python(), "-m", "tests.conformance.caller", *(() if way.gateway else ("--alone",)))

        async def each(version: Version, folder: Path) -> Found:
            found: Found = {}
            for scenario in FOR_CLIENTS[version]:
                found |= await client_of(caller, version, scenario, folder / scenario)
            return found

        yield Suite(each, lambda version, scenario, folder: client_of(caller, version, scenario, folder))
        return
    async with opened(way, folder) as address:
        yield Suite(
            lambda version, folder: all_of(address, version, folder),
            lambda version, scenario, folder: one_of(address, version, scenario, folder),
        )
        if required:
            found = await required_of(address, VERSIONS[-1], folder / "required")
            say(f"{way.name}: {VERSIONS[-1]} as released, extensions included: {score(found.values())}")


async def _steady(
    way: Way, version: Version, suite: Suite, model: Checks | None, folder: Path, known: Sequence[Known]
) -> Found:
    """Scenarios that surprise are run again, by themselves; the last word counts."""
    checks = await suite.whole(version, folder)
    for again in range(2, MOST_TRIES + 1):
        fell = shortfalls(checks, checks if model is None else model)
        scenarios = dict.fromkeys(each.scenario for each in surprises(way.name, version, fell, known))
        if len(scenarios) > MOST_AGAIN:
            break
        for scenario in scenarios:
            say(f"{way.name} {version}: {scenario} surprises; running it again")
            found = await suite.one(version, scenario, folder / "again" / f"{scenario}-{again}")
            checks = {id: check for id, check in checks.items() if id.scenario != scenario} | found
    return checks
