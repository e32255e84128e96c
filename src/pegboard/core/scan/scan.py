"""One tool, scanned: every text by itself, its name against other servers', and its claims against each other."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from pegboard.core.characters import escape_name, is_deceptive_name
from pegboard.core.tool import ToolSpec

from .asking import secret_name
from .claims import claims
from .excerpt import harmless
from .finding import Finding, Kind, Mark, Severity
from .glance import Glance
from .memory import Memory, Read
from .places import Place, texts
from .strangers import Strangers, mentions, speaks_of_others
from .wording import wording

MOST_FINDINGS: Final = 50
"""Of one tool. A text that is found wanting fifty times needs no further reading."""

_SECRET_NAME: Final = Mark(False, Kind.SECRET, "is called like a secret")
_DECEPTIVE_NAME: Final = Mark(
    True, Kind.HIDDEN, "has characters that do not show, or begins or ends with a space, so it reads like another name"
)
_NAME: Final = Place(None, "name")
_memory: Final = Memory()


def scan(spec: ToolSpec, others: Strangers | Iterable[ToolSpec] = ()) -> tuple[Finding, ...]:
    """`others` are the tools of other servers, which this one has no business with. Hard findings first."""
    strangers = others if isinstance(others, Strangers) else Strangers.of(others)
    read = _memory.recalled(spec.fingerprint)
    if read is None:
        read = read_by_itself(spec)
        _memory.keep(spec.fingerprint, read)
    shadowing = _bounded(_shadowing(spec, read, strangers)) if strangers.names.servers else ()
    return _hard_first((*shadowing, *read.findings)) if shadowing else read.findings


def read_by_itself(spec: ToolSpec) -> Read:
    """As if there were no other tools, and with nothing remembered."""
    glance = Glance(spec)
    marks = () if glance.is_ordinary else _marks(spec)
    told = _bounded(chain(_name_marks(spec.name), marks), claims(spec))
    return Read(told, array("q", {*mentions(glance.text)}), speaks_of_others(glance.text))


def _bounded(marks: Iterable[tuple[Place, Mark]], before: Iterable[Finding] = ()) -> tuple[Finding, ...]:
    hard: dict[Finding, None] = {}
    soft: dict[Finding, None] = {}
    for finding in before:
        (hard if finding.severity is Severity.HARD else soft)[finding] = None
    for place, mark in marks:
        told = hard if mark.hard else soft
        # A path is made for what is told only: a schema may be deep, and poisoned on every level.
        if len(told) < MOST_FINDINGS:
            told[mark.at(str(place), place.path())] = None
        elif mark.hard:
            break
    return (*hard, *soft)[:MOST_FINDINGS]


def _hard_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.severity is Severity.SOFT))[:MOST_FINDINGS]


def _shadowing(spec: ToolSpec, read: Read, strangers: Strangers) -> Iterator[tuple[Place, Mark]]:
    yield from ((_NAME, mark) for mark in strangers.taken(spec.name))
    if read.speaks_of_others or strangers.may_be_mentioned(read.mentions):
        for place, text in texts(spec):
            if place != _NAME:
                yield from ((place, mark) for mark in strangers.mentioned(text))


def _name_marks(name: str) -> Iterator[tuple[Place, Mark]]:
    """Unless something hard is told of it anyway."""
    if is_deceptive_name(name) and not any(mark.hard for mark in wording(name, is_name=True)):
        yield _NAME, replace(_DECEPTIVE_NAME, excerpt=harmless(escape_name(name[:128])))


def _marks(spec: ToolSpec) -> Iterator[tuple[Place, Mark]]:
    for place, text in texts(spec):
        yield from ((place, mark) for mark in wording(text, is_name=place.is_name))
        if place.is_parameter and secret_name(text):
            yield place, _SECRET_NAME
