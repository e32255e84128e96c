"""The search before a model's first turn, on the board as it is: for surfaces that speak with models themselves."""

from typing import Final

from pegboard.core.deferral import Materialised, shown, standing
from pegboard.core.presentations.kept import kept
from pegboard.core.retrieval import LONGEST_QUERY, MOST, Retrieval
from pegboard.core.view import View
from pegboard.prompts.automatic import Automatic, not_searched, searched
from pegboard.prompts.model import Model

from .gateway import Gateway

BESIDE: Final = 5
"""How many tools that fit less well are told of, so that one that is missed can be explained."""


async def automatic_search(
    gateway: Gateway,
    view: View,
    user_text: str,
    model: Model,
    *,
    found: Materialised = Materialised(),  # noqa: B008  a constant
    why_not: str | None = None,
) -> Automatic:
    """What this conversation has found once it was searched by what its user says. Opens nothing: who shows or calls
    what was found asks the board again.

    `found` is what the conversation found before; `why_not` says why the model
    may not search, as a clause.
    """
    if why_not is not None:
        return not_searched(found, why_not)
    query = user_text.strip()[:LONGEST_QUERY].strip()
    if not query:
        return not_searched(found, "the user has said nothing to search by")
    resolution = gateway.board.resolution(view)
    always = kept(resolution, gateway.board.policy.declared.presenting, ()).values()
    told = shown(resolution, standing(resolution, {*always}), Materialised())
    if not told.deferred:
        return not_searched(found, "no tool is deferred: whatever there is, is shown")
    limit = min(MOST, model.most_found + len(told.tools) + BESIDE)
    answer = await gateway.finder.retrieve(Retrieval(query, limit), view)
    entries = answer["tools"]
    assert isinstance(entries, list)
    named = (resolution.called(str(entry["name"])) for entry in entries if isinstance(entry, dict))
    return searched(found, [id for id in named if id is not None], told.tools, model)
