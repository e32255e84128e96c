"""What the suite found out: one verdict for each check, and what two runs have in common."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

Verdict: TypeAlias = Literal["passed", "failed", "warned"]
VERDICTS: Final[Mapping[str, Verdict]] = {"SUCCESS": "passed", "FAILURE": "failed", "WARNING": "warned"}
"""What the suite leaves out or only mentions (`SKIPPED`, `INFO`) is no verdict."""

_FOLDER: Final = re.compile(r"(?P<scenario>.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z")
_PREFIX: Final = "server-"
"""Before the name of a scenario for servers; the names of those for clients stand as they are."""


@dataclass(frozen=True, order=True)
class CheckId:
    """Several checks of a scenario may share an id and a name: the number tells them apart, in the suite's order."""

    scenario: str
    id: str
    name: str
    number: int = 1

    def __str__(self) -> str:
        return f"{self.scenario}:{self.id}" + (f"#{self.number}" if self.number > 1 else "")


@dataclass(frozen=True)
class Check:
    verdict: Verdict
    why: str = ""


Checks: TypeAlias = Mapping[CheckId, Check]


@dataclass(frozen=True)
class Score:
    passed: int = 0
    failed: int = 0
    warned: int = 0

    def __str__(self) -> str:
        return f"{self.passed}/{self.failed}" + (f" +{self.warned}w" if self.warned else "")


def read(folder: Path) -> dict[CheckId, Check] | None:
    """The results that the suite wrote into a folder, in the order it ran; None if it wrote none."""
    files = sorted(folder.glob("*/checks.json"), key=lambda file: file.stat().st_mtime_ns)
    if not files:
        return None
    checks: dict[CheckId, Check] = {}
    for file in files:
        named = _FOLDER.fullmatch(file.parent.name)
        assert named is not None, f"{file.parent} is not a folder of the suite's results"
        seen: Counter[tuple[str, str]] = Counter()
        for told in json.loads(file.read_bytes()):
            seen[told["id"], told["name"]] += 1
            id = CheckId(
                named["scenario"].removeprefix(_PREFIX), told["id"], told["name"], seen[told["id"], told["name"]]
            )
            verdict = VERDICTS.get(told["status"])
            if verdict is not None:
                checks[id] = Check(verdict, "" if verdict == "passed" else told.get("errorMessage") or "")
    return checks


def score(checks: Iterable[Check]) -> Score:
    counted = Counter(check.verdict for check in checks)
    return Score(counted["passed"], counted["failed"], counted["warned"])


def by_scenario(checks: Checks) -> dict[str, Score]:
    scenarios = dict.fromkeys(id.scenario for id in checks)
    return {name: score(check for id, check in checks.items() if id.scenario == name) for name in scenarios}


def missing(checks: Checks, model: Checks) -> tuple[CheckId, ...]:
    """What passes in the model run and was not even reached in this one."""
    return tuple(id for id, check in model.items() if check.verdict == "passed" and id not in checks)
