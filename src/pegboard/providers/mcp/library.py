"""What one server offers beside tools: kept up to date while a connection lasts, read, filled in and completed."""

from collections.abc import Callable
from typing import Final

import anyio
import msgspec
from mcp.client.session import IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, NAME_BEARING_METHODS, encode_header_value
from mcp_types import (
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
)

from pegboard.children.lines import one_line
from pegboard.core.ask import Answer, Declined, Directed, Failed, Told
from pegboard.core.ids import ProviderKey
from pegboard.core.nesting import values_in
from pegboard.core.offer import same_offers
from pegboard.core.server import Timeouts
from pegboard.core.tool import JsonObject
from pegboard.ports import Peer, Progress, Updated

from .answers import Unsendable, encoded, erased
from .beside import META, meta_of
from .connection import Bell, Connection
from .in_flight import Deadline
from .offers import Shown, shown
from .subscriptions import Subscriptions
from .trouble import LONGEST_WHY, MOST_READ, NONSENSE, UNSENT, closed, refused, seconds

_SETTLE: Final = 0.1
"""A server that changes many prompts tells of each: wait this long for the rest before listing again."""
_BREATH: Final = 1.0
"""At least so long from one list to the next, whatever the server does."""

MOST_VALUES: Final = 100_000
"""In one answer. It is looked at and written again for the client on the event loop, and what is long in it is text."""

_ROUNDS: Final = ("inputResponses", "requestState")
"""What a client of the newer era comes back with. A server of the older one has no use for it."""


class ServerLibrary:
    """`absence` says why there is no connection; `showed` is called when what is offered may differ."""

    def __init__(
        self,
        source: ProviderKey,
        timeouts: Timeouts,
        *,
        absence: Callable[[], str],
        showed: Callable[[], None],
        erase: Callable[[str], str],
    ) -> None:
        self._source = source
        self._timeouts = timeouts
        self._absence = absence
        self._showed = showed
        self._connection: Connection | None = None
        self._changed = Bell()
        self._subscriptions = Subscriptions(timeouts)
        self._erase = erase
        self.shown = Shown()

    def hear(self, message: IncomingMessage) -> None:
        match message:
            case PromptListChangedNotification() | ResourceListChangedNotification():
                self._changed.ring()
            case ResourceUpdatedNotification(params=params):
                self._subscriptions.tell(params.uri)
            case _:
                pass

    def doubt(self) -> None:
        """A stream of changes broke: what came on it may have been missed."""
        self._changed.ring()

    async def keep(self, connection: Connection, listed: anyio.Event) -> None:
        """For as long as the connection lasts: list, and list again when told. `listed` after the first time."""
        if not (connection.offers("prompts") or connection.offers("resources")):
            self._show(Shown())
            listed.set()
            return
        while True:
            found = await shown(connection, self._timeouts.start, self.shown.offers, self._erase)
            self._show(found)
            listed.set()
            await anyio.sleep(_BREATH)
            await self._changed.heard()
            await anyio.sleep(_SETTLE)

    async def attend(self, connection: Connection) -> None:
        """For as long as the connection lasts: questions go to it, and what is followed is followed on it."""
        self._connection = connection
        try:
            await self._subscriptions.attend(connection)
        finally:
            self._connection = None

    async def ask(self, directed: Directed, progress: Progress | None = None, peer: Peer | None = None) -> Answer:
        connection = self._connection
        if connection is None or connection.loss.why is not None:
            return Failed(self._absence())
        try:
            encoded(directed.params)  # what cannot be sent would cost the SDK the connection
        except Unsendable as problem:
            return Failed(f"{self._source} was not asked: {problem}")
        method, params = directed.method.value, _params(directed.params, connection, peer)
        named = params.get(NAME_BEARING_METHODS.get(method, ""))
        headers = {MCP_NAME_HEADER: encode_header_value(named)} if connection.modern and isinstance(named, str) else {}
        deadline = Deadline(self._timeouts.call)
        flight = connection.in_flight.begin(peer, deadline)
        try:
            with deadline.scope:
                return self._told(await connection.request(method, params, headers, progress), directed)
        except MCPError as error:
            return self._declined(error, connection)
        finally:
            for question in connection.in_flight.end(flight):
                await question.closed.wait()
        return Failed(f"{self._source} did not answer within {seconds(self._timeouts.call)}")

    async def subscribe(self, uri: str, updated: Updated) -> Answer:
        connection = self._connection
        if connection is None or connection.loss.why is not None:
            return Failed(self._absence())
        try:
            with anyio.fail_after(self._timeouts.call):
                return await self._subscriptions.add(connection, uri, updated)
        except MCPError as error:
            return self._declined(error, connection)
        except TimeoutError:
            return Failed(f"{self._source} did not answer within {seconds(self._timeouts.call)}")

    async def unsubscribe(self, uri: str) -> None:
        await self._subscriptions.remove(self._connection, uri)

    def _show(self, found: Shown) -> None:
        if found.flaws == self.shown.flaws and same_offers(found.offers, self.shown.offers):
            return
        self.shown = found
        self._showed()

    def _told(self, result: JsonObject, directed: Directed) -> Answer:
        if values_in(result, MOST_VALUES) > MOST_VALUES:
            why = f"with more than {MOST_VALUES:,} values, counting each list and object"
            return Failed(f"{self._source} answered {directed.method.value} {why}. Ask for less, or for one long text")
        if result.get("resultType") == "input_required" and not ("inputRequests" in result or "requestState" in result):
            return Failed(f"{self._source} answered {directed.method.value} with a question that asks nothing")
        return Told(result)

    def _declined(self, error: MCPError, connection: Connection) -> Answer:
        """The server's own error as it is, but for our credentials; a transport's as a sentence."""
        if closed(error):
            why = one_line(self._erase(connection.loss.why or "closed the connection"), LONGEST_WHY)
            return Failed(f"{self._source} {why} before it answered")
        if error.code <= UNSENT or error.code == NONSENSE:
            return Failed(f"{self._source} {one_line(self._erase(refused(error)), LONGEST_WHY)}")
        return Declined(error.code, self._erase(error.message)[:MOST_READ], erased(error.data, self._erase))


def _params(said: JsonObject, connection: Connection, peer: Peer | None) -> JsonObject:
    """What the client said, for the server's era: who asks is said anew, and by us."""
    params = {name: value for name, value in said.items() if connection.modern or name not in _ROUNDS}
    meta = params.pop(META, None)
    told = meta_of(
        msgspec.json.encode(meta),
        connection.protocol_version,
        None if peer is None or not connection.modern else peer.can,
    )
    return {**params, META: told} if told else params
