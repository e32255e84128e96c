"""What a model is told before its first turn: which format it speaks, what is searched for it, which tools it is shown.

In this order: capabilities, the automatic search, the prompt, the tools of the request.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pegboard.core.call import looked_up, refusal_text
from pegboard.core.deferral import Materialised, shown, standing
from pegboard.core.ids import ToolId
from pegboard.core.presentations.kept import kept
from pegboard.core.resolve import Open, Resolution
from pegboard.gateway.automatic import automatic_search
from pegboard.gateway.gateway import Gateway
from pegboard.prompts.automatic import Decision, Step
from pegboard.prompts.model import Model

from .asked import Asked, Choose, ChooseOne, Who
from .native import NativeSpeech
from .offering import Offering, offering
from .speech import Speech

SETTLE: Final = 3.0
"""Seconds that an answer waits for servers that are starting: what is not listed yet cannot be found."""


@dataclass(frozen=True)
class Plan:
    speech: Speech
    model: Model
    system: str
    found: Materialised
    decisions: tuple[Decision, ...]
    seconds: float
    """That the search took."""
    waits: bool = False
    """Whether some call waits for a person."""

    def after(self, found: tuple[ToolId, ...], ticket: str | None) -> "Plan":
        """What the model itself found is shown from now on; and how to wait for a person, once one must decide."""
        plan = self if ticket is None or self.waits else replace(self, waits=True)
        return replace(plan, found=plan.found.with_found(found, plan.model.most_found)) if found else plan


@dataclass(frozen=True, slots=True)
class NoTool:
    """The client wants a tool called that it cannot have."""

    why: str


async def planned(gateway: Gateway, asked: Asked, who: Who, model: Model) -> Plan | NoTool:
    await gateway.settled(SETTLE)
    wanted = _wanted(gateway, asked, who)
    if isinstance(wanted, NoTool):
        return wanted
    started = anyio.current_time()
    none = asked.choice is Choose.NEVER
    searched = await automatic_search(gateway, who.view, asked.last_words, model, is_on=not none)
    found = searched.found if wanted is None else searched.found.with_found((wanted,), model.most_found)
    return Plan(NativeSpeech(), model, "", found, searched.decisions, anyio.current_time() - started)


def _wanted(gateway: Gateway, asked: Asked, who: Who) -> ToolId | NoTool | None:
    """The tool of the board that the model is to call: it is shown whatever the search finds."""
    if not isinstance(asked.choice, ChooseOne) or any(tool.name == asked.choice.name for tool in asked.tools):
        return None
    found = looked_up(asked.choice.name, gateway.board.resolution(who.view))
    return found.tool.id if isinstance(found, Open) else NoTool(refusal_text(found))


def offered(gateway: Gateway, asked: Asked, who: Who, plan: Plan) -> Offering:
    """On the board as it is now: a tool that was locked meanwhile is not shown again."""
    if asked.choice is Choose.NEVER:
        return Offering(())
    board = gateway.board
    resolution = board.resolution(who.view)
    always = kept(resolution, board.policy.declared.presenting, ()).values()
    told = shown(resolution, standing(resolution, {*always}), plan.found)
    asks = plan.waits or any(_confirms(resolution, id) for id in told.tools)
    return offering(
        asked.tools,
        _reasons(told.tools, plan),
        resolution,
        board.policy,
        searches=told.deferred,
        waits=asks,
    )


def _confirms(resolution: Resolution, id: ToolId) -> bool:
    verdict = resolution.verdicts.get(id)
    return isinstance(verdict, Open) and verdict.confirm


def _reasons(ids: tuple[ToolId, ...], plan: Plan) -> Iterator[tuple[ToolId, str]]:
    why = {decision.subject: decision.why for decision in plan.decisions if decision.step is Step.FOUND}
    for id in ids:
        if id in plan.found.ids:
            yield id, why.get(str(id), "the model found it with tool_search")
        else:
            yield id, "it is shown always"
