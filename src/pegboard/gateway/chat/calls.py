"""A tool call of a model: the same checks, confirmation and audit as any other call."""

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias
from uuid import uuid4

from pegboard.core.calls import call as core
from pegboard.core.calls.call import (
    BadArguments,
    ConfirmationRefusal,
    MissingConfirmation,
    Outcome,
    Refusal,
    ToolFailure,
    ToolSuccess,
    find_open_tool,
    refusal_text,
)
from pegboard.core.calls.tickets import CHAT_PRESENTATION, MAX_WAIT_S, TICKET_ID, TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import BuiltinKey, CallId, ToolId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.settings import CODE_MODE, PYTHON, PYTHON_ID
from pegboard.core.presentations.deferred_tools import DEFAULT_RESULTS, SEARCH, TOOLS
from pegboard.core.presentations.entries import readable_schema
from pegboard.core.presentations.own_tools import free_name
from pegboard.core.presentations.retrieval import BLANK_QUERY_TEXT, AnswerDetail, ToolSearchQuery
from pegboard.gateway.chat.request import ChatCaller
from pegboard.gateway.chat.turn import ModelCall, UnreadableCall, sanitize_text
from pegboard.gateway.result_text import describe_outcome, program_output
from pegboard.gateway.search import ToolSearch
from pegboard.gateway.tool_calls import PresentationAnswer, ToolCalls
from pegboard.gateway.validation import Validators
from pegboard.prompts.system_prompt import CLASH_REASON, BuiltPrompt, OfferedTool
from pegboard.prompts.tool_shape import SEARCH_SHAPE, ToolShape

# Whose tool the model means by a name: the client's own goes before every other, and ours of that name has another.

SEARCH_TOOL: Final = TOOLS[SEARCH]


@dataclass(frozen=True)
class ToolOffer:
    """What one turn of the model is told of."""

    prompt: BuiltPrompt
    client_tools: frozenset[str]
    """The names of all tools that the client brought, whether the prompt had room for them or not."""

    @cached_property
    def gateway_tools(self) -> dict[str, ToolId]:
        """Tools of the board and of the gateway's own, by the names that the model sees. tool_search may be called
        whether the model is told of it or not."""
        named = {each.shape.name: each.id for each in self.prompt.offered_tools if each.id is not None}
        may_search = self.prompt.capabilities.may_search and SEARCH not in self.client_tools
        if may_search and SEARCH_TOOL.id not in named.values():
            named.setdefault(SEARCH, SEARCH_TOOL.id)
        return named

    @property
    def reserved_names(self) -> frozenset[str]:
        """Names that no tool of the board has here: the client's, and those of the gateway's own tools."""
        return self.client_tools | {
            name for name, id in self.gateway_tools.items() if isinstance(id.source, BuiltinKey)
        }

    @property
    def search_tool(self) -> str | None:
        """By which the model finds others, where it may."""
        return next((name for name, id in self.gateway_tools.items() if id == SEARCH_TOOL.id), None)

    def shape(self, name: str) -> ToolShape | None:
        return next((each.shape for each in self.prompt.offered_tools if each.shape.name == name), None)

    @property
    def name_clashes(self) -> list[str]:
        """Tools of ours that have another name here, or none, because a tool of the client's has theirs."""
        named = [
            (self._own_name(each.id), each.shape.name) for each in self.prompt.offered_tools if each.id is not None
        ]
        told = [
            f"{own!r} is called {here!r} here: a tool of the client's own has that name."
            for own, here in named
            if own in self.client_tools
        ]
        out = (ruling.subject for ruling in self.prompt.left_out if ruling.why == CLASH_REASON)
        return [*told, *(f"{subject} is left out: a tool of the client's own has its name." for subject in out)]

    def _own_name(self, id: ToolId) -> str:
        return id.name if isinstance(id.source, BuiltinKey) else self.prompt.capabilities.resolution.names[id]

    @property
    def tool_schemas(self) -> list[Json]:
        return [self._tool_schema(each) for each in self.prompt.offered_tools]

    def _tool_schema(self, each: OfferedTool) -> JsonObject:
        if each.id is None:
            return {"name": each.shape.name, "tool": None, "reason": "the client brought it", "tokens": each.tokens}
        why = self.prompt.decision(each.id).why
        return {"name": each.shape.name, "tool": str(each.id), "reason": why, "tokens": each.tokens}


TicketCallback: TypeAlias = Callable[[str], Awaitable[None]]
"""Told of a ticket that a person must decide about."""

OFF_LOOP_CHARS: Final = 100_000
"""Characters of arguments from which on they are checked beside the event loop, for which they are wanted as text."""
NO_TOOL_FITS: Final = "No tool fits. Search again in other words, or answer without tools."


class AccessRevokedError(Exception):
    """The operator has taken the caller's token away meanwhile."""


@dataclass(frozen=True, slots=True)
class ChatCallResult:
    """What came of a call."""

    text: str
    outcome: Outcome | Refusal
    tool: ToolId | None
    ticket: str | None = None
    found_tools: tuple[ToolId, ...] = ()
    """By a search: to be shown from now on, the best first."""
    shape: ToolShape | None = None
    """Of the tool, where the model can do better with its schema before it."""

    @property
    def is_failure(self) -> bool:
        return not isinstance(self.outcome, ToolSuccess)


@dataclass(frozen=True)
class ChatToolCalls:
    gate: ToolCalls
    tool_search: ToolSearch
    caller: ChatCaller
    view: View
    """As launch filters leave that of the caller."""
    validators: Validators
    max_found: int
    wait_s: float = 0.0
    """Seconds to wait for a person, where the client tells one."""

    async def execute(self, call: ModelCall, offering: ToolOffer, asks: TicketCallback) -> ChatCallResult:
        """By the name that the model wrote. A tool of the board may be called whether it is shown or not: the gate is
        elsewhere."""
        if not self.caller.is_authorized():
            raise AccessRevokedError
        id = offering.gateway_tools.get(call.name)
        if id == SEARCH_TOOL.id:
            return await self._search(call, offering)
        resolution = self.gate.board.resolution(self.view)
        name = TICKET_TOOL if id == TICKET_ID else _board_name(call.name, id, resolution)
        made = self._call(name, call)
        is_block = call.name == PYTHON and offering.prompt.capabilities.primary == CODE_MODE
        runs = is_block or id == PYTHON_ID
        if runs:
            # Under whatever name the model is told of it: it runs programs, on the board or not.
            made = replace(made, name=WireName(PYTHON))
        carry = self.gate.run_program if runs else self.gate.call
        ended = await carry(made, self.view)
        ticket = ended.ticket if isinstance(ended, ConfirmationRefusal) else None
        if (
            ticket is not None
            and self.wait_s
            and isinstance(ended, ConfirmationRefusal)
            and ended.reason is MissingConfirmation.WAITING
        ):
            await asks(ticket)
            # By the tool that any caller has for it: it waits, decides nothing, and runs the call after a yes.
            wait: JsonObject = {"ticket": ticket, "wait": min(self.wait_s, float(MAX_WAIT_S))}
            ended = _without_decision(await self.gate.call(self._call(TICKET_TOOL, call, wait), self.view), ended)
        resolution = self.gate.board.resolution(self.view)
        tool = id or resolution.find_tool(name)
        shape = _shape(call.name, tool, resolution) if isinstance(ended, BadArguments | ToolFailure) else None
        if runs:
            shape = offering.shape(call.name) if isinstance(ended, BadArguments) else None
        text = program_output(ended) if runs else None
        text = describe_outcome(ended, call.name, offering.search_tool) if text is None else text
        return ChatCallResult(sanitize_text(text), ended, tool, ticket, shape=shape)

    def for_client(self, call: ModelCall | UnreadableCall, offering: ToolOffer) -> ModelCall | UnreadableCall:
        """As the client may get it to make: of a tool that its caller may not know, there is nothing to make."""
        if (
            isinstance(call, UnreadableCall)
            or call.name in offering.client_tools
            or call.name in offering.gateway_tools
        ):
            return call
        found = find_open_tool(call.name, self.gate.board.resolution(self.view))
        return (
            call
            if isinstance(found, OpenTool)
            else UnreadableCall(call.id, call.name, "", refusal_text(found, offering.search_tool))
        )

    def _call(self, name: str, call: ModelCall, arguments: JsonObject | None = None) -> core.ToolCall:
        given = dict(call.arguments) if arguments is None else arguments
        return core.ToolCall(
            id=CallId(uuid4().hex),
            name=WireName(name),
            arguments=given,
            principal=self.caller.view.principal,
            at=self.gate.clock(),
            raw=json.dumps(given).encode() if len(call.raw) > OFF_LOOP_CHARS else None,
            client=self.caller.client,
            headers=self.caller.headers,
            presentation=CHAT_PRESENTATION,
        )

    async def _search(self, call: ModelCall, offering: ToolOffer) -> ChatCallResult:
        made = self._call(SEARCH_TOOL.id.name, call)
        found: list[ToolId] = []

        async def answer() -> PresentationAnswer:
            if problems := self.validators.problems(SEARCH_TOOL, made.arguments):
                return BadArguments(SEARCH_TOOL.id, problems)
            if not str(made.arguments["query"]).strip():
                return BadArguments(SEARCH_TOOL.id, (f"query: {BLANK_QUERY_TEXT}",))
            body = await self.tool_search.retrieve(_retrieval(made.arguments, self.max_found), self.view)
            found.extend(_found_in(body, self.gate.board.resolution(self.view), offering))
            says = any(body.get(name) for name in ("tools", "disabled", "notice"))
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":")) if says else NO_TOOL_FITS
            return ToolSuccess(json.dumps({"content": [{"type": "text", "text": text}]}).encode())

        ended = await self.gate.answer_and_record(made, SEARCH_TOOL.id, answer)
        shape = SEARCH_SHAPE if isinstance(ended, BadArguments) else None
        return ChatCallResult(
            sanitize_text(describe_outcome(ended, call.name, call.name)),
            ended,
            SEARCH_TOOL.id,
            None,
            tuple(found),
            shape,
        )


def _without_decision(ended: Outcome | Refusal, before: ConfirmationRefusal) -> Outcome | Refusal:
    """Of the ticket tool, which fails where there is no yes. The call itself is what was not confirmed then."""
    if not isinstance(ended, ToolFailure):
        return ended
    word, _, text = describe_outcome(ended, "", None).partition(": ")
    how = next((each for each in MissingConfirmation if each.value == word), None)
    return ended if how is None else ConfirmationRefusal(before.tool, how, text, before.ticket)


def _board_name(written: str, id: ToolId | None, resolution: Resolution) -> str:
    """What a tool that is shown under another name is called on the board."""
    return written if id is None else resolution.names.get(id, WireName(written))


def _shape(name: str, id: ToolId | None, resolution: Resolution) -> ToolShape | None:
    """As callers see the tool, and nothing of one that is not open to them."""
    verdict = None if id is None else resolution.verdicts.get(id)
    return (
        ToolShape(name, "", readable_schema(verdict.visible_tool.spec.input_schema))
        if isinstance(verdict, OpenTool)
        else None
    )


def _retrieval(arguments: core.Arguments, most: int) -> ToolSearchQuery:
    """No more than the model is shown afterwards. An integer may have been written as 5.0."""
    limit = arguments.get("limit", DEFAULT_RESULTS)
    assert isinstance(limit, int | float)
    query, locked = str(arguments["query"]), _flag(arguments, "include_disabled")
    return ToolSearchQuery(query, min(int(limit), most), include_disabled=locked, detail=AnswerDetail.FULL)


def _flag(arguments: core.Arguments, name: str) -> bool:
    return arguments.get(name) is True


def _found_in(answer: JsonObject, resolution: Resolution, offering: ToolOffer) -> Iterator[ToolId]:
    """The tools that the answer tells of, which from now on tells of them by the names that the model is shown. Of
    these, what the model is shown anyway is not found."""
    own = {id: name for name, id in offering.gateway_tools.items()}
    always = offering.prompt.capabilities.always_visible
    entries = answer["tools"]
    assert isinstance(entries, list)
    for entry in entries:
        assert isinstance(entry, dict)
        if (id := resolution.find_tool(str(entry["name"]))) is not None:
            entry["name"] = own.get(id) or free_name(id, resolution, offering.reserved_names) or entry["name"]
            if id not in always:
                yield id
