"""What a model gets before each turn: capabilities, automatic search, prompt, tools.

In one order: capabilities, the automatic search, the prompt, the tools of the request.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio
from anyio import to_thread

from pegboard.core.calls.call import find_open_tool, refusal_text
from pegboard.core.decision.resolve import OpenTool
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import PrincipalId, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PromptSettings
from pegboard.core.model.tool import canonical_json
from pegboard.core.presentations.own_tools import MaterializedTools
from pegboard.gateway.board import BoardState
from pegboard.gateway.chat.report import ChatReport
from pegboard.gateway.chat.request import ChatCaller, ChatInput, SpecificTool, ToolChoiceMode, message_text
from pegboard.gateway.prompts import PromptBuilder, launch_view
from pegboard.prompts.model import Model, model_facts
from pegboard.prompts.system_prompt import BuiltPrompt, build
from pegboard.prompts.tool_search import SearchDecision
from pegboard.prompts.tool_shape import ToolShape

STARTUP_WAIT_S: Final = 3.0
"""Seconds that an answer waits for servers that are starting: what is not listed yet cannot be found."""
NO_TOOL_WANTED: Final = "the request wants no tool called: its tool_choice is none"


@dataclass(frozen=True, slots=True)
class NoRequiredTool:
    """The client wants a tool called that it cannot have."""

    why: str


@dataclass(frozen=True)
class ChatPlan:
    view: View
    """As launch filters leave it: calls are made in it too."""
    model: Model
    settings: PromptSettings
    client: tuple[ToolShape, ...]
    found_tools: MaterializedTools
    decisions: tuple[SearchDecision, ...]
    seconds: float
    """That the search took."""
    is_silent: bool
    """Whether the model is told of no tool."""
    can_wait: bool = False
    """Whether some call waits for a person."""
    refusal: str | None = None
    """What the model server said when it was given tools, where it takes none."""

    def with_tools_in_text(self, said: str) -> "ChatPlan":
        """For a server that takes no tools: the model is told of them in its prompt."""
        return replace(self, model=_without_calling(self.model), refusal=said)

    def after_turn(self, found: tuple[ToolId, ...], ticket: str | None) -> "ChatPlan":
        """What the model itself found is shown from now on; and how to wait for a person, once one must decide."""
        plan = self if ticket is None or self.can_wait else replace(self, can_wait=True)
        return (
            replace(plan, found_tools=plan.found_tools.with_found(found, plan.model.max_found_tools)) if found else plan
        )

    def prompt(self, prompts: PromptBuilder, *, without_tools: bool = False) -> BuiltPrompt:
        """On the board as it is now: a tool that was locked meanwhile is not shown again."""
        able = prompts.capabilities(self.view, self.model, self.settings, self.found_tools)
        if without_tools or self.is_silent:
            able = replace(able, primary=None)
        overrides = prompts.board.policy.overrides
        return build(able, self.settings, overrides=overrides, client=self.client, waiting=self.can_wait)


async def make_plan(
    prompts: PromptBuilder,
    asked: ChatInput,
    who: ChatCaller,
    named: str,
    refused: str | None = None,
    called: Sequence[str] = (),
) -> ChatPlan | NoRequiredTool:
    """`refused` is what the model's server said before, when it was given tools; `called` are the tools that the
    conversation called before, the latest first."""
    await prompts.board.wait_until_started(STARTUP_WAIT_S)
    settings = prompts.board.policy.declared.prompts
    view = launch_view(who.view, settings, asked.launch)
    # Beside the loop, because on a large board it takes longer than calls may wait.
    await prompts.board.resolve_off_loop(view)
    wanted = _required_tool(prompts.board, asked, view)
    if isinstance(wanted, NoRequiredTool):
        return wanted
    model = model_facts(named, None, settings.models)
    model = model if refused is None else _without_calling(model)
    silent = asked.choice is ToolChoiceMode.NEVER
    started = anyio.current_time()
    why_not = NO_TOOL_WANTED if silent else prompts.capabilities(view, model, settings).no_search_reason
    latest, *earlier = asked.user_texts or [""]
    searched = await prompts.automatic_search(view, latest, model, earlier=earlier, called=called, why_not=why_not)
    found = (
        searched.found_tools if wanted is None else searched.found_tools.with_found((wanted,), model.max_found_tools)
    )
    client = tuple(ToolShape(tool.name, tool.description, tool.parameters) for tool in asked.tools)
    seconds = anyio.current_time() - started
    return ChatPlan(view, model, settings, client, found, searched.decisions, seconds, silent, refusal=refused)


def _without_calling(model: Model) -> Model:
    return replace(model, tool_calling=False)


def _required_tool(board: BoardState, asked: ChatInput, view: View) -> ToolId | NoRequiredTool | None:
    """The tool of the board that the model is to call: it is shown whatever the search finds."""
    if not isinstance(asked.choice, SpecificTool) or any(tool.name == asked.choice.name for tool in asked.tools):
        return None
    found = find_open_tool(asked.choice.name, board.resolution(view))
    return found.tool.id if isinstance(found, OpenTool) else NoRequiredTool(refusal_text(found))


# Which tools a conversation has called: the client's messages name those that it ran, memory those that ran here.

MAX_ANSWERS: Final = 5_000
MAX_TOOLS: Final = 20
"""Of one answer, and in all for the next."""


class CalledTools:
    """Of this process alone. A conversation that comes to another one is searched by what its user said, as any is.

    An answer is found by its caller and by what the user had said up to it. Clients send that back unchanged, and may
    cut or reword what the model said.
    """

    def __init__(self) -> None:
        self._by_answer: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()

    def remember(self, keys: Sequence[bytes], report: ChatReport) -> None:
        """After an answer, or as much as there was of it."""
        latest_first = dict.fromkeys(str(made.tool) for made in reversed(report.calls) if made.tool is not None)
        if not latest_first or not keys:
            return
        self._by_answer[keys[-1]] = tuple(latest_first)[:MAX_TOOLS]
        self._by_answer.move_to_end(keys[-1])
        if len(self._by_answer) > MAX_ANSWERS:
            self._by_answer.popitem(last=False)

    def called_before(self, keys: Sequence[bytes], asked: ChatInput) -> tuple[str, ...]:
        """The tools that were called before the user's latest message, by id or by name, the latest first.

        What an earlier try to answer that same message called is left out: equal requests show equal tools.
        """
        names: dict[str, None] = {}
        for name in self._names(asked, [*keys]):
            names[name] = None
            if len(names) == MAX_TOOLS:
                break
        return tuple(names)

    def _names(self, asked: ChatInput, keys: list[bytes]) -> Iterator[str]:
        own = {tool.name for tool in asked.tools}
        is_latest = True
        for message in reversed(asked.messages):
            if message.get("role") == "assistant":
                yield from _tools_called_in(message, own)
            elif message.get("role") == "user":
                key = keys.pop()
                yield from () if is_latest else self._by_answer.get(key, ())
                is_latest = False


async def conversation_keys(principal: PrincipalId, asked: ChatInput) -> list[bytes]:
    """One for each of the user's messages, the first first. Beside the loop, because a conversation may be long."""
    return await to_thread.run_sync(_keys, principal, asked)


def _tools_called_in(message: JsonObject, own: Collection[str]) -> Iterable[str]:
    calls = message.get("tool_calls")
    listed = reversed(calls) if isinstance(calls, list) else ()
    functions = (call.get("function") for call in listed if isinstance(call, dict))
    names = (function.get("name") for function in functions if isinstance(function, dict))
    return (name for name in names if isinstance(name, str) and name not in own)


def _keys(principal: PrincipalId, asked: ChatInput) -> list[bytes]:
    so_far, keys = hashlib.sha256(canonical_json([principal])), list[bytes]()
    for message in asked.messages:
        if message.get("role") == "user":
            so_far.update(canonical_json([message_text(message)]))
            keys.append(so_far.digest())
    return keys
