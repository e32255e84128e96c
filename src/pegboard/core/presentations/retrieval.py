"""`retrieve_tools`: open tools first, locked ones with what agents may know."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from itertools import chain, islice
from typing import Final, Protocol, TypeAlias

from pegboard.core.decision.resolve import LockedTool, OpenTool, Resolution
from pegboard.core.decision.status import general_remedy
from pegboard.core.decision.visibility import agent_visible_spec
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ServerKey, SourceKey, ToolId
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.entries import compact_entry, full_entry

# The filters of a search: what each leaves out of the tools that were found, and the account of it.

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


DEFAULT_RESULTS: Final = 10
"""How many callable tools an answer holds when nobody says."""

MAX_RESULTS: Final = 100
MAX_LOCKED_RESULTS: Final = 10
BLANK_QUERY_TEXT: Final = "this is blank; say in a few words what you want to do"
MAX_QUERY_CHARS: Final = 2_000

_PUNCTUATION: Final = "\"'`.,;!?()[]{}<>"
_NAME_JOINERS: Final = frozenset("_:")


class SearchMatches(Protocol):
    """What a query finds among some tools. What is not among them changes nothing of that."""

    @property
    def ranker(self) -> str:
        """`lexical`: by words alone. `hybrid`: by words and meaning."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[ToolId]:
        """The best first."""
        ...

    def __contains__(self, id: object, /) -> bool: ...

    def explain_rank(self, id: ToolId) -> JsonObject:
        """What made its rank."""
        ...

    def score_parts(self, id: ToolId) -> Mapping[str, float]:
        """What its score is piled up from."""
        ...

    def query_words(self) -> JsonObject:
        """The words of the query, by what became of them."""
        ...


RankTools: TypeAlias = Callable[[str, Collection[ToolId]], SearchMatches]
"""Asked with the same collection again, it may remember what follows from it."""


class AnswerDetail(StrEnum):
    """How much an answer tells of each tool that can be called."""

    COMPACT = "compact"
    """A line: its parameters with their types, and the first sentence of what it does."""
    FULL = "full"
    """Its whole description, input schema and annotations."""


def query_schemas(
    limit: str, usual: int, most: int, query: str = "What you want to do, in a few words; or a part of a tool's name."
) -> dict[str, JsonObject]:
    """What every tool that searches takes: a query, and how many results at the most."""
    return {
        "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS, "description": query},
        "limit": {"type": "integer", "minimum": 1, "maximum": most, "default": usual, "description": limit},
    }


@dataclass(frozen=True)
class ToolSearchQuery:
    query: str
    limit: int = DEFAULT_RESULTS
    include_disabled: bool = False
    read_only_only: bool = False
    exclude_destructive: bool = False
    exclude_open_world: bool = False
    server: str = ""
    toolset: str = ""
    explain: bool = False
    """Whether to tell why each tool stands where it does, and what was left out."""
    detail: AnswerDetail = AnswerDetail.COMPACT
    audience: Audience = Audience.AGENT
    """Who reads what opens a locked tool."""

    @property
    def filters(self) -> SearchFilters:
        return SearchFilters(
            self.read_only_only, self.exclude_destructive, self.exclude_open_world, self.server, self.toolset
        )


def search_tools(asked: ToolSearchQuery, resolution: Resolution, policy: Policy, rank: RankTools) -> JsonObject:
    """The whole answer, the same by every road to the same reader. The limit counts callable tools, after filtering."""
    found = rank(asked.query, resolution.open_ids)
    passed = callable_results(asked, found, resolution)
    entries: list[Json] = []
    entry = compact_entry if asked.detail is AnswerDetail.COMPACT else full_entry
    for id in passed.tools[: asked.limit]:
        verdict = resolution.verdicts[id]
        assert isinstance(verdict, OpenTool)
        explanation: JsonObject = {"explanation": found.explain_rank(id)} if asked.explain else {}
        entries.append({**entry(verdict.visible_tool, resolution, policy), **explanation})
    answer: JsonObject = {"tools": entries, "ranker": found.ranker}
    if passed.excluded_count:
        answer["filter_diagnostics"] = passed.diagnostics
    if asked.explain:
        answer["explanation"] = _explanation(asked, found, passed, resolution, rank)
    if not passed.tools and (unknown := asked.filters.describe_unknown(id.source for id in resolution.names)):
        return {**answer, "notice": unknown}
    named = [id for id in _tools_named_in(asked.query, resolution) if isinstance(resolution.verdicts[id], LockedTool)]
    if passed.tools and not asked.include_disabled and not named:
        return answer
    locked = locked_results(asked, resolution, policy, rank)
    if asked.include_disabled and locked.excluded_count:
        answer["filter_diagnostics"] = {**passed.diagnostics, "locked": locked.diagnostics}
    if not locked.tools:
        return answer
    if not asked.include_disabled:
        # Whoever names a locked tool wants that one, and not what else fits its words.
        count = sum(id in named for id in locked.tools) if passed.tools else locked.count
        return {**answer, "notice": _notice(count)} if count else answer
    shown = [resolution.verdicts[id] for id in locked.tools[: min(asked.limit, MAX_LOCKED_RESULTS)]]
    verdicts = [verdict for verdict in shown if isinstance(verdict, LockedTool)]
    return {
        **answer,
        "disabled": [_locked_entry(verdict, resolution, policy) for verdict in verdicts],
        "remediation": _remediation(verdicts, asked.audience),
    }


def callable_results(asked: ToolSearchQuery, found: SearchMatches, resolution: Resolution) -> FilteredResults:
    first = [id for id in _tools_named_in(asked.query, resolution) if isinstance(resolution.verdicts[id], OpenTool)]
    order, count = _put_named_first(first, found)
    if not asked.filters.is_any_set:
        return FilteredResults(count, [*islice(order, asked.limit)], count)
    shown = (
        (id, verdict.visible_tool.spec) for id in order if isinstance(verdict := resolution.verdicts[id], OpenTool)
    )
    return filter_results(asked.filters, shown)


def locked_results(asked: ToolSearchQuery, resolution: Resolution, policy: Policy, rank: RankTools) -> FilteredResults:
    found = rank(asked.query, resolution.locked_ids)
    first = [id for id in _tools_named_in(asked.query, resolution) if isinstance(resolution.verdicts[id], LockedTool)]
    order, count = _put_named_first(first, found)
    if not asked.filters.is_any_set:
        return FilteredResults(count, [*islice(order, MAX_LOCKED_RESULTS)], count)
    readable = ((id, agent_visible_spec(resolution.verdicts[id].tool, policy)) for id in order)
    return filter_results(asked.filters, readable, locked=True)


def _tools_named_in(query: str, resolution: Resolution) -> Sequence[ToolId]:
    """The tools whose name in this caller's list, or whose id, the query is or has in it."""
    written = (
        query.strip(),
        *(word.strip(_PUNCTUATION) for word in query.split() if not _NAME_JOINERS.isdisjoint(word)),
    )
    ids = (resolution.find_tool(name) for name in dict.fromkeys(written) if name)
    return [*dict.fromkeys(id for id in ids if id is not None)]


def _put_named_first(first: Sequence[ToolId], found: SearchMatches) -> tuple[Iterator[ToolId], int]:
    """In order, and how many."""
    order = chain(first, (id for id in found if id not in first))
    return order, len(found) + sum(id not in found for id in first)


def _explanation(
    asked: ToolSearchQuery, found: SearchMatches, passed: FilteredResults, resolution: Resolution, rank: RankTools
) -> JsonObject:
    shown = min(len(passed.tools), asked.limit)
    return {
        "words": found.query_words(),
        "searched": len(resolution.open_ids),
        "matched": passed.match_count,
        "shown": shown,
        "omitted": {
            "by_filters": passed.excluded_count,
            "by_limit": passed.count - shown,
            "locked": len(rank(asked.query, resolution.locked_ids)),
        },
    }


def _locked_entry(verdict: LockedTool, resolution: Resolution, policy: Policy) -> JsonObject:
    id = verdict.tool.id
    spec, written = agent_visible_spec(verdict.tool, policy), policy.overrides.for_tool(id).description_override
    description = "" if spec is None else spec.description if written is None else written
    return {
        "name": resolution.names[id],
        "server": str(id.source),
        "description": description,
        "status": verdict.status.value,
    }


def _remediation(locked: Sequence[LockedTool], audience: Audience) -> JsonObject:
    """In the words of a refused call, for any tool; where tools of one status have several remedies, each on a line of
    its own."""
    remedies: dict[str, dict[str, None]] = {}
    for verdict in locked:
        remedies.setdefault(verdict.status.value, {})[general_remedy(verdict.reason, audience)] = None
    return {status: "\n".join(texts) for status, texts in remedies.items()}


def _notice(count: int) -> str:
    what = "1 matching tool exists but is locked" if count == 1 else f"{count} matching tools exist but are locked"
    return f"{what}. Search again with include_disabled to see which, why, and what unlocks them."
