"""Shadowing: a tool that takes another server's name, or tells how another server's tool is to be used."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from pegboard.core.ids import Source
from pegboard.core.tool import Tool, ToolSpec

from .excerpt import around, excerpt
from .finding import Kind, Mark
from .letters import lookalike
from .words import words_of

_TOKEN: Final = re.compile(r"[\w./:-]{1,128}")
_PLAIN_TOKEN: Final = re.compile(r"\w[\w-]{0,127}")
_JOINED: Final = re.compile(r"[./:]")
_CAMEL: Final = re.compile("[a-z][A-Z]")
_SEVERAL_PARTS: Final = re.compile(r"[_./:-]|[a-z][A-Z]")
_AGAINST: Final = re.compile(
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
_NEAR: Final = 80
_EVERYONE: Final = re.compile(
    r"\b(?:other|another|any other|all other) (?:mcp )?(?:server|servers|provider|providers)(?:'s"
    r"|s')? (?:\w+ )?tools?\b"
    r"|\btools? (?:of|from|on) (?:an)?other (?:mcp )?servers?\b",
    re.IGNORECASE,
)
_VOWELS: Final = re.compile("[aeiouy_]")
_DOUBLED: Final = re.compile(r"(.)\1+")
_LEAST_LETTERS: Final = 7
_LEAST_CONSONANTS: Final = 4
_PRAISE: Final = words_of(
    "v2 v3 v4 2 new official secure safe better fast faster pro plus real improved fixed verified trusted original next"
    " enhanced advanced super ultimate premium smart proxy patched"
)


@dataclass(frozen=True)
class Names:
    """The names of all tools there are, by how many servers have them. One for all servers of a board."""

    servers: Mapping[str, int]

    @cached_property
    def alike(self) -> Mapping[str, Sequence[str]]:
        """By what a reader might take them for."""
        found: dict[str, list[str]] = {}
        for name in sorted(self.servers):
            for key in _keys(name):
                found.setdefault(key, []).append(name)
        return found

    @cached_property
    def hashes(self) -> frozenset[int]:
        """Of the names that a text may mention, as `mentions` has them."""
        return frozenset(hash(name) for name in self.servers if _SEVERAL_PARTS.search(name))

    @cached_property
    def token(self) -> re.Pattern[str]:
        """Nearly all names are of letters, digits, lines and underscores, which are found in less time."""
        return _PLAIN_TOKEN if all(_PLAIN_TOKEN.fullmatch(name) for name in self.servers) else _TOKEN

    def named(self, text: str) -> frozenset[str]:
        """Those that may stand in a text that has anything in it that joins the parts of a name."""
        if "_" not in text and "-" not in text and self.token is _PLAIN_TOKEN and not _CAMEL.search(text):
            return frozenset()
        return frozenset(self.servers.keys() & {token.strip("./:-") for token in self.token.findall(text)})


@dataclass(frozen=True)
class Strangers:
    """The tools of other servers, as one server's tools may speak of them."""

    names: Names
    own: frozenset[str] = frozenset()
    """Names of the server itself: what its texts say of those, they say of its own tools."""

    @staticmethod
    def of(others: Iterable[ToolSpec], own: Iterable[str] = ()) -> "Strangers":
        mine = frozenset(own)
        return Strangers(Names(Counter([*{spec.name for spec in others}, *mine])), mine)

    @cached_property
    def _own_hashes(self) -> frozenset[int]:
        return frozenset(map(hash, self.own))

    def _has(self, name: str) -> bool:
        return self.names.servers.get(name, 0) > (name in self.own)

    def _alike(self, key: str) -> str | None:
        return next((name for name in self.names.alike.get(key, ()) if self._has(name)), None)

    def taken(self, name: str) -> Iterator[Mark]:
        """A plain word such as `search` is everybody's. Another case or separator is a habit; letters of another
        alphabet are a disguise."""
        if self._has(name) and _SEVERAL_PARTS.search(name):
            yield Mark(False, Kind.SHADOWING, "is also the name of another server's tool")
        elif (other := self._alike(lookalike(name))) is not None and other != name:
            what = f"looks like {excerpt(other)}, a tool of another server"
            yield Mark(not name.isascii(), Kind.SHADOWING, what, around(other, 0, len(other)))
        elif (other := self._resembled(name)) is not None:
            what = f"resembles {excerpt(other)}, a tool of another server"
            yield Mark(False, Kind.SHADOWING, what, around(other, 0, len(other)))

    def _resembled(self, name: str) -> str | None:
        for key in (*_keys(name)[1:], *_without_praise(name)):
            other = self._alike(key)
            if other is not None and other not in self.own and not _is_plural(lookalike(name), lookalike(other)):
                return other
        return None

    def may_be_mentioned(self, mentions: Iterable[int]) -> bool:
        """Whether a text that has these `mentions` can be about a stranger."""
        found = self.names.hashes.intersection(mentions)
        return bool(found) and not found <= self._own_hashes

    def mentioned(self, text: str) -> Iterator[Mark]:
        """Of a plain word nobody knows whether it names a tool; a name of several parts is one."""
        if len(self.names.servers) > len(self.own) and "ther" in text and (found := _EVERYONE.search(text)):
            what = "tells the model what to do with other servers' tools"
            yield Mark(False, Kind.SHADOWING, what, around(text, found.start(), found.end()))
        theirs = {name for name in self.names.named(text) - self.own if _SEVERAL_PARTS.search(name)}
        if not theirs:
            return
        told: set[str] = set()
        for found in self.names.token.finditer(text):
            name = found.group().strip("./:-")
            if name not in theirs or name in told:
                continue
            told.add(name)
            against = _AGAINST.search(text, max(0, found.start() - _NEAR), found.end() + _NEAR) is not None
            what = "turns the model away from or around" if against else "mentions"
            what = f"{what} {excerpt(name)}, a tool of another server"
            yield Mark(against, Kind.SHADOWING, what, around(text, found.start(), found.end()))


def mentions(text: str) -> Iterator[int]:
    """Hashes of whatever in a text may be the name of a tool, of which few bytes are kept: that two names have one hash
    costs a second look and nothing else."""
    if "_" not in text and "-" not in text and not _JOINED.search(text) and not _CAMEL.search(text):
        return
    pieces = " ".join(piece for piece in {*text.split()} if not (piece.isalnum() and piece.islower()))
    for token in {*_TOKEN.findall(pieces)}:
        name = token.strip("./:-")
        if _SEVERAL_PARTS.search(name):
            yield hash(name)
            if _JOINED.search(name):
                yield from (hash(part.strip("-")) for part in _PLAIN_TOKEN.findall(name))


def speaks_of_others(text: str) -> bool:
    """Whether it speaks of the tools of other servers at large."""
    return "ther" in text and _EVERYONE.search(text) is not None


def strangers(source: Source, tools: Iterable[Tool]) -> Strangers:
    """Who `others` are to every tool of this source: the tools of all other sources."""
    names, own = _names(tools)
    return Strangers(names, frozenset(own.get(source, ())))


def strangers_of_each(tools: Iterable[Tool]) -> Mapping[Source, Strangers]:
    """The same for every source at once, which is quicker when all of a board is scanned."""
    names, own = _names(tools)
    return {source: Strangers(names, frozenset(mine)) for source, mine in own.items()}


def _names(tools: Iterable[Tool]) -> tuple[Names, Mapping[Source, set[str]]]:
    own: dict[Source, set[str]] = {}
    for tool in tools:
        own.setdefault(tool.id.source, set()).add(tool.spec.name)
    return Names(Counter(name for mine in own.values() for name in mine)), own


@lru_cache(maxsize=1 << 16)
def _keys(name: str) -> tuple[str, ...]:
    """Forms that a misspelling leaves as they are. The first is of names that read the same."""
    alike = lookalike(name)
    letters = _DOUBLED.sub(r"\1", alike.replace("_", ""))
    if len(letters) < _LEAST_LETTERS:
        return (alike,)
    turned = f"sorted:{''.join(sorted(letters))}"
    consonants = _VOWELS.sub("", alike)
    several = (f"consonants:{consonants}",) if len(consonants) >= _LEAST_CONSONANTS else ()
    return alike, f"letters:{letters}", turned, *several


def _without_praise(name: str) -> Iterator[str]:
    parts = lookalike(name).split("_")
    plain = [part for part in parts if part not in _PRAISE]
    if plain and len(plain) < len(parts):
        alike = "_".join(plain)
        yield alike
        yield alike.removesuffix("s")


def _is_plural(one: str, other: str) -> bool:
    """Two servers may well have `get_user` and `get_users`."""
    return one.removesuffix("s") == other.removesuffix("s")
