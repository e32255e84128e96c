"""What a search for tools answers: callable ones first, and of locked ones just what may be told."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from typing import Final, Protocol, TypeAlias

from .ids import ToolId
from .policy import Policy
from .presentations.entries import compact, full
from .resolve import Locked, Open, Resolution
from .sieve import Filters, Sieved, sieved
from .status import general_remedy
from .told import told
from .tool import Json, JsonObject

FEW: Final = 10
"""How many callable tools an answer holds when nobody says."""

MOST: Final = 100
MOST_LOCKED: Final = 10
BLANK: Final = "this is blank; say in a few words what you want to do"
LONGEST_QUERY: Final = 2_000

_AROUND: Final = "\"'`.,;!?()[]{}<>"
_JOINTS: Final = frozenset("_:")


class Found(Protocol):
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

    def why(self, id: ToolId) -> JsonObject:
        """What made its rank."""
        ...

    def stack(self, id: ToolId) -> Mapping[str, float]:
        """What its score is piled up from."""
        ...

    def heard(self) -> JsonObject:
        """The words of the query, by what became of them."""
        ...


Rank: TypeAlias = Callable[[str, Collection[ToolId]], Found]
"""Asked with the same collection again, it may remember what follows from it."""


class Detail(StrEnum):
    """How much an answer tells of each tool that can be called."""

    COMPACT = "compact"
    """A line: its parameters with their types, and the first sentence of what it does."""
    FULL = "full"
    """Its whole description, input schema and annotations."""


@dataclass(frozen=True)
class Retrieval:
    query: str
    limit: int = FEW
    include_disabled: bool = False
    read_only_only: bool = False
    exclude_destructive: bool = False
    exclude_open_world: bool = False
    server: str = ""
    toolset: str = ""
    explain: bool = False
    """Whether to tell why each tool stands where it does, and what was left out."""
    detail: Detail = Detail.COMPACT

    @property
    def filters(self) -> Filters:
        return Filters(
            self.read_only_only, self.exclude_destructive, self.exclude_open_world, self.server, self.toolset
        )


def retrieved(asked: Retrieval, resolution: Resolution, policy: Policy, rank: Rank) -> JsonObject:
    """The whole answer, the same by every road. The limit counts callable tools, after filtering."""
    found = rank(asked.query, resolution.open_ids)
    passed = callable_ones(asked, found, resolution)
    entries: list[Json] = []
    entry = compact if asked.detail is Detail.COMPACT else full
    for id in passed.kept[: asked.limit]:
        verdict = resolution.verdicts[id]
        assert isinstance(verdict, Open)
        why: JsonObject = {"why": found.why(id)} if asked.explain else {}
        entries.append({**entry(verdict.shown, resolution, policy), **why})
    answer: JsonObject = {"tools": entries, "ranker": found.ranker}
    if passed.left_out:
        answer["filter_diagnostics"] = passed.diagnostics
    if asked.explain:
        answer["explanation"] = _explanation(asked, found, passed, resolution, rank)
    if not passed.kept and (unknown := asked.filters.unknown(id.source for id in resolution.names)):
        return {**answer, "notice": unknown}
    named = [id for id in _meant(asked.query, resolution) if isinstance(resolution.verdicts[id], Locked)]
    if passed.kept and not asked.include_disabled and not named:
        return answer
    locked = locked_ones(asked, resolution, policy, rank)
    if asked.include_disabled and locked.left_out:
        answer["filter_diagnostics"] = {**passed.diagnostics, "locked": locked.diagnostics}
    if not locked.kept:
        return answer
    if not asked.include_disabled:
        # Whoever names a locked tool wants that one, and not what else fits its words.
        count = sum(id in named for id in locked.kept) if passed.kept else locked.count
        return {**answer, "notice": _notice(count)} if count else answer
    shown = [resolution.verdicts[id] for id in locked.kept[: min(asked.limit, MOST_LOCKED)]]
    verdicts = [verdict for verdict in shown if isinstance(verdict, Locked)]
    return {
        **answer,
        "disabled": [_locked_entry(verdict, resolution, policy) for verdict in verdicts],
        "remediation": _remediation(verdicts),
    }


def callable_ones(asked: Retrieval, found: Found, resolution: Resolution) -> Sieved:
    first = [id for id in _meant(asked.query, resolution) if isinstance(resolution.verdicts[id], Open)]
    order, count = _named_first(first, found)
    if not asked.filters.any:
        return Sieved(count, [*islice(order, asked.limit)], count)
    shown = ((id, verdict.shown.spec) for id in order if isinstance(verdict := resolution.verdicts[id], Open))
    return sieved(asked.filters, shown)


def locked_ones(asked: Retrieval, resolution: Resolution, policy: Policy, rank: Rank) -> Sieved:
    found = rank(asked.query, resolution.locked_ids)
    first = [id for id in _meant(asked.query, resolution) if isinstance(resolution.verdicts[id], Locked)]
    order, count = _named_first(first, found)
    if not asked.filters.any:
        return Sieved(count, [*islice(order, MOST_LOCKED)], count)
    readable = ((id, told(resolution.verdicts[id].tool, policy)) for id in order)
    return sieved(asked.filters, readable, locked=True)


def _meant(query: str, resolution: Resolution) -> Sequence[ToolId]:
    """The tools whose name in this caller's list, or whose id, the query is or has in it."""
    written = (query.strip(), *(word.strip(_AROUND) for word in query.split() if not _JOINTS.isdisjoint(word)))
    ids = (resolution.called(name) for name in dict.fromkeys(written) if name)
    return [*dict.fromkeys(id for id in ids if id is not None)]


def _named_first(first: Sequence[ToolId], found: Found) -> tuple[Iterator[ToolId], int]:
    """In order, and how many."""
    order = chain(first, (id for id in found if id not in first))
    return order, len(found) + sum(id not in found for id in first)


def _explanation(asked: Retrieval, found: Found, passed: Sieved, resolution: Resolution, rank: Rank) -> JsonObject:
    shown = min(len(passed.kept), asked.limit)
    return {
        "words": found.heard(),
        "searched": len(resolution.open_ids),
        "matched": passed.matched,
        "shown": shown,
        "left_out": {
            "by_filters": passed.left_out,
            "by_limit": passed.count - shown,
            "locked": len(rank(asked.query, resolution.locked_ids)),
        },
    }


def _locked_entry(verdict: Locked, resolution: Resolution, policy: Policy) -> JsonObject:
    id = verdict.tool.id
    spec, written = told(verdict.tool, policy), policy.overrides.for_tool(id).description_override
    description = "" if spec is None else spec.description if written is None else written
    return {
        "name": resolution.names[id],
        "server": str(id.source),
        "description": description,
        "status": verdict.status.value,
    }


def _remediation(locked: Sequence[Locked]) -> JsonObject:
    """In the words of a refused call, for any tool; where tools of one status have several remedies, each on a line of
    its own."""
    remedies: dict[str, dict[str, None]] = {}
    for verdict in locked:
        remedies.setdefault(verdict.status.value, {})[general_remedy(verdict.reason)] = None
    return {status: "\n".join(texts) for status, texts in remedies.items()}


def _notice(count: int) -> str:
    what = "1 matching tool exists but is locked" if count == 1 else f"{count} matching tools exist but are locked"
    return f"{what}. Search again with include_disabled to see which, why, and what unlocks them."
