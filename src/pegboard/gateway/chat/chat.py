"""The chat service, and a dry run that parses an answer and checks its calls without making them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import anyio

from pegboard.config.keys.features import ChatLimits
from pegboard.core.calls.call import AdmittedCall, ToolCall, refusal_text
from pegboard.core.calls.tickets import TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.model.ids import CallId, ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID, SEARCH, PromptSettings
from pegboard.core.presentations.entries import readable_schema
from pegboard.gateway.chat.calls import ChatToolCalls
from pegboard.gateway.chat.conversation import ChatAnswer, Conversation, EventCallback, HiddenCallMemory
from pegboard.gateway.chat.plans import CalledTools, NoRequiredTool, conversation_keys, make_plan
from pegboard.gateway.chat.report import ChatReport
from pegboard.gateway.chat.request import ChatCaller, ChatInput, LimitCounter, ModelDirectory, ModelRoute, NoModel
from pegboard.gateway.prompts import PromptBuilder
from pegboard.gateway.result_text import outcome_word
from pegboard.gateway.search import ToolSearch
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.gateway.validation import Validators
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import FORMATS, Format
from pegboard.prompts.model import Model
from pegboard.prompts.spans import OutputSpan, output_spans
from pegboard.prompts.system_prompt import BuiltPrompt
from pegboard.prompts.tool_shape import ToolShape

# Chat as one thing: models, limits and what is remembered, for surfaces that speak with clients.


@dataclass(frozen=True, slots=True)
class ChatBusy:
    """So many requests are being answered that no more may be."""

    limit: int


@dataclass
class Chat:
    calls: ToolCalls
    search: ToolSearch
    prompts: PromptBuilder
    models: ModelDirectory
    limits: ChatLimits
    hidden_calls: HiddenCallMemory = field(default_factory=HiddenCallMemory)
    called_tools: CalledTools = field(default_factory=CalledTools)
    validators: Validators = field(default_factory=Validators)
    _tool_refusals: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Models whose servers take no tools for them, whatever is known of their families; and what they said."""
    _active: int = 0

    async def answer(
        self, asked: ChatInput, who: ChatCaller, tell: EventCallback, report: ChatReport
    ) -> ChatAnswer | NoModel | NoRequiredTool | ChatBusy:
        """`report` is filled as it goes, so that there is one of an answer that broke off. Raises `ModelServerError`,
        and `AccessRevokedError` when the caller is not let in any more."""
        if self._active >= self.limits.max_concurrent:
            return ChatBusy(self.limits.max_concurrent)
        self._active += 1
        started = anyio.current_time()
        try:
            served = await self.models.find_route(asked.model)
            if isinstance(served, NoModel):
                return served
            return await self._answer(asked, who, tell, report, served, started)
        finally:
            self._active -= 1
            report.total_seconds = anyio.current_time() - started

    async def _answer(
        self,
        asked: ChatInput,
        who: ChatCaller,
        tell: EventCallback,
        report: ChatReport,
        served: ModelRoute,
        started: float,
    ) -> ChatAnswer | NoRequiredTool:
        report.server, report.model = served.server.name, served.model
        refused = self._tool_refusals.get((served.server.name, served.model))
        keys = await conversation_keys(who.view.principal, asked)
        called = self.called_tools.called_before(keys, asked)
        plan = await make_plan(self.prompts, asked, who, served.model, refused, called)
        if isinstance(plan, NoRequiredTool):
            return plan
        report.search_seconds = plan.seconds
        report.reasons = [*plan.model.fact_sources, *(str(decision) for decision in plan.decisions)]
        whole = await self.hidden_calls.restore(who.view.principal, asked.messages, started)
        conversation = Conversation(
            self.prompts,
            served,
            asked,
            plan,
            ChatToolCalls(
                self.calls, self.search, who, plan.view, self.validators, plan.model.max_found_tools, asked.wait_s
            ),
            LimitCounter(self.limits),
            report,
            tell,
            started,
            messages=whole,
        )
        try:
            answer = await conversation.run()
        finally:
            self.called_tools.remember(keys, report)
        if conversation.plan.refusal is not None:
            self._tool_refusals[served.server.name, served.model] = conversation.plan.refusal
        if answer.calls and conversation.hidden_messages:
            ids = [call.id for call in answer.calls]
            now = anyio.current_time()
            await self.hidden_calls.keep(who.view.principal, asked.messages, ids, conversation.hidden_messages, now)
        return answer


RUNS: Final = "runs"
WAITS: Final = "waits"
UNFINISHED: Final = "unfinished"
_MAX_TRIED_CHARS: Final = 8_000
"""Characters of an answer that is read in every format there is."""
_MAX_NAMED: Final = 3
_NEEDS_CONFIRMATION: Final = "A person must say yes to it first."
_ANSWERED_BY_GATEWAY: Final = "It is answered by the gateway itself."
_UNFINISHED_MESSAGE: Final = (
    "Its end never came, and run_recovered_calls is off in the settings: a chat would not run it."
)


@dataclass(frozen=True)
class CallVerdict:
    """What the gate would say to a call."""

    verdict: str
    """`runs`, `waits` for a person, `unfinished`, or how it would be refused."""
    message: str = ""
    tool: ToolId | None = None


@dataclass(frozen=True)
class AnswerAnalysis:
    format: str
    spans: Sequence[OutputSpan]
    verdicts: Sequence[CallVerdict]
    """Of each span that is a call, in order."""
    policy_version: int
    other_formats: Sequence[str] = ()
    """Formats in which calls would be found, where in this one there are none; those that leave least unread first."""


async def analyze_answer(
    prompts: PromptBuilder,
    calls: ToolCalls,
    view: View,
    model: Model,
    settings: PromptSettings,
    said: str,
    text: str,
    format: Format | None,
) -> AnswerAnalysis:
    """`said` is what the user said before, by which tools were found. Without a format, the one that the model is told
    to speak."""
    made = await prompts.prompt(view, model, said, settings=settings)
    spoken = format or FORMATS[made.prompt.capabilities.primary or "native"]
    resolution = calls.board.resolution(made.view)
    tools = (*made.prompt.callable, *_tools_not_in_prompt(made.prompt, resolution))
    found = output_spans(spoken, text, tools, in_thinking=model.opens_thinking)
    words = [_call_verdict(calls, made.view, made.prompt, call, settings) for call in (s.call for s in found) if call]
    others = () if words else _formats_that_read(text, tools, in_thinking=model.opens_thinking)
    return AnswerAnalysis(spoken.name, found, words, resolution.policy_version, others)


def _formats_that_read(text: str, tools: Sequence[ToolShape], *, in_thinking: bool) -> Sequence[str]:
    if len(text) > _MAX_TRIED_CHARS:
        return ()
    fits: list[tuple[int, int, str]] = []
    for name, format in FORMATS.items():
        found = output_spans(format, text, tools, in_thinking=in_thinking)
        if calls := [span.call for span in found if span.call]:
            unread = sum(span.end - span.start for span in found if span.kind == "text")
            fits.append((unread, sum(len(call.repairs) for call in calls), name))
    return [name for _, _, name in sorted(fits)[:_MAX_NAMED]]


def _tools_not_in_prompt(prompt: BuiltPrompt, resolution: Resolution) -> Iterator[ToolShape]:
    """What is open and not in this prompt: the model may have been told of it in a turn before."""
    told = {shape.name for shape in prompt.callable}
    for id in resolution.open_ids:
        verdict, name = resolution.verdicts[id], resolution.names[id]
        if isinstance(verdict, OpenTool) and name not in told:
            yield ToolShape(name, "", readable_schema(verdict.visible_tool.spec.input_schema))


def _call_verdict(
    calls: ToolCalls, view: View, prompt: BuiltPrompt, called: ParsedCall, settings: PromptSettings
) -> CallVerdict:
    resolution, id = calls.board.resolution(view), prompt.tool(called.name)
    is_search = called.name == SEARCH and prompt.capabilities.may_search
    runs_programs = id == PYTHON_ID and PYTHON_ID not in resolution.verdicts
    if runs_programs or ((is_search or called.name == TICKET_TOOL) and called.name not in resolution.by_name):
        return CallVerdict(RUNS, _ANSWERED_BY_GATEWAY)
    name = WireName(called.name) if id is None else resolution.names.get(id, WireName(called.name))
    call = ToolCall(CallId(uuid4().hex), name, dict(called.arguments), view.principal, calls.clock())
    verdict = calls.admit(call, resolution)
    meant = resolution.find_tool(name)
    if not isinstance(verdict, AdmittedCall):
        return CallVerdict(outcome_word(verdict), refusal_text(verdict), meant)
    if called.recovered and not settings.run_recovered:
        return CallVerdict(UNFINISHED, _UNFINISHED_MESSAGE, meant)
    return CallVerdict(WAITS, _NEEDS_CONFIRMATION, meant) if verdict.confirm else CallVerdict(RUNS, "", meant)
