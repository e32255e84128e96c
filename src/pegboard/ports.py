"""What the gateway asks of the world. Adapters implement these; the core never sees them."""

from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from .core.activity import Decision
from .core.ask import Answer, Directed
from .core.call import Admitted, CallRecord, Outcome
from .core.catalogue import Listing
from .core.ids import CallId, PrincipalId, ServerKey, Source
from .core.policy import Decided
from .core.server import Server
from .core.ticket import Begun, Ruling, Ticket, TooMany, Wanted
from .core.tool import Json

Ring: TypeAlias = Callable[[], None]
"""A bell: it carries nothing. Whoever hears it asks again."""

Clock: TypeAlias = Callable[[], datetime]
"""The time now, with its zone."""

Progress: TypeAlias = Callable[[float, float | None, str | None], None]
"""How far a call has come: done, of how much, in words."""


class CannotAsk(Exception):  # noqa: N818 - it is an answer, told to whoever asked
    """A question that the client did not answer: the protocol's error, as it is told to the server that asked."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Peer(Protocol):
    """Whoever made a call, while it runs: what a server says to it on the way, and asks of it.

    The one channel back. Only `providers/mcp` speaks into it, and only `surfaces/mcp` listens at the other end.
    """

    @property
    def can(self) -> Mapping[str, Json]:
        """The capabilities that the client declared (`sampling`, `elicitation`, `roots`); empty for none."""
        ...

    @property
    def who(self) -> Hashable:
        """Equal for all calls of one client connection: a question may be put to any of them."""
        ...

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        """A notification about the call, such as a log message. Never waits; what cannot be told is dropped."""
        ...

    async def ask(
        self, method: str, params: Mapping[str, Json], last: "Callable[[], Peer] | None" = None
    ) -> Mapping[str, Json]:
        """A request of the server's own (`elicitation/create`, `sampling/createMessage`, `roots/list`) and the
        client's answer to it. Raises `CannotAsk`.

        A question may outlive the call that it was put in, where it may be another's as well: `last` is then in whose
        call the client still hears that it is taken back.
        """
        ...


Updated: TypeAlias = Callable[[str], None]
"""Told the URI of a resource that may differ now. It is to be read again: the word carries no content."""


class Library(Protocol):
    """What a source offers beside tools: read, filled in, completed and followed."""

    async def ask(self, directed: Directed, progress: Progress | None = None, peer: Peer | None = None) -> Answer:
        """Never raises for what a server does; a cancelled question is cancelled upstream."""
        ...

    async def subscribe(self, uri: str, updated: Updated) -> Answer:
        """Tell of changes of this resource until `unsubscribe`, over every reconnect. Unless it answers `Told`,
        nothing is followed. One subscription a URI: another takes the place of the former."""
        ...

    async def unsubscribe(self, uri: str) -> None: ...


class Provider(Protocol):
    """A source of tools. Whoever made it runs it in a task of their own and hears its bell."""

    @property
    def source(self) -> Source: ...

    def listing(self) -> Listing:
        """The latest word, at once and without waiting."""
        ...

    async def run(self, ring: Ring) -> None:
        """Keep the source alive until cancelled: start, watch, restart. Rings whenever the listing may differ."""
        ...

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        """Never raises for what a server does; a cancelled call is cancelled upstream."""
        ...

    @property
    def library(self) -> Library | None:
        """Whoever answers for what the source offers beside tools; `None` when it never offers anything."""
        ...

    def restart(self) -> None:
        """Start over now, whatever the state."""
        ...

    def log(self) -> Sequence[str]:
        """The last lines the source wrote, oldest first."""
        ...


@runtime_checkable
class Meets(Protocol):
    """A provider that may know its tools only when a caller lends it a name."""

    def meet(self, headers: Mapping[bytes, bytes]) -> bool:
        """A caller with these headers is here. Whether that set something going that is worth waiting for."""
        ...


@runtime_checkable
class Leaves(Protocol):
    """A provider that can tell those who wait for it why it is being stopped."""

    def leave(self, why: str) -> None:
        """Take no more calls. `why` reads on from its name; whoever runs it cancels it next."""
        ...


ProviderFor: TypeAlias = Callable[[Server], Provider]


@dataclass(frozen=True, slots=True)
class Saved:
    version: int


@dataclass(frozen=True, slots=True)
class Stale:
    """Someone else decided meanwhile: nothing was written. Load again and look before deciding."""

    current: int


class PolicyStore(Protocol):
    async def load(self) -> Decided: ...

    async def save(self, before: Decided, after: Decided, *, by: PrincipalId, what: str, at: datetime) -> Saved | Stale:
        """All of the change or nothing of it, and only if `before` is still what the store holds."""
        ...

    def changes(self) -> AsyncIterator[None]:
        """Yields when another process may have saved."""
        ...


@dataclass(frozen=True)
class AuditQuery:
    """Every field narrows. The latest written first; `before` is a record's number, for paging."""

    tool: str | None = None
    """By its id."""
    name: str | None = None
    """By the name it was called by."""
    server: str | None = None
    """A server's key: calls of its tools, and decisions about it or them."""
    principal: str | None = None
    client: str | None = None
    kind: str | None = None
    """`call`, `refusal`, or that of a decision; `decision` for all of those."""
    ended: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    limit: int = 100


@dataclass(frozen=True)
class AuditRow:
    """One call or one decision. A decision has neither a duration nor sizes, and a call that was recorded by an older
    version has no tokens."""

    number: int
    at: datetime
    call_id: str
    parent_id: str | None
    principal: str
    client: str
    name: str
    tool: str | None
    """The id of the tool; of a decision, the id of whatever it is about."""
    ended: str
    """`returned`, `tool_failed`, `needs_input`, `demanded`, `provider_failed`, `cancelled`, or a refusal:
    `unknown_tool`, `bad_arguments`, `confirmation_…`, or the status of a locked tool. Of a decision
    `done`, `rejected`, `stale` or `not_saved`, or a word of its own."""
    said: str
    took_us: int
    argument_bytes: int
    result_bytes: int
    kind: str = "call"
    policy_version: int | None = None
    argument_tokens: int | None = None
    result_tokens: int | None = None
    arguments: str | None = None
    """Redacted and cut; `None` unless the settings say that they are kept."""
    result: str | None = None
    presentation: str | None = None
    """How the caller is shown tools; `None` where each is shown as itself."""


@dataclass(frozen=True)
class Back:
    """The latest first; there may be older ones that fit, before that number, unless it is `None`."""

    rows: Sequence[AuditRow]
    before: int | None


@dataclass(frozen=True)
class Onward:
    """Records in the order in which they were written, and the number from which to go on."""

    rows: Sequence[AuditRow]
    after: int


class StoreAway(Exception):  # noqa: N818 - it is told to a person as a sentence
    """The store cannot be asked now; the message says why, and what to do."""


class Audit(Protocol):
    """Its questions raise `StoreAway`."""

    def record(self, record: CallRecord) -> None:
        """Never waits and never fails: a full queue drops the record and counts it."""
        ...

    def note(self, decision: Decision) -> None:
        """The same for what is no call."""
        ...

    async def back(self, query: AuditQuery) -> Back:
        """Up to so many as asked for, and fewer where it would take long to find them: then ask on from `before`."""
        ...

    async def row(self, number: int) -> AuditRow | None: ...

    async def onward(self, query: AuditQuery, after: int, wait: float = 0) -> Onward:
        """What was written after that number, by any process, each record once. With `wait`, waits so many seconds for
        the first one."""
        ...

    async def latest(self) -> int:
        """The highest number so far, from which to follow what comes."""
        ...

    @property
    def dropped(self) -> int: ...


@dataclass(frozen=True)
class Unreadable:
    """Something is kept, and nobody can read it: a sentence that says why, and what to do."""

    why: str


class SecretsAway(Exception):  # noqa: N818 - it is told to a person as a sentence
    """Secrets can neither be read nor kept now; the message says why, and what to do."""


class Secrets(Protocol):
    """What is kept encrypted, by name. Raises `SecretsAway`."""

    async def read(self, name: str) -> bytes | Unreadable | None: ...

    async def write(self, name: str, value: bytes) -> None: ...

    async def forget(self, name: str) -> None: ...


class TicketsAway(Exception):  # noqa: N818 - it is told to a caller as a sentence
    """Tickets can neither be read nor kept now; the message says why, and what to do."""


class TicketStore(Protocol):
    """Calls that wait for a person. Every step happens once, whichever process asks. Raises `TicketsAway`."""

    async def claim(self, wanted: Wanted, now: datetime, deadline: datetime) -> Begun | Ticket | TooMany:
        """Use the yes that is there for this very call; else tell the ticket that stands for it, or make one."""
        ...

    async def begin(self, ticket: Ticket, call: CallId, now: datetime) -> Begun | None:
        """Use this ticket's yes, with the arguments it was asked with. `None` when that cannot be, and nothing is."""
        ...

    async def end(self, id: str, ended: str, call: CallId) -> None:
        """The call that used the ticket has ended so."""
        ...

    async def decide(self, id: str, ruling: Ruling) -> bool:
        """Whether the ticket was waiting, and so is decided by this now."""
        ...

    async def find(self, id: str) -> Ticket | None: ...

    async def arguments(self, id: str) -> Mapping[str, Json] | None:
        """All arguments of the call that the ticket is for. `None` where they are not kept, or not any more."""
        ...

    async def listed(self, *, waiting_at: datetime | None = None, limit: int = 100) -> Sequence[Ticket]:
        """Latest first; with a time, only those that wait for a decision then, the next deadline first."""
        ...


@dataclass(frozen=True)
class NoSignIn:
    """Why there is no sign-in to be had, as a sentence for the person who wanted one."""

    why: str


@dataclass(frozen=True)
class SentTo:
    """Where a person's browser goes to sign in, and the mark that it must bring back."""

    url: str
    mark: str = field(repr=False)


@dataclass(frozen=True)
class SignedIn:
    """The server that a person has signed in to."""

    server: ServerKey


@dataclass(frozen=True)
class SignInState:
    """Whether somebody is signed in to a server, since when, and what went wrong at the last try."""

    since: datetime | None = None
    trouble: str | None = None
    last: datetime | None = None
    """When somebody last did, even if the server has taken it no longer since."""


class SignIns(Protocol):
    """Signing in to servers: a person follows a link of ours to the server's own page and comes back."""

    def state(self, server: ServerKey) -> SignInState | NoSignIn: ...

    def link(self, server: ServerKey) -> str | NoSignIn:
        """A new link that works once, and for a few minutes."""
        ...

    async def begin(self, link: str) -> SentTo | NoSignIn:
        """By the last part of a link."""
        ...

    async def finish(self, answer: Mapping[str, str], mark: str) -> SignedIn | NoSignIn:
        """With what the server's page sent the person back with, and the mark of their browser."""
        ...

    async def forget(self, server: ServerKey) -> bool | NoSignIn:
        """Whether the server was told to forget too. On our side nothing is left of the sign-in either way."""
        ...


@dataclass(frozen=True)
class Unresolved:
    """A `${…}` reference that stands for nothing: what it was, and what to do."""

    why: str


Expand: TypeAlias = Callable[[str], str | Unresolved]
"""Replaces `${NAME}`, `${NAME:-default}` and `${file:path}` in a text, at the moment the value is needed."""

ExpandFor: TypeAlias = Callable[[Mapping[bytes, bytes]], Expand]
"""The same in the name of a caller with these headers, which are what `${request:Header}` stands for."""
