"""What a launch filter names in vain: a word without a wildcard that fits nothing is most often misspelt."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .catalogue import Catalogue, is_known
from .ids import BuiltinKey, ServerKey, Source
from .launch import KINDS, LaunchFilter
from .pattern import Pattern, is_pattern
from .policy import Policy
from .prompting import BUILTINS
from .reference import closest


@dataclass(frozen=True, slots=True)
class Vain:
    member: str
    """`allow_tools` and its like."""
    text: str
    near: tuple[str, ...]

    def __str__(self) -> str:
        hint = f" Did you mean {' or '.join(map(repr, self.near))}?" if self.near else ""
        return f"{self.text!r} under {self.member} fits nothing on the board.{hint}"


def named_in_vain(launch: LaunchFilter, catalogue: Catalogue, policy: Policy) -> Iterator[Vain]:
    """In the order in which it is written. A tool counts as missing once all that may have it have told theirs."""
    sources = {*catalogue.listings, *policy.servers}
    for kind in KINDS:
        allowance = {"builtins": launch.builtins, "servers": launch.servers, "tools": launch.tools}[kind]
        for way, patterns in (("allow", allowance.allow or ()), ("deny", allowance.deny)):
            for each in patterns:
                told = _vain(kind, each, sources, catalogue)
                if told is not None:
                    yield Vain(f"{way}_{kind}", told[0], closest(*told))


def _vain(
    kind: str, pattern: Pattern, sources: Collection[Source], catalogue: Catalogue
) -> tuple[str, set[str]] | None:
    """What was written, and what may have been meant; `None` where it is not in vain."""
    if kind == "builtins":
        return None if is_pattern(pattern.name) or pattern.name in BUILTINS else (pattern.name, {*BUILTINS})
    scopes = {name for source in sources for name in _names(source)}
    if not is_pattern(pattern.scope) and pattern.scope not in scopes:
        return (pattern.scope if kind == "servers" else str(pattern)), scopes
    if kind == "servers" or is_pattern(pattern.name):
        return None
    listings = [word for source, word in catalogue.listings.items() if pattern.matches_source(source)]
    names = {tool.id.name for word in listings for tool in word.tools}
    silent = any(not is_known(word) for word in listings)
    return None if silent or pattern.name in names else (pattern.name, names)


def _names(source: Source) -> tuple[str, ...]:
    if isinstance(source, BuiltinKey):
        return ()
    return (source.toolset, source.server, str(source)) if isinstance(source, ServerKey) else (str(source.toolset),)
