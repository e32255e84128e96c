"""One call that a model wants, made by the same road as any other: policy, confirmation, the provider, the audit."""

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias
from uuid import uuid4

from pegboard.core import call as core
from pegboard.core.call import (
    BadArguments,
    NotConfirmed,
    Outcome,
    Refusal,
    Returned,
    ToolFailed,
    Unconfirmed,
    looked_up,
    refusal_text,
)
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import CallId, ToolId, WireName
from pegboard.core.presentations.deferred import FEW
from pegboard.core.presentations.entries import readable
from pegboard.core.presentations.kept import free_name
from pegboard.core.prompting import CODE_MODE, PYTHON
from pegboard.core.resolve import Open, Resolution
from pegboard.core.retrieval import BLANK, Detail, Retrieval
from pegboard.core.ticket import CHAT, LONGEST_WAIT, TICKET_ID, TICKET_TOOL
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.gateway.answering import Answered, answered
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.programs import program
from pegboard.gateway.validation import Validators
from pegboard.prompts.searching import SEARCH_SHAPE
from pegboard.prompts.shapes import ToolShape

from .asked import Who
from .heard import Call, Unread, sound
from .offering import SEARCH_TOOL, Offering
from .results import ran, told

Asks: TypeAlias = Callable[[str], Awaitable[None]]
"""Told of a ticket that a person must decide about."""

LARGE: Final = 100_000
"""Characters of arguments from which on they are checked beside the event loop, for which they are wanted as text."""
NOTHING: Final = "No tool fits. Search again in other words, or answer without tools."


class NotLetIn(Exception):  # noqa: N818 - it is told as an answer
    """The operator has taken the caller's token away meanwhile."""


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a call."""

    text: str
    ended: Outcome | Refusal
    tool: ToolId | None
    ticket: str | None = None
    found: tuple[ToolId, ...] = ()
    """By a search: to be shown from now on, the best first."""
    shape: ToolShape | None = None
    """Of the tool, where the model can do better with its schema before it."""

    @property
    def failed(self) -> bool:
        return not isinstance(self.ended, Returned)


@dataclass(frozen=True)
class Calling:
    gateway: Gateway
    who: Who
    view: View
    """As launch filters leave that of the caller."""
    validators: Validators
    most_found: int
    waits: float = 0.0
    """Seconds to wait for a person, where the client tells one."""

    async def made(self, call: Call, offering: Offering, asks: Asks) -> Came:
        """By the name that the model wrote. A tool of the board may be called whether it is shown or not: the gate is
        elsewhere."""
        if not self.who.is_let_in():
            raise NotLetIn
        id = offering.ours.get(call.name)
        if id == SEARCH_TOOL.id:
            return await self._searched(call, offering)
        resolution = self.gateway.board.resolution(self.view)
        name = TICKET_TOOL if id == TICKET_ID else _name(call.name, id, resolution)
        made = self._call(name, call)
        is_block = call.name == PYTHON and offering.prompt.capabilities.primary == CODE_MODE
        runs = is_block or id == PYTHON_ID
        if runs:
            # Under whatever name the model is told of it: it runs programs, on the board or not.
            made = replace(made, name=WireName(PYTHON))
        carry = partial(program, self.gateway) if runs else self.gateway.caller.call
        ended = await carry(made, self.view)
        ticket = ended.ticket if isinstance(ended, NotConfirmed) else None
        if ticket is not None and self.waits and isinstance(ended, NotConfirmed) and ended.how is Unconfirmed.WAITING:
            await asks(ticket)
            # By the tool that any caller has for it: it waits, decides nothing, and runs the call after a yes.
            wait: JsonObject = {"ticket": ticket, "wait": min(self.waits, float(LONGEST_WAIT))}
            ended = _undecided(await self.gateway.caller.call(self._call(TICKET_TOOL, call, wait), self.view), ended)
        resolution = self.gateway.board.resolution(self.view)
        tool = id or resolution.called(name)
        shape = _shape(call.name, tool, resolution) if isinstance(ended, BadArguments | ToolFailed) else None
        if runs:
            shape = offering.shape(call.name) if isinstance(ended, BadArguments) else None
        text = ran(ended) if runs else None
        text = told(ended, call.name, offering.search) if text is None else text
        return Came(sound(text), ended, tool, ticket, shape=shape)

    def for_client(self, call: Call | Unread, offering: Offering) -> Call | Unread:
        """As the client may get it to make: of a tool that its caller may not know, there is nothing to make."""
        if isinstance(call, Unread) or call.name in offering.client or call.name in offering.ours:
            return call
        found = looked_up(call.name, self.gateway.board.resolution(self.view))
        return call if isinstance(found, Open) else Unread(call.id, call.name, "", refusal_text(found, offering.search))

    def _call(self, name: str, call: Call, arguments: JsonObject | None = None) -> core.Call:
        given = dict(call.arguments) if arguments is None else arguments
        return core.Call(
            id=CallId(uuid4().hex),
            name=WireName(name),
            arguments=given,
            principal=self.who.view.principal,
            at=self.gateway.clock(),
            raw=json.dumps(given).encode() if len(call.written) > LARGE else None,
            client=self.who.client,
            headers=self.who.headers,
            presentation=CHAT,
        )

    async def _searched(self, call: Call, offering: Offering) -> Came:
        made = self._call(SEARCH_TOOL.id.name, call)
        found: list[ToolId] = []

        async def answer() -> Answered:
            if problems := self.validators.problems(SEARCH_TOOL, made.arguments):
                return BadArguments(SEARCH_TOOL.id, problems)
            if not str(made.arguments["query"]).strip():
                return BadArguments(SEARCH_TOOL.id, (f"query: {BLANK}",))
            body = await self.gateway.finder.retrieve(_retrieval(made.arguments, self.most_found), self.view)
            found.extend(_found_in(body, self.gateway.board.resolution(self.view), offering))
            says = any(body.get(name) for name in ("tools", "disabled", "notice"))
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":")) if says else NOTHING
            return Returned(json.dumps({"content": [{"type": "text", "text": text}]}).encode())

        ended = await answered(self.gateway, made, SEARCH_TOOL.id, answer)
        shape = SEARCH_SHAPE if isinstance(ended, BadArguments) else None
        return Came(sound(told(ended, call.name, call.name)), ended, SEARCH_TOOL.id, None, tuple(found), shape)


def _undecided(ended: Outcome | Refusal, before: NotConfirmed) -> Outcome | Refusal:
    """Of the ticket tool, which fails where there is no yes. The call itself is what was not confirmed then."""
    if not isinstance(ended, ToolFailed):
        return ended
    word, _, text = told(ended, "", None).partition(": ")
    how = next((each for each in Unconfirmed if each.value == word), None)
    return ended if how is None else NotConfirmed(before.tool, how, text, before.ticket)


def _name(written: str, id: ToolId | None, resolution: Resolution) -> str:
    """What a tool that is shown under another name is called on the board."""
    return written if id is None else resolution.names.get(id, WireName(written))


def _shape(name: str, id: ToolId | None, resolution: Resolution) -> ToolShape | None:
    """As callers see the tool, and nothing of one that is not open to them."""
    verdict = None if id is None else resolution.verdicts.get(id)
    return ToolShape(name, "", readable(verdict.shown.spec.input_schema)) if isinstance(verdict, Open) else None


def _retrieval(arguments: core.Arguments, most: int) -> Retrieval:
    """No more than the model is shown afterwards. An integer may have been written as 5.0."""
    limit = arguments.get("limit", FEW)
    assert isinstance(limit, int | float)
    query, locked = str(arguments["query"]), _says(arguments, "include_disabled")
    return Retrieval(query, min(int(limit), most), include_disabled=locked, detail=Detail.FULL)


def _says(arguments: core.Arguments, name: str) -> bool:
    return arguments.get(name) is True


def _found_in(answer: JsonObject, resolution: Resolution, offering: Offering) -> Iterator[ToolId]:
    """The tools that the answer tells of, which from now on tells of them by the names that the model is shown. Of
    these, what the model is shown anyway is not found."""
    own = {id: name for name, id in offering.ours.items()}
    always = offering.prompt.capabilities.always
    entries = answer["tools"]
    assert isinstance(entries, list)
    for entry in entries:
        assert isinstance(entry, dict)
        if (id := resolution.called(str(entry["name"]))) is not None:
            entry["name"] = own.get(id) or free_name(id, resolution, offering.taken) or entry["name"]
            if id not in always:
                yield id
