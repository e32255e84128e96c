"""Where tools come from, and who calls them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from pegboard.core.ask import ResourceAnswer, RoutedRequest
from pegboard.core.call import AdmittedCall, Outcome
from pegboard.core.catalogue import Listing
from pegboard.core.ids import SourceKey
from pegboard.core.server import Server
from pegboard.core.tool import Json
from pegboard.core.whose import CredentialIdentity

ChangeCallback: TypeAlias = Callable[[], None]
"""A bell: it carries nothing. Whoever hears it asks again."""

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
        client's answer to it. Raises `CannotAsk`.

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
        """Tell of changes of this resource until `unsubscribe`, over every reconnect. Unless it answers `Told`,
        nothing is followed. One subscription a URI: another takes the place of the former."""
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
