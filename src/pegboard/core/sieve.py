"""The filters of a search: what each leaves out of the tools that were found, and the account of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from .ids import ServerKey, SourceKey, ToolId
from .tool import Json, JsonObject, ToolSpec

_HINTS: Final = {
    "read_only_only": "readOnlyHint",
    "exclude_destructive": "destructiveHint",
    "exclude_open_world": "openWorldHint",
}
"""The annotation that each filter looks at."""

_PLACE_FILTERS: Final = ("server", "toolset")

_SPEC_WITHOUT_ANNOTATIONS: Final = ToolSpec("")
"""Of what is withheld nothing is claimed: the protocol's defaults hold for it."""

_SUGGESTION: Final = (
    "A tool without the annotation that a filter looks at is left out, whatever it does. "
    "Search without the filter to see it."
)
_MAX_SUGGESTIONS: Final = 3


@dataclass(frozen=True)
class SearchFilters:
    """Empty text is no filter."""

    read_only_only: bool = False
    exclude_destructive: bool = False
    exclude_open_world: bool = False
    server: str = ""
    """A server's key, its id alone, or the id of a toolset that brings its own tools."""
    toolset: str = ""

    @property
    def is_any_set(self) -> bool:
        return self != _NO_FILTERS

    def filters_excluding(self, id: ToolId, spec: ToolSpec | None) -> Sequence[str]:
        """The filters that leave this tool out. Annotations are claims; where one is missing, the protocol's default
        is."""
        hides = {
            "server": bool(self.server) and self.server not in _source_names(id.source),
            "toolset": bool(self.toolset) and self.toolset != id.toolset,
        }
        if self.read_only_only or self.exclude_destructive or self.exclude_open_world:
            hints = (spec or _SPEC_WITHOUT_ANNOTATIONS).hints
            hides |= {
                "read_only_only": self.read_only_only and not hints.read_only,
                "exclude_destructive": self.exclude_destructive and hints.destructive and not hints.read_only,
                "exclude_open_world": self.exclude_open_world and hints.open_world,
            }
        return [name for name, hidden in hides.items() if hidden]

    def describe_unknown(self, known: Iterable[SourceKey]) -> str:
        """What a filter names that is in nobody's sight here, with what is near; empty where all is known."""
        sources = {*known}
        servers = {name for source in sources for name in _source_names(source)}
        toolsets = {str(source.toolset) for source in sources}
        told = (
            _describe_unknown_name("server", self.server, servers),
            _describe_unknown_name("toolset", self.toolset, toolsets),
        )
        return " ".join(filter(None, told))


_NO_FILTERS: Final = SearchFilters()


@dataclass(frozen=True)
class FilteredResults:
    """What was found, filter by filter."""

    match_count: int
    tools: Sequence[ToolId]
    """The best of those that passed: all of them, where anything was filtered."""
    count: int
    """How many passed."""
    tallies: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])

    @property
    def excluded_count(self) -> int:
        return self.match_count - self.count

    @property
    def diagnostics(self) -> JsonObject:
        """How many each filter left out: because the tool says so, because it says nothing, or by where it is."""
        order = (*_HINTS, *_PLACE_FILTERS)
        by_filter: JsonObject = {name: {**self.tallies[name]} for name in order if name in self.tallies}
        told: JsonObject = {
            "matched_before_filters": self.match_count,
            "omitted_total": self.excluded_count,
            "omitted_by_filter": by_filter,
        }
        # Of locked tools, which may be withheld, no advice is given.
        if any(tally.get("missing_annotation") and "withheld" not in tally for tally in self.tallies.values()):
            told["suggestion"] = _SUGGESTION
        return told


def filter_results(
    filters: SearchFilters, found: Iterable[tuple[ToolId, ToolSpec | None]], *, locked: bool = False
) -> FilteredResults:
    """The tools that pass, in their order. What nobody has approved is withheld, its annotations too, and claims
    nothing; only of locked tools is that counted."""
    kept: list[ToolId] = []
    tallies: dict[str, dict[str, int]] = {}
    matched = 0
    for id, spec in found:
        matched += 1
        hiding = filters.filters_excluding(id, spec)
        for name in hiding:
            tally = tallies.setdefault(name, _empty_tally(name, locked))
            tally[_exclusion_cause(name, spec)] += 1
        if not hiding:
            kept.append(id)
    return FilteredResults(matched, kept, len(kept), tallies)


def _empty_tally(name: str, locked: bool) -> dict[str, int]:
    if name in _PLACE_FILTERS:
        return {"elsewhere": 0}
    return {**({"withheld": 0} if locked else {}), "missing_annotation": 0, "explicit": 0}


def _exclusion_cause(name: str, spec: ToolSpec | None) -> str:
    if name in _PLACE_FILTERS:
        return "elsewhere"
    if spec is None:
        return "withheld"
    return "explicit" if _claims(spec.annotations, _HINTS[name]) else "missing_annotation"


def _claims(annotations: Mapping[str, Json] | None, hint: str) -> bool:
    return annotations is not None and isinstance(annotations.get(hint), bool)


def _source_names(source: SourceKey) -> tuple[str, ...]:
    return (str(source), source.server) if isinstance(source, ServerKey) else (str(source),)


def _describe_unknown_name(kind: str, text: str, known: set[str]) -> str:
    if not text or text in known:
        return ""
    near = get_close_matches(text, sorted(known), _MAX_SUGGESTIONS)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else " Leave the filter out to search everywhere."
    return f"There is no {kind} {text!r} here.{hint}"
