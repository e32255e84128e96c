"""Providers of tools, and the client behind a call."""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, Self, TypeAlias, runtime_checkable

from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Listing
from pegboard.core.model.ids import PrincipalId, ServerKey, SourceKey
from pegboard.core.model.server import Server
from pegboard.core.model.tool import ToolsetLimits, ToolSpec
from pegboard.core.policy.policy import CredentialIdentity
from pegboard.core.resources.requests import ResourceAnswer, RoutedRequest

ChangeCallback: TypeAlias = Callable[[], None]
"""A bell: it carries nothing. Whoever hears it asks again."""


def ignore(*_: object) -> None:
    """For whoever must be told something that nobody wants to know: a change, progress, a line of a log."""


Clock: TypeAlias = Callable[[], datetime]
"""The time now, with its zone."""

Progress: TypeAlias = Callable[[float, float | None, str | None], None]
"""How far a call has come: done, of how much, in words."""


class PeerRequestError(Exception):
    """A question that the client did not answer: the protocol's error, as it is told to the server that asked."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ClientPeer(Protocol):
    """Whoever made a call, while it runs: what a server says to it on the way, and asks of it.

    The one channel back. Only `providers/mcp` speaks into it, and only `surfaces/mcp` listens at the other end.
    """

    @property
    def capabilities(self) -> Mapping[str, Json]:
        """The capabilities that the client declared (`sampling`, `elicitation`, `roots`); empty for none."""
        ...

    @property
    def connection_key(self) -> Hashable:
        """Equal for all calls of one client connection: a question may be put to any of them."""
        ...

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        """A notification about the call, such as a log message. Never waits; what cannot be told is dropped."""
        ...

    async def request(
        self, method: str, params: Mapping[str, Json], last: "Callable[[], ClientPeer] | None" = None
    ) -> Mapping[str, Json]:
        """A request of the server's own (`elicitation/create`, `sampling/createMessage`, `roots/list`) and the
        client's answer to it. Raises `PeerRequestError`.

        A question may outlive the call that it was put in, where it may be another's as well: `last` is then in whose
        call the client still hears that it is taken back.
        """
        ...


ResourceCallback: TypeAlias = Callable[[str], None]
"""Told the URI of a resource that may differ now. It is to be read again: the word carries no content."""


class ResourceProvider(Protocol):
    """What a source offers beside tools: read, filled in, completed and followed."""

    async def request(
        self, directed: RoutedRequest, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> ResourceAnswer:
        """Never raises for what a server does; a cancelled question is cancelled upstream."""
        ...

    async def subscribe(self, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        """Tell of changes of this resource until `unsubscribe`, over every reconnect. Unless it answers
        `ResourceResult`, nothing is followed. One subscription a URI: another takes the place of the former."""
        ...

    async def unsubscribe(self, uri: str) -> None: ...


class Provider(Protocol):
    """A source of tools. Whoever made it runs it in a task of their own and hears its bell."""

    @property
    def source(self) -> SourceKey: ...

    def listing(self) -> Listing:
        """The latest word, at once and without waiting."""
        ...

    async def run(self, ring: ChangeCallback) -> None:
        """Keep the source alive until cancelled: start, watch, restart. Rings whenever the listing may differ."""
        ...

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        """Never raises for what a server does; a cancelled call is cancelled upstream."""
        ...

    @property
    def resources(self) -> ResourceProvider | None:
        """Whoever answers for what the source offers beside tools; `None` when it never offers anything."""
        ...

    def restart(self) -> None:
        """Start over now, whatever the state."""
        ...

    def log(self) -> Sequence[str]:
        """The last lines the source wrote, oldest first."""
        ...


@runtime_checkable
class UsesCallerCredentials(Protocol):
    """A provider whose calls run with credentials that a caller's own request may bring."""

    def credential_identity(self, headers: Mapping[bytes, bytes]) -> CredentialIdentity | None:
        """In whose name a call with these headers would run now; `None` where it would not."""
        ...


@runtime_checkable
class CallerAware(Protocol):
    """A provider that may know its tools only when a caller lends it a name."""

    def announce_caller(self, headers: Mapping[bytes, bytes]) -> bool:
        """A caller with these headers is here. Whether that set something going that is worth waiting for."""
        ...


@runtime_checkable
class Drainable(Protocol):
    """A provider that can tell those who wait for it why it is being stopped."""

    def drain(self, why: str) -> None:
        """Take no more calls. `why` reads on from its name; whoever runs it cancels it next."""
        ...


ProviderFor: TypeAlias = Callable[[Server], Provider]


# What a toolset's own tools are, found out once, when it is brought onto the board.

DEFAULT_BOUNDS: Final = ToolsetLimits()


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A function that is to be a tool. What is `None` is for the function itself to say."""

    name: str
    """The tool's id within its toolset."""
    entrypoint: str
    """`package.module:function`."""
    title: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class DescribedTool:
    spec: ToolSpec
    requires_confirmation: bool | None = None
    """What the function says of itself; `None` when it says nothing."""


@dataclass(frozen=True, slots=True)
class ManifestEntries:
    """What a manifest that is being edited names now."""

    entries: Sequence[FunctionEntry]
    ignored_keys: tuple[str, ...] = ()
    """Keys that say something else than before, and count only when the toolset is imported again."""


class ToolDescriptionError(Exception):
    """Why functions or images cannot be tools: each problem with its file and line, where it has one."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class ToolDescriber(Protocol):
    """Runs the code of a toolset, in a process and an environment of its own, and only to ask what its tools are."""

    async def __call__(
        self,
        folder: Path,
        entries: Sequence[FunctionEntry],
        requirements: Sequence[str],
        told: Callable[[str], None],
        bounds: ToolsetLimits = DEFAULT_BOUNDS,
    ) -> tuple[DescribedTool, ...]:
        """One for each entry, in order, within what the toolset may take when it runs. `told` hears what is going on
        meanwhile. Raises `ToolDescriptionError`."""
        ...


ReadLabel: TypeAlias = Callable[[str, Callable[[str], None]], Awaitable[str | None]]
"""The label `io.pegboard.tools` of an image, by the image's name. The second hears what is going on meanwhile. Raises
`ToolDescriptionError`."""


# What `${…}` stands for.


@dataclass(frozen=True)
class UnresolvedReference:
    """A `${…}` reference that stands for nothing: what it was, and what to do."""

    why: str


Expand: TypeAlias = Callable[[str], str | UnresolvedReference]
"""Replaces `${NAME}`, `${NAME:-default}` and `${file:path}` in a text, at the moment the value is needed."""

ExpandForCaller: TypeAlias = Callable[[Mapping[bytes, bytes]], Expand]
"""The same in the name of a caller with these headers, which are what `${request:Header}` stands for."""


# Signing in to servers.


@dataclass(frozen=True)
class SignInUnavailable:
    """Why there is no sign-in to be had, as a sentence for the person who wanted one."""

    why: str


@dataclass(frozen=True)
class SignInRedirect:
    """Where a person's browser goes to sign in, and the mark that it must bring back."""

    url: str
    mark: str = field(repr=False)


@dataclass(frozen=True)
class CompletedSignIn:
    """The server that a person has signed in to."""

    server: ServerKey
    by: PrincipalId
    """Who asked for the link."""


@dataclass(frozen=True)
class SignInState:
    """Whether somebody is signed in to a server, since when, and what went wrong at the last try."""

    since: datetime | None = None
    problem: str | None = None
    last_at: datetime | None = None
    """When somebody last did, even if the server has taken it no longer since."""


class SignIns(Protocol):
    """Signing in to servers: a person follows a link of ours to the server's own page and comes back."""

    def state(self, server: ServerKey) -> SignInState | SignInUnavailable: ...

    def create_link(self, server: ServerKey, by: PrincipalId) -> str | SignInUnavailable:
        """A new link that works once, and for a few minutes. Whoever signs in by it does so in the name of `by`."""
        ...

    async def begin(self, link: str) -> SignInRedirect | SignInUnavailable:
        """By the last part of a link."""
        ...

    async def finish(self, answer: Mapping[str, str], mark: str) -> CompletedSignIn | SignInUnavailable:
        """With what the server's page sent the person back with, and the mark of their browser."""
        ...

    async def sign_out(self, server: ServerKey) -> bool | SignInUnavailable:
        """Whether the server was told to forget too. On our side nothing is left of the sign-in either way."""
        ...


# The last lines of a log that goes on: which of them are new is known by their number.


class LogLines(tuple[str, ...]):
    """The lines that are kept, of all that were `written`. `mark` tells one log from the next of the same source."""

    total_lines: int
    log_id: str

    def __new__(cls, lines: Iterable[str] = (), written: int = 0, mark: str = "") -> Self:
        made = super().__new__(cls, lines)
        made.total_lines, made.log_id = written, mark
        return made

    def lines_after(self, cursor: str | None) -> tuple[tuple[str, ...], bool]:
        """What was written since, and whether that goes on where the cursor was: if not, it is all there is."""
        mark, _, count = (cursor or "").rpartition("-")
        seen = int(count) if count.isascii() and count.isdecimal() and len(count) < 19 else -1
        fresh = self.total_lines - seen
        if mark != self.log_id or not mark or seen < 0 or not 0 <= fresh <= len(self):
            return tuple(self), False
        return (tuple(self[-fresh:]) if fresh else ()), True

    @property
    def cursor(self) -> str:
        return f"{self.log_id}-{self.total_lines}"
