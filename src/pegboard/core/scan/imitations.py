"""Shadowing: a tool that takes another server's name or gives instructions about another server's tool."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from pegboard.core.model.ids import SourceKey
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.scan.findings import ScanFindingKind, TextMark, excerpt_around, make_excerpt
from pegboard.core.scan.text import lookalike_key, parse_word_set

_TOKEN: Final = re.compile(r"[\w./:-]{1,128}")
_PLAIN_TOKEN: Final = re.compile(r"\w[\w-]{0,127}")
_SEPARATOR: Final = re.compile(r"[./:]")
_CAMEL: Final = re.compile("[a-z][A-Z]")
_SEVERAL_PARTS: Final = re.compile(r"[_./:-]|[a-z][A-Z]")
_REPLACEMENT_WORDS: Final = re.compile(
    r"\b(?:instead of|rather than|in place of|replac\w+|supersed\w+|deprecated|do not use|don't use|never use|avoid"
    r"|prefer"
    r"|(?:before|when|whenever|after|every time|each time) (?:\w+ )?(?:using|calling|running|invoking)|stop using"
    r"|no longer"
    r"|(?:is|are|be|gets) (?:used|called|invoked|run|available|broken|unsafe|unreliable|insecure|slow|given|installed)"
    r"|runs|leaks|unreliable|must|should also|has to|have to|bcc|recipient|output of|result of"
    r"|stattdessen|veraltet|anstelle|anstatt|bevor|muss|statt|verwende\w*"
    r"|au lieu de|à la place|plutôt que|n'utilise|n'utilisez|avant"
    r"|en lugar de|en vez de|siempre|antes de|no uses|invece di|al posto di|non usare|em vez de|não use|sempre)\b"
    r"|вместо|перед|не используй|устарел|不要使用|改用|代替|之前|の代わり|使わない|前に",
    re.IGNORECASE,
)
_NEAR_CHARS: Final = 80
_OTHER_SERVERS: Final = re.compile(
    r"\b(?:other|another|any other|all other) (?:mcp )?(?:server|servers|provider|providers)(?:'s"
    r"|s')? (?:\w+ )?tools?\b"
    r"|\btools? (?:of|from|on) (?:an)?other (?:mcp )?servers?\b",
    re.IGNORECASE,
)
_VOWELS: Final = re.compile("[aeiouy_]")
_DOUBLE_LETTERS: Final = re.compile(r"(.)\1+")
_MIN_LETTERS: Final = 7
_MIN_CONSONANTS: Final = 4
_PRAISE_WORDS: Final = parse_word_set(
    "v2 v3 v4 2 new official secure safe better fast faster pro plus real improved fixed verified trusted original next"
    " enhanced advanced super ultimate premium smart proxy patched"
)


@dataclass(frozen=True)
class ToolNameIndex:
    """The names of all tools there are, by how many servers have them. One for all servers of a board."""

    server_counts: Mapping[str, int]

    @cached_property
    def by_lookalike_key(self) -> Mapping[str, Sequence[str]]:
        """By what a reader might take them for."""
        found: dict[str, list[str]] = {}
        for name in sorted(self.server_counts):
            for key in _lookalike_keys(name):
                found.setdefault(key, []).append(name)
        return found

    @cached_property
    def hashes(self) -> frozenset[int]:
        """Of the names that a text may mention, as `mentions` has them."""
        return frozenset(hash(name) for name in self.server_counts if _SEVERAL_PARTS.search(name))

    @cached_property
    def token_pattern(self) -> re.Pattern[str]:
        """Nearly all names are of letters, digits, lines and underscores, which are found in less time."""
        return _PLAIN_TOKEN if all(_PLAIN_TOKEN.fullmatch(name) for name in self.server_counts) else _TOKEN

    def names_in(self, text: str) -> frozenset[str]:
        """Those that may stand in a text that has anything in it that joins the parts of a name."""
        if "_" not in text and "-" not in text and self.token_pattern is _PLAIN_TOKEN and not _CAMEL.search(text):
            return frozenset()
        return frozenset(
            self.server_counts.keys() & {token.strip("./:-") for token in self.token_pattern.findall(text)}
        )


@dataclass(frozen=True)
class OtherTools:
    """The tools of other servers, as one server's tools may speak of them."""

    names: ToolNameIndex
    own_names: frozenset[str] = frozenset()
    """Names of the server itself: what its texts say of those, they say of its own tools."""

    @staticmethod
    def build(others: Iterable[ToolSpec], own: Iterable[str] = ()) -> "OtherTools":
        mine = frozenset(own)
        return OtherTools(ToolNameIndex(Counter([*{spec.name for spec in others}, *mine])), mine)

    @cached_property
    def _own_hashes(self) -> frozenset[int]:
        return frozenset(map(hash, self.own_names))

    def _has(self, name: str) -> bool:
        return self.names.server_counts.get(name, 0) > (name in self.own_names)

    def _find_lookalike(self, key: str) -> str | None:
        return next((name for name in self.names.by_lookalike_key.get(key, ()) if self._has(name)), None)

    def name_marks(self, name: str) -> Iterator[TextMark]:
        """A plain word such as `search` is everybody's. Another case or separator is a habit; letters of another
        alphabet are a disguise."""
        if self._has(name) and _SEVERAL_PARTS.search(name):
            yield TextMark(False, ScanFindingKind.SHADOWING, "is also the name of another server's tool")
        elif (other := self._find_lookalike(lookalike_key(name))) is not None and other != name:
            what = f"looks like {make_excerpt(other)}, a tool of another server"
            yield TextMark(not name.isascii(), ScanFindingKind.SHADOWING, what, excerpt_around(other, 0, len(other)))
        elif (other := self._find_similar_name(name)) is not None:
            what = f"resembles {make_excerpt(other)}, a tool of another server"
            yield TextMark(False, ScanFindingKind.SHADOWING, what, excerpt_around(other, 0, len(other)))

    def _find_similar_name(self, name: str) -> str | None:
        for key in (*_lookalike_keys(name)[1:], *_without_praise(name)):
            other = self._find_lookalike(key)
            if (
                other is not None
                and other not in self.own_names
                and not _is_plural(lookalike_key(name), lookalike_key(other))
            ):
                return other
        return None

    def may_be_mentioned(self, mentions: Iterable[int]) -> bool:
        """Whether a text that has these `mentions` can be about a stranger."""
        found = self.names.hashes.intersection(mentions)
        return bool(found) and not found <= self._own_hashes

    def mention_marks(self, text: str) -> Iterator[TextMark]:
        """Of a plain word nobody knows whether it names a tool; a name of several parts is one."""
        if (
            len(self.names.server_counts) > len(self.own_names)
            and "ther" in text
            and (found := _OTHER_SERVERS.search(text))
        ):
            what = "tells the model what to do with other servers' tools"
            yield TextMark(False, ScanFindingKind.SHADOWING, what, excerpt_around(text, found.start(), found.end()))
        theirs = {name for name in self.names.names_in(text) - self.own_names if _SEVERAL_PARTS.search(name)}
        if not theirs:
            return
        told: set[str] = set()
        for found in self.names.token_pattern.finditer(text):
            name = found.group().strip("./:-")
            if name not in theirs or name in told:
                continue
            told.add(name)
            against = (
                _REPLACEMENT_WORDS.search(text, max(0, found.start() - _NEAR_CHARS), found.end() + _NEAR_CHARS)
                is not None
            )
            what = "turns the model away from or around" if against else "mentions"
            what = f"{what} {make_excerpt(name)}, a tool of another server"
            yield TextMark(against, ScanFindingKind.SHADOWING, what, excerpt_around(text, found.start(), found.end()))


def mention_hashes(text: str) -> Iterator[int]:
    """Hashes of whatever in a text may be the name of a tool, of which few bytes are kept: that two names have one hash
    costs a second look and nothing else."""
    if "_" not in text and "-" not in text and not _SEPARATOR.search(text) and not _CAMEL.search(text):
        return
    pieces = " ".join(piece for piece in {*text.split()} if not (piece.isalnum() and piece.islower()))
    for token in {*_TOKEN.findall(pieces)}:
        name = token.strip("./:-")
        if _SEVERAL_PARTS.search(name):
            yield hash(name)
            if _SEPARATOR.search(name):
                yield from (hash(part.strip("-")) for part in _PLAIN_TOKEN.findall(name))


def speaks_of_others(text: str) -> bool:
    """Whether it speaks of the tools of other servers at large."""
    return "ther" in text and _OTHER_SERVERS.search(text) is not None


def other_tools(source: SourceKey, tools: Iterable[Tool]) -> OtherTools:
    """Who `others` are to every tool of this source: the tools of all other sources."""
    names, own = _index_names(tools)
    return OtherTools(names, frozenset(own.get(source, ())))


def other_tools_by_source(tools: Iterable[Tool]) -> Mapping[SourceKey, OtherTools]:
    """The same for every source at once, which is quicker when all of a board is scanned."""
    names, own = _index_names(tools)
    return {source: OtherTools(names, frozenset(mine)) for source, mine in own.items()}


def _index_names(tools: Iterable[Tool]) -> tuple[ToolNameIndex, Mapping[SourceKey, set[str]]]:
    own: dict[SourceKey, set[str]] = {}
    for tool in tools:
        own.setdefault(tool.id.source, set()).add(tool.spec.name)
    return ToolNameIndex(Counter(name for mine in own.values() for name in mine)), own


@lru_cache(maxsize=1 << 16)
def _lookalike_keys(name: str) -> tuple[str, ...]:
    """Forms that a misspelling leaves as they are. The first is of names that read the same."""
    alike = lookalike_key(name)
    letters = _DOUBLE_LETTERS.sub(r"\1", alike.replace("_", ""))
    if len(letters) < _MIN_LETTERS:
        return (alike,)
    turned = f"sorted:{''.join(sorted(letters))}"
    consonants = _VOWELS.sub("", alike)
    several = (f"consonants:{consonants}",) if len(consonants) >= _MIN_CONSONANTS else ()
    return alike, f"letters:{letters}", turned, *several


def _without_praise(name: str) -> Iterator[str]:
    parts = lookalike_key(name).split("_")
    plain = [part for part in parts if part not in _PRAISE_WORDS]
    if plain and len(plain) < len(parts):
        alike = "_".join(plain)
        yield alike
        yield alike.removesuffix("s")


def _is_plural(one: str, other: str) -> bool:
    """Two servers may well have `get_user` and `get_users`."""
    return one.removesuffix("s") == other.removesuffix("s")
