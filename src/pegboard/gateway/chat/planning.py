"""What a model is told before its first turn and, as it goes on, before each: by the board as it is then.

In one order: capabilities, the automatic search, the prompt, the tools of the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pegboard.core.call import looked_up, refusal_text
from pegboard.core.deferral import Materialised
from pegboard.core.ids import ToolId
from pegboard.core.prompting import Prompting
from pegboard.core.resolve import Open
from pegboard.core.view import View
from pegboard.gateway.automatic import automatic_search
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.prompting import capable, launched
from pegboard.prompts.automatic import Decision
from pegboard.prompts.building import Prompt, build
from pegboard.prompts.model import Model, model_facts
from pegboard.prompts.shapes import ToolShape

from .asked import Asked, Choose, ChooseOne, Who

SETTLE: Final = 3.0
"""Seconds that an answer waits for servers that are starting: what is not listed yet cannot be found."""
NO_TOOL_WANTED: Final = "the request wants no tool called: its tool_choice is none"


@dataclass(frozen=True, slots=True)
class NoTool:
    """The client wants a tool called that it cannot have."""

    why: str


@dataclass(frozen=True)
class Plan:
    view: View
    """As launch filters leave it: calls are made in it too."""
    model: Model
    settings: Prompting
    client: tuple[ToolShape, ...]
    found: Materialised
    decisions: tuple[Decision, ...]
    seconds: float
    """That the search took."""
    silent: bool
    """Whether the model is told of no tool."""
    waits: bool = False
    """Whether some call waits for a person."""
    refused: str | None = None
    """What the model server said when it was given tools, where it takes none."""

    def in_text(self, said: str) -> "Plan":
        """For a server that takes no tools: the model is told of them in its prompt."""
        return replace(self, model=_without_calling(self.model), refused=said)

    def after(self, found: tuple[ToolId, ...], ticket: str | None) -> "Plan":
        """What the model itself found is shown from now on; and how to wait for a person, once one must decide."""
        plan = self if ticket is None or self.waits else replace(self, waits=True)
        return replace(plan, found=plan.found.with_found(found, plan.model.most_found)) if found else plan

    def prompt(self, gateway: Gateway, *, without_tools: bool = False) -> Prompt:
        """On the board as it is now: a tool that was locked meanwhile is not shown again."""
        able = capable(gateway, self.view, self.model, self.settings, self.found)
        if without_tools or self.silent:
            able = replace(able, primary=None)
        overrides = gateway.board.policy.overrides
        return build(able, self.settings, overrides=overrides, client=self.client, waiting=self.waits)


async def planned(
    gateway: Gateway, asked: Asked, who: Who, named: str, refused: str | None = None, called: Sequence[str] = ()
) -> Plan | NoTool:
    """`refused` is what the model's server said before, when it was given tools; `called` are the tools that the
    conversation called before, the latest first."""
    await gateway.settled(SETTLE)
    settings = gateway.board.policy.declared.prompting
    view = launched(who.view, settings, asked.launch)
    # Beside the loop, because on a large board it takes longer than calls may wait.
    await gateway.board.worked_out(view)
    wanted = _wanted(gateway, asked, view)
    if isinstance(wanted, NoTool):
        return wanted
    model = model_facts(named, None, settings.models)
    model = model if refused is None else _without_calling(model)
    silent = asked.choice is Choose.NEVER
    started = anyio.current_time()
    why_not = NO_TOOL_WANTED if silent else capable(gateway, view, model, settings).why_no_search
    latest, *earlier = asked.user_texts or [""]
    searched = await automatic_search(gateway, view, latest, model, earlier=earlier, called=called, why_not=why_not)
    found = searched.found if wanted is None else searched.found.with_found((wanted,), model.most_found)
    client = tuple(ToolShape(tool.name, tool.description, tool.parameters) for tool in asked.tools)
    seconds = anyio.current_time() - started
    return Plan(view, model, settings, client, found, searched.decisions, seconds, silent, refused=refused)


def _without_calling(model: Model) -> Model:
    return replace(model, tool_calling=False)


def _wanted(gateway: Gateway, asked: Asked, view: View) -> ToolId | NoTool | None:
    """The tool of the board that the model is to call: it is shown whatever the search finds."""
    if not isinstance(asked.choice, ChooseOne) or any(tool.name == asked.choice.name for tool in asked.tools):
        return None
    found = looked_up(asked.choice.name, gateway.board.resolution(view))
    return found.tool.id if isinstance(found, Open) else NoTool(refusal_text(found))
