"""One tool, scanned: every text by itself, its name against other servers', and its claims against each other."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from pegboard.core.characters import escape_name, is_deceptive_name
from pegboard.core.tool import ToolSpec

from .asking import is_secret_name
from .claims import check_claims
from .excerpt import harmless_line
from .finding import ScanFinding, ScanFindingKind, Severity, TextMark
from .glance import QuickScan
from .memory import ScanCache, ToolScan
from .places import TextPosition, spec_texts
from .strangers import OtherTools, mention_hashes, speaks_of_others
from .wording import text_marks

MAX_FINDINGS: Final = 50
"""Of one tool. A text that is found wanting fifty times needs no further reading."""

_SECRET_NAME_MARK: Final = TextMark(False, ScanFindingKind.SECRET, "is called like a secret")
_DECEPTIVE_NAME_MARK: Final = TextMark(
    True,
    ScanFindingKind.HIDDEN,
    "has characters that do not show, or begins or ends with a space, so it reads like another name",
)
_NAME_POSITION: Final = TextPosition(None, "name")
_cache: Final = ScanCache()


def scan_tool(spec: ToolSpec, others: OtherTools | Iterable[ToolSpec] = ()) -> tuple[ScanFinding, ...]:
    """`others` are the tools of other servers, which this one has no business with. Hard findings first."""
    strangers = others if isinstance(others, OtherTools) else OtherTools.build(others)
    read = _cache.get(spec.fingerprint)
    if read is None:
        read = scan_alone(spec)
        _cache.add(spec.fingerprint, read)
    shadowing = _limit_findings(_shadowing_marks(spec, read, strangers)) if strangers.names.server_counts else ()
    return _hard_first((*shadowing, *read.findings)) if shadowing else read.findings


def scan_alone(spec: ToolSpec) -> ToolScan:
    """As if there were no other tools, and with nothing remembered."""
    glance = QuickScan(spec)
    marks = () if glance.is_ordinary else _marks(spec)
    told = _limit_findings(chain(_name_marks(spec.name), marks), check_claims(spec))
    return ToolScan(told, array("q", {*mention_hashes(glance.text)}), speaks_of_others(glance.text))


def _limit_findings(
    marks: Iterable[tuple[TextPosition, TextMark]], before: Iterable[ScanFinding] = ()
) -> tuple[ScanFinding, ...]:
    hard: dict[ScanFinding, None] = {}
    soft: dict[ScanFinding, None] = {}
    for finding in before:
        (hard if finding.severity is Severity.HARD else soft)[finding] = None
    for place, mark in marks:
        told = hard if mark.is_hard else soft
        # A path is made for what is told only: a schema may be deep, and poisoned on every level.
        if len(told) < MAX_FINDINGS:
            told[mark.to_finding(str(place), place.path())] = None
        elif mark.is_hard:
            break
    return (*hard, *soft)[:MAX_FINDINGS]


def _hard_first(findings: Iterable[ScanFinding]) -> tuple[ScanFinding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.severity is Severity.SOFT))[:MAX_FINDINGS]


def _shadowing_marks(spec: ToolSpec, read: ToolScan, strangers: OtherTools) -> Iterator[tuple[TextPosition, TextMark]]:
    yield from ((_NAME_POSITION, mark) for mark in strangers.name_marks(spec.name))
    if read.speaks_of_others or strangers.may_be_mentioned(read.mentions):
        for place, text in spec_texts(spec):
            if place != _NAME_POSITION:
                yield from ((place, mark) for mark in strangers.mention_marks(text))


def _name_marks(name: str) -> Iterator[tuple[TextPosition, TextMark]]:
    """Unless something hard is told of it anyway."""
    if is_deceptive_name(name) and not any(mark.is_hard for mark in text_marks(name, is_name=True)):
        yield _NAME_POSITION, replace(_DECEPTIVE_NAME_MARK, excerpt=harmless_line(escape_name(name[:128])))


def _marks(spec: ToolSpec) -> Iterator[tuple[TextPosition, TextMark]]:
    for place, text in spec_texts(spec):
        yield from ((place, mark) for mark in text_marks(text, is_name=place.is_name))
        if place.is_parameter and is_secret_name(text):
            yield place, _SECRET_NAME_MARK
