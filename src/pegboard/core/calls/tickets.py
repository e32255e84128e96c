"""Tickets: a call that waits for a person, the steps it can take, and its messages."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Final, assert_never

from pegboard.core.calls.call import (
    CallCancellation,
    CallConfirmation,
    ConfirmationRefusal,
    MissingConfirmation,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    Refusal,
    ToolCall,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.calls.secret_arguments import ArgumentDisplay, describe_masking
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.characters import escape_name
from pegboard.core.model.databases import DatabaseTool
from pegboard.core.model.ids import BuiltinKey, CallId, PrincipalId, ToolId, WireName
from pegboard.core.model.redaction import NO_DISPLAY_LIMITS, DisplayLimits, cut_text, redact_line, to_json_line
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Fingerprint, Tool, ToolSpec, canonical_json
from pegboard.core.overrides.schema import FilledArguments
from pegboard.core.policy.policy import CredentialIdentity, Policy

TICKET_TOOL: Final = WireName("pegboard_ticket")
"""The tool by which a caller waits for a decision. No other tool gets this name."""
TICKET_ID: Final = ToolId(BuiltinKey(), TICKET_TOOL)
CHAT_PRESENTATION: Final = "chat"
"""The presentation of a chat, in which this tool is called by its own name."""
WITHDRAWN_NOTE: Final = "withdrawn"
"""How the call ended of a ticket that lapsed because the program which made it was over before anybody decided."""
REVOKED_NOTE: Final = "revoked"
"""The same of a ticket whose unused yes went with a standing permission that was revoked, or with its principal."""
MAX_WAIT_S: Final = 600
DEFAULT_WAIT_S: Final = 30

DESCRIPTION: Final = (
    "Waits for a person's decision about a call that was answered with a ticket. Once it is allowed, the call runs and "
    "this answers with its result; otherwise it says what became of the ticket. It cannot decide anything itself."
)
SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "ticket": {"type": "string", "description": "The ticket's id, as the answer to the call gave it."},
        "wait": {
            "type": "number",
            "minimum": 0,
            "maximum": MAX_WAIT_S,
            "default": DEFAULT_WAIT_S,
            "description": "For how many seconds to wait for the decision.",
        },
    },
    "required": ["ticket"],
    "additionalProperties": False,
}


TICKET: Final = Tool(
    TICKET_ID,
    ToolSpec(
        name=TICKET_TOOL,
        title="Wait for a decision",
        description=DESCRIPTION,
        input_schema=SCHEMA,
        annotations={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": True},
    ),
)
"""Its hints are those of whatever tool the ticket is for."""


class TicketState(Enum):
    """By the words that people read."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    RUNNING = "running"
    DONE = "done"


class ConsentScope(Enum):
    """For how much a yes is meant."""

    ONCE = "once"
    CLIENT = "client"
    ALWAYS = "always"


@dataclass(frozen=True)
class NewTicket:
    """A call that somebody wants decided, as a ticket keeps it."""

    id: str
    call: CallId
    principal: PrincipalId
    client: str
    tool: ToolId
    name: WireName
    fingerprint: Fingerprint
    digest: str
    redacted_arguments: JsonObject
    """The arguments without what looks like a secret: kept after the decision, and shown to those who do not decide."""
    arguments: Mapping[str, Json]
    """All of them. A store keeps them encrypted or not at all."""
    displayed_arguments: JsonObject
    """As a person sees them who decides. A store keeps it in place of `shown` if it cannot keep the arguments."""
    identity: CredentialIdentity | None = None
    run: CallId | None = None
    """The program that waits for it, where one is kept for that."""
    filled_arguments: FilledArguments | None = None


@dataclass(frozen=True)
class Ticket:
    id: str
    principal: PrincipalId
    client: str
    tool: ToolId
    name: WireName
    fingerprint: Fingerprint
    digest: str
    redacted_arguments: JsonObject
    asked_at: datetime
    deadline: datetime
    """Of the decision while it waits; of its use once it is decided."""
    state: TicketState = TicketState.WAITING
    by: PrincipalId | None = None
    decided_at: datetime | None = None
    scope: ConsentScope | None = None
    note: str = ""
    started_at: datetime | None = None
    call: CallId | None = None
    """The call that used it."""
    outcome: str = ""
    """How that call ended, by the audit's word; or `WITHDRAWN` or `REVOKED`."""
    identity: CredentialIdentity | None = None
    """In whose name it runs, where the caller's request may bring that."""
    run: CallId | None = None
    """The program that waits for it, where one is kept for that. Its yes is no other's."""
    filled_arguments: FilledArguments | None = None
    """What overrides put into the call beside `shown`."""

    def state_at(self, now: datetime) -> TicketState:
        """What it is now: nothing has to be written for a deadline to pass. One that ended without being used has
        lapsed by every clock."""
        if self.state in (TicketState.WAITING, TicketState.ALLOWED) and (now > self.deadline or self.outcome):
            return TicketState.EXPIRED
        return self.state

    def is_of(self, principal: PrincipalId, client: str) -> bool:
        return (self.principal, self.client) == (principal, client)

    @property
    def confirmation(self) -> CallConfirmation:
        return CallConfirmation(self.tool, self.fingerprint, self.id, overrides=self.overrides)

    @property
    def overrides(self) -> str:
        return "" if self.filled_arguments is None else self.filled_arguments.digest


@dataclass(frozen=True)
class TicketDecision:
    """What a person says to one ticket."""

    state: TicketState
    by: PrincipalId
    at: datetime
    deadline: datetime
    scope: ConsentScope | None = None
    note: str = ""


@dataclass(frozen=True)
class TicketUse:
    """The ticket is used by this call and by no other."""

    ticket: Ticket
    arguments: Mapping[str, Json]


@dataclass(frozen=True)
class TooManyTickets:
    """So many calls wait already that no more may: of this principal, or in all."""

    limit: int
    is_per_principal: bool


@dataclass(frozen=True)
class ArgumentsTooLarge:
    """The arguments are larger than can be kept, so a person could not read all of them."""

    limit: int


def call_digest(call: ToolCall, tool: Tool, whose: CredentialIdentity | None = None, overrides: str = "") -> str:
    """Equal for the same call again: same caller, same client, same tool as it was, same arguments, same name that it
    runs in, and the same put in by overrides."""
    what: list[Json] = [call.principal, call.client, str(tool.id), tool.spec.fingerprint, dict(call.arguments)]
    if whose is not None:
        what.append(whose.tag)
    if overrides:
        what.append({"overrides": overrides})
    return hashlib.sha256(canonical_json(what)).hexdigest()


DISPLAY_LIMITS: Final = DisplayLimits(text=2_000, total=8_000, members=100)
"""How much of a call is displayed at first. All of it can be asked for."""


def build_new_ticket(
    id: str,
    call: ToolCall,
    tool: Tool,
    display: ArgumentDisplay,
    whose: CredentialIdentity | None = None,
    filled: FilledArguments | None = None,
) -> NewTicket:
    return NewTicket(
        id,
        call.id,
        call.principal,
        call.client,
        tool.id,
        call.name,
        tool.spec.fingerprint,
        call_digest(call, tool, whose, "" if filled is None else filled.digest),
        display.redact(tool.spec.input_schema, call.arguments),
        call.arguments,
        display.display(tool.spec.input_schema, call.arguments, DISPLAY_LIMITS).arguments,
        whose,
        call.kept_as,
        filled,
    )


_STATE_ORDER: Final = (TicketState.ALLOWED, TicketState.WAITING, TicketState.DENIED)


def deciding_ticket(tickets: Iterable[Ticket], now: datetime, run: CallId | None = None) -> Ticket | None:
    """Of all tickets for one and the same call, the one that decides what happens to it. A denial stands until its
    deadline, so that nobody is asked over and over; what waits or is allowed is for the program that asked alone."""
    found = [
        ticket
        for ticket in tickets
        if ticket.state_at(now) in _STATE_ORDER
        and now <= ticket.deadline
        and (ticket.run == run or ticket.state is TicketState.DENIED)
    ]
    return min(found, key=lambda ticket: _STATE_ORDER.index(ticket.state), default=None)


def refuse_call(
    ticket: Ticket, now: datetime, presentation: str = "", audience: Audience = Audience.AGENT
) -> ConfirmationRefusal:
    how = MissingConfirmation.DENIED if ticket.state_at(now) is TicketState.DENIED else MissingConfirmation.WAITING
    return ConfirmationRefusal(ticket.tool, how, describe_ticket(ticket, now, presentation, audience), ticket.id)


USED_CODE: Final = "confirmation_used"


def ticket_tool_answer(
    ticket: Ticket, now: datetime, presentation: str = "", audience: Audience = Audience.AGENT
) -> str:
    """Of the ticket tool, while it has no result: the word that every answer about a confirmation begins with."""
    match ticket.state_at(now):
        case TicketState.WAITING | TicketState.ALLOWED:
            word = MissingConfirmation.WAITING.value
        case TicketState.DENIED:
            word = MissingConfirmation.DENIED.value
        case TicketState.EXPIRED:
            word = MissingConfirmation.UNANSWERED.value
        case TicketState.RUNNING | TicketState.DONE:
            word = USED_CODE
    return f"{word}: {describe_ticket(ticket, now, presentation, audience)}"


def describe_ticket(ticket: Ticket, now: datetime, presentation: str = "", audience: Audience = Audience.AGENT) -> str:
    """To whoever made the call: what became of it, what to tell the user, and how to go on. `presentation` is how they
    are shown tools, where those are not listed themselves."""
    what = f"this call of {quote_short(ticket.name)}"
    match state := ticket.state_at(now):
        case TicketState.WAITING:
            # An operator has no tool to wait with.
            wait = (
                f"; or {describe_waiting_call(ticket.id, presentation)}, which waits for the decision and answers with "
                "the result"
                if audience is Audience.AGENT
                else ""
            )
            return (
                f"A person must confirm {what} first, so it has not run. It waits as ticket {ticket.id} "
                f"until {_format_time(ticket.deadline)}.\n"
                f"{request_decision(ticket.id, audience)}\n"
                f"Then repeat the call exactly as it was{wait}. Do not look for another way to do the same."
            )
        case TicketState.ALLOWED:
            return (
                f"Ticket {ticket.id} is allowed. Repeat {what} exactly as it was until {_format_time(ticket.deadline)}."
            )
        case TicketState.DENIED:
            note = f" They say: {redact_line(ticket.note)!r}." if ticket.note else ""
            stands = f" Until {_format_time(ticket.deadline)} nobody is asked again." if now <= ticket.deadline else ""
            return (
                f"A person denied {what} (ticket {ticket.id}), so it did not run.{note}{stands} "
                "Do not try it again or in another way, unless the user asks you to."
            )
        case TicketState.EXPIRED:
            if ticket.outcome == WITHDRAWN_NOTE:
                return (
                    f"Ticket {ticket.id} was withdrawn: the program that made {what} ended before, so it did not run. "
                    "Call it anew to ask again."
                )
            if ticket.outcome == REVOKED_NOTE:
                return (
                    f"Ticket {ticket.id} does not count any more: the permission that came with it was revoked, or its "
                    f"principal or server was removed or replaced, so {what} did not run. Call it anew to ask again."
                )
            if ticket.state is TicketState.ALLOWED:
                return (
                    f"Ticket {ticket.id} was allowed and not used in time, so {what} did not run. Call it anew to ask."
                )
            return f"Nobody decided about ticket {ticket.id} in time, so {what} did not run. Call it anew to ask again."
        case TicketState.RUNNING:
            since = "" if ticket.started_at is None else f" at {_format_time(ticket.started_at)}"
            return (
                f"Ticket {ticket.id} was used{since}, and no end of {what} is known: it still runs, or the gateway "
                "that ran it ended midway. It may have run: check what it did before you call it again."
            )
        case TicketState.DONE:
            return (
                f"Ticket {ticket.id} was used: {what} has run its course ({ticket.outcome}). One decision is for one "
                "call; call it anew to ask again."
            )
        case _:
            assert_never(state)


def request_decision(id: str, audience: Audience) -> str:
    return audience.request(
        f"look at it and decide: pegboard tickets show {id}, then pegboard tickets allow {id} or "
        f"pegboard tickets deny {id}"
    )


def describe_waiting_call(id: str, presentation: str) -> str:
    if presentation in ("", CHAT_PRESENTATION, "code"):
        return f'call {TICKET_TOOL} with {{"ticket": "{id}"}}'
    name, arguments = _PRESENTATION_MEMBERS.get(presentation, ("name", "arguments"))
    return f'call call_tool with {{"{name}": "{TICKET_TOOL}", "{arguments}": {{"ticket": "{id}"}}}}'


_PRESENTATION_MEMBERS: Final = {"meta": ("tool", "input")}
"""What `call_tool` takes, where that is not the same as everywhere."""


def explain_undecidable(ticket: Ticket, now: datetime) -> str:
    """To a person who decides about what cannot be decided any more."""
    by = "" if ticket.by is None else f" by {ticket.by}"
    match ticket.state_at(now):
        case TicketState.EXPIRED if ticket.outcome == WITHDRAWN_NOTE:
            return f"Ticket {ticket.id} was withdrawn: the program that asked has ended. Nothing is left to decide."
        case TicketState.EXPIRED if ticket.outcome == REVOKED_NOTE:
            return (
                f"Ticket {ticket.id} does not count any more: its principal or server was removed or replaced. Nothing "
                "is left to decide."
            )
        case TicketState.EXPIRED if ticket.state is TicketState.WAITING:
            return (
                f"Ticket {ticket.id} has expired: nobody decided in time. Its caller gets a new one by calling again."
            )
        case state:
            return f"Ticket {ticket.id} was decided before{by}: it is {state.value}. Its call must be made again."


def unknown_text(id: str) -> str:
    return f"You have no ticket {quote_short(id)}. The answer to a call that must be confirmed gives its ticket's id."


def too_many_text(tool: Tool, full: TooManyTickets, audience: Audience) -> str:
    whose = "of yours" if full.is_per_principal else "in all"
    return (
        f"A person must confirm this call of {quote_short(tool.id.name)} first, and {full.limit} calls {whose} wait "
        "for that "
        f"already, so it was not even asked for. {audience.request('decide about them: pegboard tickets list')}"
    )


def too_large_text(tool: Tool, most: int) -> str:
    return (
        f"A person must confirm this call of {quote_short(tool.id.name)} first, and its arguments are larger than "
        f"{most // 1024:,} KiB, so a person could not read all of them. It has not run. Send less in one call."
    )


def unread_text(ticket: Ticket) -> str:
    """To a person who would allow what cannot be shown to them."""
    return (
        f"Ticket {ticket.id} cannot be allowed: its arguments were not kept whole, because the gateway has no key to "
        "encrypt them with, so you cannot see all of what would run. Deny it, and run: pegboard doctor"
    )


def explain_not_revealable(ticket: Ticket, now: datetime) -> str | None:
    """Why masked values of this ticket cannot be revealed any more; `None` while it waits."""
    if ticket.state_at(now) is TicketState.WAITING:
        return None
    return (
        f"Ticket {ticket.id} does not wait any more: it is {ticket.state_at(now).value}. Only a waiting call is "
        "revealed."
    )


def quote_short(text: str) -> str:
    """A name within a sentence: quoted, on one line, and whatever does not show is written out."""
    return "'{}'".format(escape_name(cut_text(text, 128)).replace("'", "\\'"))


def _format_time(at: datetime) -> str:
    return f"{at:%H:%M:%S} {at.tzname() or ''}".rstrip()


# Tickets whose tools went with their toolset or server: nothing is left that a decision could let run.


def is_on_board(ticket: Ticket, policy: Policy) -> bool:
    """A tool that its server does not list now may come back; one without a server does not."""
    source = ticket.tool.source
    return isinstance(source, BuiltinKey) or source in policy.servers


def confirms_one_call(ticket: Ticket, policy: Policy, tool: Tool | None) -> bool:
    """Whether a person must see each such call. Nobody set that the tool must be confirmed, so it was this one alone;
    or `tool`, as it is now, may change a database, and a yes to all of its calls would be one to statements that
    nobody saw."""
    if not isinstance(ticket.tool.source, BuiltinKey):
        return False
    tool = _tool_seen_by_caller(ticket, policy, tool)
    may_change = isinstance(tool, DatabaseTool) and not tool.spec.hints.read_only
    return may_change or not policy.overrides.requires_confirmation(ticket.tool)


def needs_second_step(ticket: Ticket, policy: Policy, tool: Tool | None) -> bool:
    """Whether a standing permission needs a second confirmation: the tool claims to be destructive; or it is not
    listed as the ticket has it, so that nobody knows what it claims."""
    tool = _tool_seen_by_caller(ticket, policy, tool)
    return tool is None or tool.spec.fingerprint != ticket.fingerprint or tool.spec.claims_destructive


def _tool_seen_by_caller(ticket: Ticket, policy: Policy, tool: Tool | None) -> Tool | None:
    databases = policy.allowed_databases(ticket.principal)
    return tool.narrow_to(databases) if isinstance(tool, DatabaseTool) and databases is not None else tool


def withdraw_if_orphaned(ticket: Ticket, policy: Policy) -> Ticket:
    is_open = ticket.state in (TicketState.WAITING, TicketState.ALLOWED)
    return replace(ticket, state=TicketState.EXPIRED) if is_open and not is_on_board(ticket, policy) else ticket


def withdrawn_text(ticket: Ticket) -> str:
    return (
        f"Ticket {ticket.id} is for {ticket.tool}, which is not on the board any more: {ticket.tool.source} was "
        "removed. There is nothing to decide."
    )


# How the call of a ticket ended, in a clause that people read.


def describe_end(ended: Outcome | Refusal) -> str:
    match ended:
        case ToolSuccess():
            return "it returned"
        case ToolFailure():
            return "its tool failed"
        case NeedsInput():
            return "its tool asked back"
        case ProviderFailure(_, may_have_run):
            return "it broke off and may have run" if may_have_run else "it broke off and did not run"
        case CallCancellation():
            return "its caller gave it up, and it may have run"
        case ProtocolErrorReply():
            return "its server asked something of the client first"
        case ConfirmationRefusal(ticket=str()):
            return "it waits for another decision"
        case _:
            return "it was refused and did not run"


# What a person is asked in their own client about one call, and what their answer is worth.

MAX_ARGUMENT_CHARACTERS: Final = 16_000
"""Of a question in a client, which is read in a small dialog and cannot be scrolled back to."""


def confirmation_question(
    tool: Tool,
    call: ToolCall,
    display: ArgumentDisplay,
    whose: CredentialIdentity | None = None,
    filled: FilledArguments | None = None,
) -> str | None:
    """What a person is asked through their own client. Without the tool's own words, which may be written for this.

    `None` where not all of the call fits into a question, or a part of it is masked: nobody is asked about what they
    cannot read, and only at a ticket can a value be revealed.
    """
    client = f" The call comes from {quote_short(call.client)}." if call.client else ""
    runs = "" if whose is None else f" It runs at {quote_short(whose.description)}."
    displayed = display.display(tool.spec.input_schema, call.arguments, NO_DISPLAY_LIMITS)
    arguments = to_json_line(displayed.arguments) + _filled_text(filled)
    if len(arguments) > MAX_ARGUMENT_CHARACTERS or displayed.masked_paths:
        return None
    return (
        f"May the tool {quote_short(tool.id.name)} of {quote_short(str(tool.id.source))} run now?{client}{runs}\n\n"
        f"Its arguments, {describe_masking(0)}: {arguments}"
    )


def _filled_text(filled: FilledArguments | None) -> str:
    """What the call has beside the arguments that its caller sent."""
    if filled is None:
        return ""
    defaults = f"\n\n{DEFAULTS_TEXT}: {to_json_line(dict(filled.defaults))}" if filled.defaults else ""
    pinned = f"\n\n{PINNED_TEXT}: {', '.join(map(quote_short, filled.pinned_names))}" if filled.pinned_names else ""
    return f"{defaults}{pinned}"


DEFAULTS_TEXT: Final = "Filled in by the operator's override"
PINNED_TEXT: Final = "Pinned by the operator, values not shown"
NOT_READABLE_IN_CLIENT: Final = (
    "This client was not asked, because its question cannot show the whole call: the arguments are too long, or a part "
    "of them is masked as secret."
)
ANSWER_FIELD: Final = "answer"
YES_VALUE: Final = "yes"
ANSWER_FORM: Final[JsonObject] = {
    "type": "object",
    "properties": {
        ANSWER_FIELD: {
            "type": "string",
            "title": "Run it?",
            "description": "yes runs this one call; no refuses it.",
            "enum": ["no", YES_VALUE],
        }
    },
    "required": [ANSWER_FIELD],
}


def is_yes(answer: Mapping[str, Json]) -> bool:
    """Only what was asked for, in so many words. Whatever else a client answers is no approval."""
    content = answer.get("content")
    return answer.get("action") == "accept" and isinstance(content, dict) and content.get(ANSWER_FIELD) == YES_VALUE


def refuse_by_answer(tool: Tool, answer: Mapping[str, Json] | None) -> ConfirmationRefusal:
    """`None` when nobody answered in time."""
    what = f"this call of {quote_short(tool.id.name)}"
    if answer is None:
        why = f"Nobody answered whether {what} may run, so it did not. Ask the user before you try again."
        return ConfirmationRefusal(tool.id, MissingConfirmation.UNANSWERED, why)
    content = answer.get("content")
    no = isinstance(content, dict) and content.get(ANSWER_FIELD) == "no"
    match answer.get("action"):
        case "decline":
            said = f"The user declined {what}"
        case "accept" if no:
            said = f"The user said no to {what}"
        case "cancel":
            said = f"The user was asked about {what} and did not decide"
        case _:
            said = f"The answer to whether {what} may run was not a plain yes"
    why = f"{said}, so it did not run. Do not try it again or in another way, unless the user asks you to."
    return ConfirmationRefusal(tool.id, MissingConfirmation.DENIED, why)


# What a server may ask of a client while a tool runs, and which client may be asked it.

ELICITATION: Final = "elicitation/create"
SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"

UNKNOWN_METHOD: Final = -32601
BAD_PARAMETERS: Final = -32602
"""The protocol's codes: a client without the capability would answer with the first, one that has only a part of it
with the second."""


@dataclass(frozen=True)
class QuestionRefusal:
    """Why a client must not be asked this: it did not say that it knows such questions."""

    code: int
    why: str


def refuse_question(can: Mapping[str, Json], method: str, params: Mapping[str, Json]) -> QuestionRefusal | None:
    """`None` when a client with these capabilities may be asked."""
    match method:
        case "elicitation/create":
            return _refuse_elicitation(can.get("elicitation"), params.get("mode", "form"))
        case "sampling/createMessage":
            offered = can.get("sampling")
            if not isinstance(offered, dict):
                return _refuse_undeclared("sampling")
            if ("tools" in params or "toolChoice" in params) and "tools" not in offered:
                return QuestionRefusal(BAD_PARAMETERS, "The client knows sampling, but not with tools.")
            return None
        case "roots/list":
            return None if isinstance(can.get("roots"), dict) else _refuse_undeclared("roots")
        case _:
            return QuestionRefusal(UNKNOWN_METHOD, f"{method[:128]!r} is nothing that a client can be asked.")


def _refuse_elicitation(offered: Json, mode: Json) -> QuestionRefusal | None:
    if not isinstance(offered, dict):
        return _refuse_undeclared("elicitation")
    # A client that names no mode means forms: that was all there was when it was written.
    if mode == "form" and not offered.keys() & {"form", "url"}:
        return None
    if isinstance(mode, str) and mode in offered:
        return None
    return QuestionRefusal(BAD_PARAMETERS, f"The client knows elicitation, but not in the mode {str(mode)[:128]!r}.")


def _refuse_undeclared(capability: str) -> QuestionRefusal:
    return QuestionRefusal(
        UNKNOWN_METHOD, f"The client that made the call did not declare the capability {capability!r}."
    )
