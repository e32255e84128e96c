"""The search before a model's first turn, on the board as it is: for surfaces that speak with models themselves."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from pegboard.core.deferral import MaterializedTools, always_shown_tools, conversation_tools
from pegboard.core.ids import ToolId
from pegboard.core.presentations.kept import pinned_tools
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.retrieval import MAX_QUERY_CHARS, MAX_RESULTS, ToolSearchQuery
from pegboard.core.view import View
from pegboard.prompts.automatic import AutomaticSearch, search_automatically, skip_search
from pegboard.prompts.model import Model

from .gateway import Gateway

NEAR_MISSES: Final = 5
"""How many tools that fit less well are told of, so that one that is missed can be explained."""


MAX_EARLIER_QUERIES: Final = 5
"""How many of the user's earlier messages are searched again: it bounds what a long conversation costs."""


async def automatic_search(
    gateway: Gateway,
    view: View,
    user_text: str,
    model: Model,
    *,
    earlier: Iterable[str] = (),
    called: Sequence[str] = (),
    found: MaterializedTools = MaterializedTools(),  # noqa: B008  a constant
    why_not: str | None = None,
) -> AutomaticSearch:
    """What this conversation has found once it was searched by what its user says. Opens nothing: who shows or calls
    what was found asks the board again.

    `earlier` is what the user said before and `called` names the tools that were called before, the latest first: they
    get the places that are left. `found` is what the conversation found before; `why_not` says why the model may not
    search, as a clause.
    """
    if why_not is not None:
        return skip_search(found, why_not)
    query = _query_of(user_text)
    distinct = dict.fromkeys(map(_query_of, earlier))
    queries = [*islice((each for each in distinct if each not in ("", query)), MAX_EARLIER_QUERIES)]
    if not query and not queries and not called:
        return skip_search(found, "the user has said nothing to search by")
    resolution = gateway.board.resolution(view)
    always = pinned_tools(resolution, gateway.board.policy.declared.presentation, ()).values()
    told = conversation_tools(resolution, always_shown_tools(resolution, {*always}), MaterializedTools())
    if not told.has_deferred:
        return skip_search(found, "no tool is deferred: whatever there is, is shown")
    most = model.max_found_tools
    ranked = await _rank_tools(gateway, view, query, most + len(told.tools) + NEAR_MISSES) if query else []
    used = [id for id in _open_tools(resolution, called) if id not in told.tools]
    candidates = {*ranked, *used}.difference(told.tools)
    before: list[list[ToolId]] = []
    for each in queries:
        if len(candidates) >= most:
            break
        before.append(await _rank_tools(gateway, view, each, most + len(told.tools)))
        candidates |= {*before[-1]}.difference(told.tools)
    return search_automatically(found, ranked, told.tools, model, called=used, earlier=before)


def _query_of(text: str) -> str:
    return text.strip()[:MAX_QUERY_CHARS].strip()


async def _rank_tools(gateway: Gateway, view: View, query: str, limit: int) -> list[ToolId]:
    """The tools that fit a query, the best first."""
    answer = await gateway.search.retrieve(ToolSearchQuery(query, min(MAX_RESULTS, limit)), view)
    resolution = gateway.board.resolution(view)
    entries = answer["tools"]
    assert isinstance(entries, list)
    named = (resolution.find_tool(str(entry["name"])) for entry in entries if isinstance(entry, dict))
    return [id for id in named if id is not None]


def _open_tools(resolution: Resolution, names: Sequence[str]) -> list[ToolId]:
    """A tool that is locked by now takes no place."""
    ids = dict.fromkeys(id for name in names if (id := resolution.find_tool(name)) is not None)
    return [id for id in ids if isinstance(resolution.verdicts.get(id), OpenTool)]
