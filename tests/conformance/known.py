"""What we know to fail, each with its reason, held against what a run shows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import yaml
from tests.conformance.checks import CheckId, Checks, missing
from tests.conformance.suite import VERSIONS, Version

FILE: Final = Path(__file__).with_name("known.yaml")
Short: TypeAlias = Literal["failed", "warned", "not reached"]
"""In which manner a check falls short of passing."""
SHORT: Final[tuple[Short, ...]] = ("failed", "warned", "not reached")


@dataclass(frozen=True)
class Known:
    check: str
    """`scenario:check id`, for every occurrence of that id."""
    short: Short
    versions: tuple[Version, ...]
    ways: tuple[str, ...]
    """Names of ways, or patterns of them."""
    reason: str

    def covers(self, way: str, version: Version) -> bool:
        return version in self.versions and any(fnmatchcase(way, pattern) for pattern in self.ways)


@dataclass(frozen=True)
class Shortfall:
    """A check that does not pass. `not reached` is one that passes on the server alone and never ran on this way."""

    check: CheckId
    short: Short
    why: str = ""


def known(file: Path = FILE) -> tuple[Known, ...]:
    return tuple(each for told in yaml.safe_load(file.read_text("utf-8")) or () for each in _known(told))


def _known(told: Mapping[str, Any]) -> Iterator[Known]:
    versions: tuple[Version, ...] = tuple(told.get("versions", VERSIONS))
    assert set(versions) <= set(VERSIONS), told
    reason = " ".join(told["reason"].split())
    for short in SHORT:
        for check in told.get(short, ()):
            yield Known(check, short, versions, tuple(told["ways"]), reason)


def shortfalls(checks: Checks, model: Checks) -> tuple[Shortfall, ...]:
    """What falls short, in the suite's order; the model is the same version of the suite on the server alone."""
    fell = [
        Shortfall(id, check.verdict, check.why) for id, check in checks.items() if check.verdict in ("failed", "warned")
    ]
    return (*fell, *(Shortfall(id, "not reached") for id in missing(checks, model)))


@dataclass(frozen=True)
class Surprise:
    scenario: str
    told: str
    """What happened, or what to do."""


def surprises(way: str, version: Version, fell: Iterable[Shortfall], expected: Iterable[Known]) -> tuple[Surprise, ...]:
    """What is not as we know it, both ways round."""
    here = [entry for entry in expected if entry.covers(way, version)]
    fell = tuple(fell)
    found = {(_name(shortfall.check), shortfall.short) for shortfall in fell}
    unexpected = [
        Surprise(
            shortfall.check.scenario,
            f"{way} {version}: {shortfall.check} ({shortfall.check.name}) {shortfall.short}"
            + (f": {shortfall.why}" if shortfall.why else ""),
        )
        for shortfall in fell
        if not any((entry.check, entry.short) == (_name(shortfall.check), shortfall.short) for entry in here)
    ]
    stale = [
        Surprise(
            entry.check.partition(":")[0],
            f"{way} {version}: {entry.check} is known as {entry.short!r} and is not any more. "
            f"Take it out of {FILE.name}.",
        )
        for entry in here
        if (entry.check, entry.short) not in found
    ]
    return (*unexpected, *stale)


def _name(check: CheckId) -> str:
    return f"{check.scenario}:{check.id}"
