"""Chat as one thing: models, limits and what is remembered, for surfaces that speak with clients."""

from dataclasses import dataclass, field

import anyio

from pegboard.config.chat_keys import ChatLimits
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.validation import Validators

from .asked import ChatCaller, ChatInput
from .called_tools import CalledTools, conversation_keys
from .calling import ChatToolCalls
from .conversation import ChatAnswer, Conversation, EventCallback
from .limits import LimitCounter
from .planning import NoRequiredTool, make_plan
from .remembered import HiddenCallMemory
from .report import ChatReport
from .serving import ModelDirectory, ModelRoute, NoModel


@dataclass(frozen=True, slots=True)
class ChatBusy:
    """So many requests are being answered that no more may be."""

    limit: int


@dataclass
class Chat:
    gateway: Gateway
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
        """`report` is filled as it goes, so that there is one of an answer that broke off. Raises `ModelTrouble`, and
        `NotLetIn` when the caller is not let in any more."""
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
        plan = await make_plan(self.gateway, asked, who, served.model, refused, called)
        if isinstance(plan, NoRequiredTool):
            return plan
        report.search_seconds = plan.seconds
        report.reasons = [*plan.model.fact_sources, *(str(decision) for decision in plan.decisions)]
        whole = await self.hidden_calls.restore(who.view.principal, asked.messages, started)
        conversation = Conversation(
            self.gateway,
            served,
            asked,
            plan,
            ChatToolCalls(self.gateway, who, plan.view, self.validators, plan.model.max_found_tools, asked.wait_s),
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
