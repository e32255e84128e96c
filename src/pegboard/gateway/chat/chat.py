"""Chat as one thing: models, limits and what is remembered, for surfaces that speak with clients."""

from dataclasses import dataclass, field

import anyio

from pegboard.config.chat_keys import ChatLimits
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.validation import Validators

from .asked import Asked, Who
from .called_tools import CalledTools, conversation_keys
from .calling import Calling
from .conversation import Answer, Conversation, Tell
from .limits import Tally
from .planning import NoTool, planned
from .remembered import Remembered
from .report import Report
from .serving import Models, NoModel, Served


@dataclass(frozen=True, slots=True)
class Busy:
    """So many requests are being answered that no more may be."""

    most: int


@dataclass
class Chat:
    gateway: Gateway
    models: Models
    limits: ChatLimits
    remembered: Remembered = field(default_factory=Remembered)
    called_tools: CalledTools = field(default_factory=CalledTools)
    validators: Validators = field(default_factory=Validators)
    _refusing: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Models whose servers take no tools for them, whatever is known of their families; and what they said."""
    _under_way: int = 0

    async def answer(self, asked: Asked, who: Who, tell: Tell, report: Report) -> Answer | NoModel | NoTool | Busy:
        """`report` is filled as it goes, so that there is one of an answer that broke off. Raises `ModelTrouble`, and
        `NotLetIn` when the caller is not let in any more."""
        if self._under_way >= self.limits.at_once:
            return Busy(self.limits.at_once)
        self._under_way += 1
        started = anyio.current_time()
        try:
            served = await self.models.of(asked.model)
            if isinstance(served, NoModel):
                return served
            return await self._answered(asked, who, tell, report, served, started)
        finally:
            self._under_way -= 1
            report.total_seconds = anyio.current_time() - started

    async def _answered(
        self, asked: Asked, who: Who, tell: Tell, report: Report, served: Served, started: float
    ) -> Answer | NoTool:
        report.server, report.model = served.server.name, served.model
        refused = self._refusing.get((served.server.name, served.model))
        keys = await conversation_keys(who.view.principal, asked)
        called = self.called_tools.before(keys, asked)
        plan = await planned(self.gateway, asked, who, served.model, refused, called)
        if isinstance(plan, NoTool):
            return plan
        report.search_seconds = plan.seconds
        report.reasons = [*plan.model.whence, *(str(decision) for decision in plan.decisions)]
        whole = await self.remembered.whole(who.view.principal, asked.messages, started)
        conversation = Conversation(
            self.gateway,
            served,
            asked,
            plan,
            Calling(self.gateway, who, plan.view, self.validators, plan.model.most_found, asked.waits),
            Tally(self.limits),
            report,
            tell,
            started,
            messages=whole,
        )
        try:
            answer = await conversation.run()
        finally:
            self.called_tools.remember(keys, report)
        if conversation.plan.refused is not None:
            self._refusing[served.server.name, served.model] = conversation.plan.refused
        if answer.calls and conversation.hidden:
            ids = [call.id for call in answer.calls]
            now = anyio.current_time()
            await self.remembered.keep(who.view.principal, asked.messages, ids, conversation.hidden, now)
        return answer
