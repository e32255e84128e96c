"""What a launch filter names in vain: a word without a wildcard that fits nothing is most often misspelt."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .catalogue import Catalogue, is_listing_known
from .ids import BuiltinKey, ServerKey, SourceKey
from .launch import LAUNCH_KINDS, LaunchFilter
from .pattern import Pattern, is_pattern
from .policy import Policy
from .prompting import BUILTINS
from .reference import closest_names


@dataclass(frozen=True, slots=True)
class UnmatchedLaunchEntry:
    member: str
    """`allow_tools` and its like."""
    text: str
    suggestions: tuple[str, ...]

    def __str__(self) -> str:
        hint = f" Did you mean {' or '.join(map(repr, self.suggestions))}?" if self.suggestions else ""
        return f"{self.text!r} under {self.member} fits nothing on the board.{hint}"


def unmatched_launch_entries(
    launch: LaunchFilter, catalogue: Catalogue, policy: Policy
) -> Iterator[UnmatchedLaunchEntry]:
    """In the order in which it is written. A tool counts as missing once all that may have it have told theirs."""
    sources = {*catalogue.listings, *policy.servers}
    for kind in LAUNCH_KINDS:
        allowance = {"builtins": launch.builtins, "servers": launch.servers, "tools": launch.tools}[kind]
        for way, patterns in (("allow", allowance.allow or ()), ("deny", allowance.deny)):
            for each in patterns:
                told = _explain_unmatched(kind, each, sources, catalogue)
                if told is not None:
                    yield UnmatchedLaunchEntry(f"{way}_{kind}", told[0], closest_names(*told))


def _explain_unmatched(
    kind: str, pattern: Pattern, sources: Collection[SourceKey], catalogue: Catalogue
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
    silent = any(not is_listing_known(word) for word in listings)
    return None if silent or pattern.name in names else (pattern.name, names)


def _names(source: SourceKey) -> tuple[str, ...]:
    if isinstance(source, BuiltinKey):
        return ()
    return (source.toolset, source.server, str(source)) if isinstance(source, ServerKey) else (str(source.toolset),)
