"""What a search for tools answers: callable ones first, and of locked ones just what may be told."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from typing import Final, Protocol, TypeAlias

from .ids import ToolId
from .policy import Policy
from .presentations.entries import compact_entry, full_entry
from .resolve import LockedTool, OpenTool, Resolution
from .sieve import FilteredResults, SearchFilters, filter_results
from .status import general_remedy
from .told import agent_visible_spec
from .tool import Json, JsonObject

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

    @property
    def filters(self) -> SearchFilters:
        return SearchFilters(
            self.read_only_only, self.exclude_destructive, self.exclude_open_world, self.server, self.toolset
        )


def search_tools(asked: ToolSearchQuery, resolution: Resolution, policy: Policy, rank: RankTools) -> JsonObject:
    """The whole answer, the same by every road. The limit counts callable tools, after filtering."""
    found = rank(asked.query, resolution.open_ids)
    passed = callable_results(asked, found, resolution)
    entries: list[Json] = []
    entry = compact_entry if asked.detail is AnswerDetail.COMPACT else full_entry
    for id in passed.tools[: asked.limit]:
        verdict = resolution.verdicts[id]
        assert isinstance(verdict, OpenTool)
        why: JsonObject = {"why": found.explain_rank(id)} if asked.explain else {}
        entries.append({**entry(verdict.visible_tool, resolution, policy), **why})
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
        "remediation": _remediation(verdicts),
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
        "left_out": {
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


def _remediation(locked: Sequence[LockedTool]) -> JsonObject:
    """In the words of a refused call, for any tool; where tools of one status have several remedies, each on a line of
    its own."""
    remedies: dict[str, dict[str, None]] = {}
    for verdict in locked:
        remedies.setdefault(verdict.status.value, {})[general_remedy(verdict.reason)] = None
    return {status: "\n".join(texts) for status, texts in remedies.items()}


def _notice(count: int) -> str:
    what = "1 matching tool exists but is locked" if count == 1 else f"{count} matching tools exist but are locked"
    return f"{what}. Search again with include_disabled to see which, why, and what unlocks them."
