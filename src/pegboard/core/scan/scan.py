"""One tool, scanned: every text by itself, its name against other servers', and its claims against each other."""

from collections.abc import Iterable, Iterator
from typing import Final

from pegboard.core.tool import ToolSpec

from .asking import secret_name
from .claims import claims
from .finding import Finding, Kind, Mark, Severity
from .glance import is_ordinary
from .places import Place, texts
from .strangers import Strangers
from .wording import wording

MOST_FINDINGS: Final = 50
"""Of one tool. A text that is found wanting fifty times needs no further reading."""

_SECRET_NAME: Final = Mark(False, Kind.SECRET, "is called like a secret")


def scan(spec: ToolSpec, others: Strangers | Iterable[ToolSpec] = ()) -> tuple[Finding, ...]:
    """`others` are the tools of other servers, which this one has no business with. Hard findings first."""
    strangers = others if isinstance(others, Strangers) else Strangers.of(others)
    hard: dict[Finding, None] = {}
    soft: dict[Finding, None] = {}
    for finding in claims(spec):
        (hard if finding.severity is Severity.HARD else soft)[finding] = None
    for place, mark in _marks(spec, strangers):
        told = hard if mark.hard else soft
        # A path is made for what is told only: a schema may be deep, and poisoned on every level.
        if len(told) < MOST_FINDINGS:
            told[mark.at(str(place), place.path())] = None
        elif mark.hard:
            break
    return (*hard, *soft)[:MOST_FINDINGS]


def _marks(spec: ToolSpec, strangers: Strangers) -> Iterator[tuple[Place, Mark]]:
    name = Place(None, "name")
    yield from ((name, mark) for mark in strangers.taken(spec.name))
    if is_ordinary(spec, strangers):
        return
    for place, text in texts(spec):
        if place != name:
            yield from ((place, mark) for mark in strangers.mentioned(text))
        yield from ((place, mark) for mark in wording(text, is_name=place.is_name))
        if place.is_parameter and secret_name(text):
            yield place, _SECRET_NAME
