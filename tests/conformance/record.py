"""What a whole run showed, as it is kept in a file: scores and shortfalls, no words that change from run to run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.conformance.checks import CheckId, Checks, Score, by_scenario, score
from tests.conformance.known import Shortfall, shortfalls
from tests.conformance.suite import RELEASE, Version

FILE: Final = Path(__file__).with_name("recorded.json")


@dataclass(frozen=True)
class Run:
    """One version of the suite on one way."""

    way: str
    version: Version
    score: Score
    scenarios: Mapping[str, Score]
    short: tuple[Shortfall, ...]


@dataclass(frozen=True)
class Record:
    release: str
    runs: tuple[Run, ...]

    def run(self, way: str, version: Version) -> Run:
        return next(run for run in self.runs if (run.way, run.version) == (way, version))

    @property
    def ways(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.way for run in self.runs))


def run_of(way: str, version: Version, checks: Checks, model: Checks) -> Run:
    return Run(way, version, score(checks.values()), by_scenario(checks), shortfalls(checks, model))


def as_json(record: Record) -> str:
    runs = [
        {
            "way": run.way,
            "version": run.version,
            "score": _counts(run.score),
            "scenarios": {name: _counts(each) for name, each in run.scenarios.items()},
            "short": [
                {
                    "scenario": each.check.scenario,
                    "id": each.check.id,
                    "name": each.check.name,
                    "number": each.check.number,
                    "short": each.short,
                }
                for each in run.short
            ],
        }
        for run in record.runs
    ]
    return json.dumps({"suite": record.release, "runs": runs}, indent=1) + "\n"


def loaded(file: Path = FILE) -> Record:
    told = json.loads(file.read_text("utf-8"))
    return Record(told["suite"], tuple(_run(run) for run in told["runs"]))


def _counts(score: Score) -> str:
    """Passed, failed, warned: one line of a file that is read by people too."""
    return f"{score.passed} {score.failed} {score.warned}"


def _score(counts: str) -> Score:
    return Score(*map(int, counts.split()))


def _run(told: Mapping[str, Any]) -> Run:
    return Run(
        told["way"],
        told["version"],
        _score(told["score"]),
        {name: _score(counts) for name, counts in told["scenarios"].items()},
        tuple(
            Shortfall(CheckId(each["scenario"], each["id"], each["name"], each["number"]), each["short"])
            for each in told["short"]
        ),
    )


def renewed(old: Record, new: Record) -> Record:
    """What the new one shows, in the place of what the old one showed of the same; the order is the old one's."""
    found = {(run.way, run.version): run for run in (*old.runs, *new.runs)}
    return Record(new.release, tuple(found.values()))


def record_of(runs: tuple[Run, ...]) -> Record:
    return Record(RELEASE, runs)
