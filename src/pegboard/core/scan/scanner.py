"""Scans one tool: each text, its name compared with other servers, and its claims."""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from pegboard.core.model.characters import escape_name, is_deceptive_name
from pegboard.core.model.tool import Fingerprint, ToolSpec
from pegboard.core.scan.claims import check_claims
from pegboard.core.scan.findings import INVISIBLE, ScanFinding, ScanFindingKind, Severity, TextMark, harmless_line
from pegboard.core.scan.imitations import OtherTools, mention_hashes, speaks_of_others
from pegboard.core.scan.text import TextPosition, has_styled_letters, normalize_text, spec_strings, spec_texts
from pegboard.core.scan.texts import is_secret_name, may_be_marked, text_marks

# What was found in tools by themselves, by their fingerprints: whoever looks at a board again need not wait again.
#
# What other servers' tools have to do with it is not remembered, because those change; but whether there can be
# anything
# is seen from what is.

MAX_CACHED_WEIGHT: Final = 1 << 14
"""Tools and findings together, twice. A hostile server may list thousands of tools with many findings each."""


@dataclass(frozen=True, slots=True)
class ToolScan:
    """One tool, as it was read by itself."""

    findings: tuple[ScanFinding, ...]
    mentions: "array[int]"
    """What may be names of tools in its texts: see `strangers.mentions`."""
    speaks_of_others: bool

    @property
    def weight(self) -> int:
        return 1 + len(self.findings)


class ScanCache:
    """Bounded, by forgetting what nobody has asked for during a whole generation. Each step is one look into a
    dictionary or one assignment, so threads may share it."""

    def __init__(self, most: int = MAX_CACHED_WEIGHT) -> None:
        self._max_weight = most
        self._weight = 0
        self._young: dict[Fingerprint, ToolScan] = {}
        self._old: dict[Fingerprint, ToolScan] = {}

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def get(self, fingerprint: Fingerprint) -> ToolScan | None:
        read = self._young.get(fingerprint)
        if read is None and (read := self._old.get(fingerprint)) is not None:
            self.add(fingerprint, read)
        return read

    def add(self, fingerprint: Fingerprint, read: ToolScan) -> None:
        if self._weight + read.weight > self._max_weight:
            self._old, self._young, self._weight = self._young, {}, 0
        self._young[fingerprint] = read
        self._weight += read.weight


# A glance at all texts of a tool at once, which is much quicker than one after the other.
#
# Where it sees nothing there is nothing to find, and most tools are such. Where it sees something there may be
# nothing:
# what stands in two texts is one to it.

_BETWEEN: Final = "\nzqz\n"
"""A word that no phrase has, on a line of its own: nothing that was found in one text is broken by it, and letters that
are spelt one by one end at it."""

_OTHER_LETTERS: Final = re.compile("[\u0370-\u052f\u13a0-\u13ff]")
"""Greek, Cyrillic and Cherokee, which have letters that look like Latin ones."""
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS: Final = re.compile(r"\s{40,}+")


class QuickScan:
    """All texts of a tool as one, and whether none of them can be marked for itself."""

    def __init__(self, spec: ToolSpec) -> None:
        texts, parameters = spec_strings(spec)
        self.text: Final = _BETWEEN.join(texts)
        self.is_ordinary: Final = not any(map(is_secret_name, parameters)) and _is_ordinary(self.text)


def _is_ordinary(text: str) -> bool:
    if _CONTROLS.search(text) or _BLANKS.search(text):
        return False
    if not text.isascii():
        if INVISIBLE.search(text) or _OTHER_LETTERS.search(text) or has_styled_letters(text):
            return False
        text = normalize_text(text)
    return not may_be_marked(text)


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
