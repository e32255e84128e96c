"""What looks poisoned in a tool's description or schema. A finding informs a person; it proves nothing by itself.

Every text of a spec is looked at: names, titles, descriptions, keys, enum values, defaults. The sentences are safe to
show: of what was found they repeat a short excerpt at most, with nothing invisible left in it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from .hidden import excerpt, hidden
from .ids import Source
from .tool import Json, Tool, ToolSpec
from .wording import Kind, lookalike, secret_name, wording

Path: TypeAlias = tuple[str | int, ...]


class Severity(Enum):
    HARD = "hard"
    """No ordinary tool says this. It is never approved by first sight."""
    SOFT = "soft"
    """Worth a look; ordinary tools say such things too."""


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    kind: Kind
    path: Path
    """Where, by the names the protocol uses: `("inputSchema", "properties", "path", "description")`."""
    sentence: str


MOST_FINDINGS: Final = 50
"""Of one tool. A text that is found wanting fifty times needs no further reading."""


def scan(spec: ToolSpec, others: "Strangers | Iterable[ToolSpec]" = ()) -> tuple[Finding, ...]:
    """`others` are the tools of other servers, which this one has no business with. Hard findings first."""
    found = dict.fromkeys(_found(spec, others if isinstance(others, Strangers) else Strangers.of(others)))
    ranked = sorted(found, key=lambda finding: finding.severity is Severity.SOFT)
    return tuple(ranked[:MOST_FINDINGS])


def is_poisoned(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.HARD for finding in findings)


def strangers(source: Source, tools: Iterable[Tool]) -> "Strangers":
    """Who `others` are to every tool of this source: tools of other sources by names that it does not have itself."""
    everyone = tuple(tools)
    own = {each.spec.name for each in everyone if each.id.source == source}
    return Strangers.of(each.spec for each in everyone if each.id.source != source and each.spec.name not in own)


def _found(spec: ToolSpec, names: "Strangers") -> Iterator[Finding]:
    yield from names.taken(spec.name)
    for spot, text in _texts(spec):
        seen = [
            *((each.hard, Kind.HIDDEN, f"has {each.what}") for each in hidden(text)),
            *((each.hard, each.kind, each.what) for each in wording(text)),
            *(names.mentioned(text) if spot.key != "name" or spot.above is not None else ()),
        ]
        if spot.is_parameter and secret_name(text):
            seen.append((False, Kind.SECRET, "is called like a secret"))
        for hard, kind, what in seen:
            yield Finding(_severity(hard), kind, spot.path(), f"{spot} {what}.")


def _severity(hard: bool) -> Severity:
    return Severity.HARD if hard else Severity.SOFT


# --- shadowing -------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(r"[\w./:-]{1,128}")
_AGAINST: Final = re.compile(
    r"\b(?:instead of|rather than|in place of|replaces?|supersedes?|deprecated|do not use|don't use|never use|avoid"
    r"|(?:before|when|whenever) (?:using|calling|running|invoking)|is (?:used|called|invoked)|stop using|no longer)\b",
    re.IGNORECASE,
)
_NEAR: Final = 80


@dataclass(frozen=True)
class Strangers:
    """The names of other servers' tools, and what a reader might take for one."""

    exact: frozenset[str]
    alike: Mapping[str, str]

    @staticmethod
    def of(others: Iterable[ToolSpec]) -> "Strangers":
        names = sorted({spec.name for spec in others})
        return Strangers(frozenset(names), {lookalike(name): name for name in names})

    def taken(self, name: str) -> Iterator[Finding]:
        if name in self.exact:
            yield Finding(
                Severity.SOFT, Kind.SHADOWING, ("name",), "Its name is also the name of another server's tool."
            )
        elif (other := self.alike.get(lookalike(name))) is not None:
            # Another case or separator is a habit; letters of another alphabet are a disguise.
            disguised = not name.isascii()
            yield Finding(
                _severity(disguised),
                Kind.SHADOWING,
                ("name",),
                f"Its name looks like {excerpt(other)}, a tool of another server.",
            )

    def mentioned(self, text: str) -> Iterator[tuple[bool, Kind, str]]:
        """Of a plain word nobody knows whether it names a tool; a name of several parts is one."""
        if not self.exact:
            return
        told: set[str] = set()
        for found in _TOKEN.finditer(text):
            name = found.group().strip("./:-")
            if name not in self.exact or not _SEVERAL_PARTS.search(name) or name in told:
                continue
            told.add(name)
            against = _AGAINST.search(text, max(0, found.start() - _NEAR), found.end() + _NEAR) is not None
            what = "turns the model away from or around" if against else "mentions"
            yield against, Kind.SHADOWING, f"{what} {excerpt(name)}, a tool of another server"


_SEVERAL_PARTS: Final = re.compile(r"[_./:-]|[a-z][A-Z]")


# --- every text ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a text stands. Linked, because a path of its own for every text of a deep schema would be costly."""

    above: "_Spot | None"
    key: str | int
    is_key: bool = False
    """The text is the key itself and not what stands under it."""

    @property
    def is_parameter(self) -> bool:
        return self.is_key and self.above is not None and self.above.key == "properties"

    def path(self) -> Path:
        keys: list[str | int] = []
        spot: _Spot | None = self
        while spot is not None:
            keys.append(spot.key)
            spot = spot.above
        return tuple(reversed(keys))

    def __str__(self) -> str:
        if self.above is None:
            return f"The {self.key}"
        place = excerpt(".".join(map(str, self.path())), 80)
        return f"The name at {place}" if self.is_key else f"The text at {place}"


def _texts(spec: ToolSpec) -> Iterator[tuple[_Spot, str]]:
    yield _Spot(None, "name"), spec.name
    yield _Spot(None, "title"), spec.title or ""
    yield _Spot(None, "description"), spec.description
    for root, value in (
        ("inputSchema", spec.input_schema),
        ("outputSchema", spec.output_schema),
        ("annotations", spec.annotations),
    ):
        if value is not None:
            yield from _strings(_Spot(None, root), value)


def _strings(root: _Spot, value: Mapping[str, Json]) -> Iterator[tuple[_Spot, str]]:
    """Every key and every text, by a stack of its own: a schema may be deeper than the interpreter recurses."""
    waiting: list[tuple[_Spot, Json | Mapping[str, Json]]] = [(root, value)]
    while waiting:
        spot, item = waiting.pop()
        if isinstance(item, str):
            yield spot, item
        elif isinstance(item, Mapping):
            yield from ((_Spot(spot, key, is_key=True), key) for key in item if key not in _KEYWORDS)
            waiting += [(_Spot(spot, key), item[key]) for key in reversed([*item])]
        elif isinstance(item, list):
            waiting += [(_Spot(spot, place), element) for place, element in reversed([*enumerate(item)])]


_KEYWORDS: Final = frozenset(
    {"type", "properties", "required", "items", "description", "title", "default", "enum", "$defs", "anyOf", "format"}
)
"""Keys of nearly every schema, which say nothing."""
