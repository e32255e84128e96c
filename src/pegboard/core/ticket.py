"""A ticket: one call that waits for a person's decision, what can become of it, and the words about it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, assert_never

from .call import Call, Confirmed, NotConfirmed, Unconfirmed
from .characters import escape_name
from .ids import BuiltinKey, CallId, PrincipalId, ToolId, WireName
from .redact import Bounds, cut_text, safe_text
from .secret_marks import ArgumentDisplay
from .shaping import FilledIn
from .tool import Fingerprint, Json, JsonObject, Tool, ToolSpec, canonical
from .whose import Whose

TICKET_TOOL: Final = WireName("pegboard_ticket")
"""The tool by which a caller waits for a decision. No other tool gets this name."""
TICKET_ID: Final = ToolId(BuiltinKey(), TICKET_TOOL)
CHAT: Final = "chat"
"""The presentation of a chat, in which this tool is called by its own name."""
WITHDRAWN: Final = "withdrawn"
"""How the call ended of a ticket that lapsed because the program which made it was over before anybody decided."""
REVOKED: Final = "revoked"
"""The same of a ticket whose unused yes went with a standing permission that was revoked, or with its principal."""
LONGEST_WAIT: Final = 600
USUAL_WAIT: Final = 30

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
            "maximum": LONGEST_WAIT,
            "default": USUAL_WAIT,
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


class State(Enum):
    """By the words that people read."""

    WAITING = "waiting"
    GRANTED = "allowed"
    DENIED = "denied"
    LAPSED = "expired"
    BEGUN = "running"
    ENDED = "done"


class Scope(Enum):
    """For how much a yes is meant."""

    ONCE = "once"
    CLIENT = "client"
    ALWAYS = "always"


@dataclass(frozen=True)
class Wanted:
    """A call that somebody wants decided, as a ticket keeps it."""

    id: str
    call: CallId
    principal: PrincipalId
    client: str
    tool: ToolId
    name: WireName
    fingerprint: Fingerprint
    digest: str
    shown: JsonObject
    """The arguments without what looks like a secret: kept after the decision, and shown to those who do not decide."""
    arguments: Mapping[str, Json]
    """All of them. A store keeps them encrypted or not at all."""
    displayed: JsonObject
    """As a person sees them who decides. A store keeps it in place of `shown` if it cannot keep the arguments."""
    whose: Whose | None = None
    run: CallId | None = None
    """The program that waits for it, where one is kept for that."""
    filled: FilledIn | None = None


@dataclass(frozen=True)
class Ticket:
    id: str
    principal: PrincipalId
    client: str
    tool: ToolId
    name: WireName
    fingerprint: Fingerprint
    digest: str
    shown: JsonObject
    asked: datetime
    deadline: datetime
    """Of the decision while it waits; of its use once it is decided."""
    state: State = State.WAITING
    by: PrincipalId | None = None
    decided: datetime | None = None
    scope: Scope | None = None
    note: str = ""
    begun: datetime | None = None
    call: CallId | None = None
    """The call that used it."""
    ended: str = ""
    """How that call ended, by the audit's word; or `WITHDRAWN` or `REVOKED`."""
    whose: Whose | None = None
    """In whose name it runs, where the caller's request may bring that."""
    run: CallId | None = None
    """The program that waits for it, where one is kept for that. Its yes is no other's."""
    filled: FilledIn | None = None
    """What overrides put into the call beside `shown`."""

    def at(self, now: datetime) -> State:
        """What it is now: nothing has to be written for a deadline to pass. One that ended without being used has
        lapsed by every clock."""
        if self.state in (State.WAITING, State.GRANTED) and (now > self.deadline or self.ended):
            return State.LAPSED
        return self.state

    def is_of(self, principal: PrincipalId, client: str) -> bool:
        return (self.principal, self.client) == (principal, client)

    @property
    def yes(self) -> Confirmed:
        return Confirmed(self.tool, self.fingerprint, self.id, overrides=self.overrides)

    @property
    def overrides(self) -> str:
        return "" if self.filled is None else self.filled.tag


@dataclass(frozen=True)
class Ruling:
    """What a person says to one ticket."""

    state: State
    by: PrincipalId
    at: datetime
    deadline: datetime
    scope: Scope | None = None
    note: str = ""


@dataclass(frozen=True)
class Begun:
    """The ticket is used by this call and by no other."""

    ticket: Ticket
    arguments: Mapping[str, Json]


@dataclass(frozen=True)
class TooMany:
    """So many calls wait already that no more may: of this principal, or in all."""

    most: int
    of_one: bool


@dataclass(frozen=True)
class TooLarge:
    """The arguments are larger than can be kept, so a person could not read all of them."""

    most: int


def digest(call: Call, tool: Tool, whose: Whose | None = None, overrides: str = "") -> str:
    """Equal for the same call again: same caller, same client, same tool as it was, same arguments, same name that it
    runs in, and the same put in by overrides."""
    what: list[Json] = [call.principal, call.client, str(tool.id), tool.spec.fingerprint, dict(call.arguments)]
    if whose is not None:
        what.append(whose.tag)
    if overrides:
        what.append({"overrides": overrides})
    return hashlib.sha256(canonical(what)).hexdigest()


DISPLAYED: Final = Bounds(text=2_000, whole=8_000, members=100)
"""How much of a call is displayed at first. All of it can be asked for."""


def wanted(
    id: str,
    call: Call,
    tool: Tool,
    display: ArgumentDisplay,
    whose: Whose | None = None,
    filled: FilledIn | None = None,
) -> Wanted:
    return Wanted(
        id,
        call.id,
        call.principal,
        call.client,
        tool.id,
        call.name,
        tool.spec.fingerprint,
        digest(call, tool, whose, "" if filled is None else filled.tag),
        display.redact(tool.spec.input_schema, call.arguments),
        call.arguments,
        display.display(tool.spec.input_schema, call.arguments, DISPLAYED).arguments,
        whose,
        call.kept_as,
        filled,
    )


_ORDER: Final = (State.GRANTED, State.WAITING, State.DENIED)


def standing(tickets: Iterable[Ticket], now: datetime, run: CallId | None = None) -> Ticket | None:
    """Of all tickets for one and the same call, the one that decides what happens to it. A denial stands until its
    deadline, so that nobody is asked over and over; what waits or is allowed is for the program that asked alone."""
    found = [
        ticket
        for ticket in tickets
        if ticket.at(now) in _ORDER and now <= ticket.deadline and (ticket.run == run or ticket.state is State.DENIED)
    ]
    return min(found, key=lambda ticket: _ORDER.index(ticket.state), default=None)


def refused(ticket: Ticket, now: datetime, presentation: str = "") -> NotConfirmed:
    how = Unconfirmed.DENIED if ticket.at(now) is State.DENIED else Unconfirmed.WAITING
    return NotConfirmed(ticket.tool, how, told(ticket, now, presentation), ticket.id)


USED: Final = "confirmation_used"


def answer(ticket: Ticket, now: datetime, presentation: str = "") -> str:
    """Of the ticket tool, while it has no result: the word that every answer about a confirmation begins with."""
    match ticket.at(now):
        case State.WAITING | State.GRANTED:
            word = Unconfirmed.WAITING.value
        case State.DENIED:
            word = Unconfirmed.DENIED.value
        case State.LAPSED:
            word = Unconfirmed.UNANSWERED.value
        case State.BEGUN | State.ENDED:
            word = USED
    return f"{word}: {told(ticket, now, presentation)}"


def told(ticket: Ticket, now: datetime, presentation: str = "") -> str:
    """To whoever made the call: what became of it, what to tell the user, and how to go on. `presentation` is how they
    are shown tools, where those are not listed themselves."""
    what = f"this call of {short(ticket.name)}"
    match state := ticket.at(now):
        case State.WAITING:
            return (
                f"A person must confirm {what} first, so it has not run. It waits as ticket {ticket.id} "
                f"until {_time(ticket.deadline)}.\n"
                f"Ask the user to look at it and decide: pegboard tickets show {ticket.id}, then "
                f"pegboard tickets allow {ticket.id} or pegboard tickets deny {ticket.id}\n"
                f"Then repeat the call exactly as it was; or {waiting_call(ticket.id, presentation)}, "
                "which waits for the decision and answers with the result. "
                "Do not look for another way to do the same."
            )
        case State.GRANTED:
            return f"Ticket {ticket.id} is allowed. Repeat {what} exactly as it was until {_time(ticket.deadline)}."
        case State.DENIED:
            note = f" They say: {safe_text(ticket.note)!r}." if ticket.note else ""
            stands = f" Until {_time(ticket.deadline)} nobody is asked again." if now <= ticket.deadline else ""
            return (
                f"A person denied {what} (ticket {ticket.id}), so it did not run.{note}{stands} "
                "Do not try it again or in another way, unless the user asks you to."
            )
        case State.LAPSED:
            if ticket.ended == WITHDRAWN:
                return (
                    f"Ticket {ticket.id} was withdrawn: the program that made {what} ended before, so it did not run. "
                    "Call it anew to ask again."
                )
            if ticket.ended == REVOKED:
                return (
                    f"Ticket {ticket.id} does not count any more: the permission that came with it was revoked, or its "
                    f"principal or server was removed or replaced, so {what} did not run. Call it anew to ask again."
                )
            if ticket.state is State.GRANTED:
                return (
                    f"Ticket {ticket.id} was allowed and not used in time, so {what} did not run. Call it anew to ask."
                )
            return f"Nobody decided about ticket {ticket.id} in time, so {what} did not run. Call it anew to ask again."
        case State.BEGUN:
            since = "" if ticket.begun is None else f" at {_time(ticket.begun)}"
            return (
                f"Ticket {ticket.id} was used{since}, and no end of {what} is known: it still runs, or the gateway "
                "that ran it ended midway. It may have run: check what it did before you call it again."
            )
        case State.ENDED:
            return (
                f"Ticket {ticket.id} was used: {what} has run its course ({ticket.ended}). One decision is for one "
                "call; call it anew to ask again."
            )
        case _:
            assert_never(state)


def waiting_call(id: str, presentation: str) -> str:
    if presentation in ("", CHAT, "code"):
        return f'call {TICKET_TOOL} with {{"ticket": "{id}"}}'
    name, arguments = _PASSED_ON.get(presentation, ("name", "arguments"))
    return f'call call_tool with {{"{name}": "{TICKET_TOOL}", "{arguments}": {{"ticket": "{id}"}}}}'


_PASSED_ON: Final = {"meta": ("tool", "input")}
"""What `call_tool` takes, where that is not the same as everywhere."""


def undecidable(ticket: Ticket, now: datetime) -> str:
    """To a person who decides about what cannot be decided any more."""
    by = "" if ticket.by is None else f" by {ticket.by}"
    match ticket.at(now):
        case State.LAPSED if ticket.ended == WITHDRAWN:
            return f"Ticket {ticket.id} was withdrawn: the program that asked has ended. Nothing is left to decide."
        case State.LAPSED if ticket.ended == REVOKED:
            return (
                f"Ticket {ticket.id} does not count any more: its principal or server was removed or replaced. Nothing "
                "is left to decide."
            )
        case State.LAPSED if ticket.state is State.WAITING:
            return (
                f"Ticket {ticket.id} has expired: nobody decided in time. Its caller gets a new one by calling again."
            )
        case state:
            return f"Ticket {ticket.id} was decided before{by}: it is {state.value}. Its call must be made again."


def unknown_text(id: str) -> str:
    return f"You have no ticket {short(id)}. The answer to a call that must be confirmed gives its ticket's id."


def too_many_text(tool: Tool, full: TooMany) -> str:
    whose = "of yours" if full.of_one else "in all"
    return (
        f"A person must confirm this call of {short(tool.id.name)} first, and {full.most} calls {whose} wait for that "
        "already, so it was not even asked for. Ask the user to decide about them: pegboard tickets list"
    )


def too_large_text(tool: Tool, most: int) -> str:
    return (
        f"A person must confirm this call of {short(tool.id.name)} first, and its arguments are larger than "
        f"{most // 1024:,} KiB, so a person could not read all of them. It has not run. Send less in one call."
    )


def unread_text(ticket: Ticket) -> str:
    """To a person who would allow what cannot be shown to them."""
    return (
        f"Ticket {ticket.id} cannot be allowed: its arguments were not kept whole, because the gateway has no key to "
        "encrypt them with, so you cannot see all of what would run. Deny it, and run: pegboard doctor"
    )


def not_revealable(ticket: Ticket, now: datetime) -> str | None:
    """Why masked values of this ticket cannot be revealed any more; `None` while it waits."""
    if ticket.at(now) is State.WAITING:
        return None
    return f"Ticket {ticket.id} does not wait any more: it is {ticket.at(now).value}. Only a waiting call is revealed."


def short(text: str) -> str:
    """A name within a sentence: quoted, on one line, and whatever does not show is written out."""
    return "'{}'".format(escape_name(cut_text(text, 128)).replace("'", "\\'"))


def _time(at: datetime) -> str:
    return f"{at:%H:%M:%S} {at.tzname() or ''}".rstrip()
