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
from pegboard.core.ask import ResourceAnswer, ResourceFailure, ResourceRefusal, ResourceResult, RoutedRequest
from pegboard.core.ids import ProviderKey
from pegboard.core.nesting import count_values
from pegboard.core.offer import is_same_resources
from pegboard.core.server import Timeouts
from pegboard.core.tool import JsonObject
from pegboard.ports import ClientPeer, Progress, ResourceCallback

from .answers import UnsendableArgumentsError, encode_arguments, filter_secrets
from .beside import META_MEMBER, request_meta
from .connection import CoalescingEvent, McpConnection
from .in_flight import CallDeadline
from .offers import ResourceListResult, list_resources
from .subscriptions import ResourceSubscriptions
from .trouble import (
    MAX_ERROR_TEXT,
    MAX_REASON_LENGTH,
    NOT_SENT,
    UNUSABLE_ANSWER,
    describe_refusal,
    format_seconds,
    is_connection_closed,
)

_SETTLE_S: Final = 0.1
"""A server that changes many prompts tells of each: wait this long for the rest before listing again."""
_MIN_INTERVAL_S: Final = 1.0
"""At least so long from one list to the next, whatever the server does."""

MAX_ANSWER_VALUES: Final = 100_000
"""In one answer. It is looked at and written again for the client on the event loop, and what is long in it is text."""

_RESUME_MEMBERS: Final = ("inputResponses", "requestState")
"""What a client of the newer era comes back with. A server of the older one has no use for it."""


class ServerResources:
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
        self._absence_reason = absence
        self._on_change = showed
        self._connection: McpConnection | None = None
        self._change_event = CoalescingEvent()
        self._subscriptions = ResourceSubscriptions(timeouts)
        self._erase = erase
        self.current = ResourceListResult()

    def handle_notification(self, message: IncomingMessage) -> None:
        match message:
            case PromptListChangedNotification() | ResourceListChangedNotification():
                self._change_event.notify()
            case ResourceUpdatedNotification(params=params):
                self._subscriptions.notify_update(params.uri)
            case _:
                pass

    def request_refresh(self) -> None:
        """A stream of changes broke: what came on it may have been missed."""
        self._change_event.notify()

    async def keep_up_to_date(self, connection: McpConnection, listed: anyio.Event) -> None:
        """For as long as the connection lasts: list, and list again when told. `listed` after the first time."""
        if not (connection.supports("prompts") or connection.supports("resources")):
            self._update(ResourceListResult())
            listed.set()
            return
        while True:
            found = await list_resources(connection, self._timeouts.start, self.current.resources, self._erase)
            self._update(found)
            listed.set()
            await anyio.sleep(_MIN_INTERVAL_S)
            await self._change_event.wait()
            await anyio.sleep(_SETTLE_S)

    async def serve(self, connection: McpConnection) -> None:
        """For as long as the connection lasts: questions go to it, and what is followed is followed on it."""
        self._connection = connection
        try:
            await self._subscriptions.serve(connection)
        finally:
            self._connection = None

    async def request(
        self, directed: RoutedRequest, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> ResourceAnswer:
        connection = self._connection
        if connection is None or connection.loss.why is not None:
            return ResourceFailure(self._absence_reason())
        try:
            encode_arguments(directed.params)  # what cannot be sent would cost the SDK the connection
        except UnsendableArgumentsError as problem:
            return ResourceFailure(f"{self._source} was not asked: {problem}")
        method, params = directed.method.value, _request_params(directed.params, connection, peer)
        named = params.get(NAME_BEARING_METHODS.get(method, ""))
        headers = (
            {MCP_NAME_HEADER: encode_header_value(named)} if connection.is_modern and isinstance(named, str) else {}
        )
        deadline = CallDeadline(self._timeouts.call)
        flight = connection.in_flight.begin(peer, deadline)
        try:
            with deadline.scope:
                return self._answer_from_result(await connection.request(method, params, headers, progress), directed)
        except MCPError as error:
            return self._answer_from_error(error, connection)
        finally:
            for question in connection.in_flight.end(flight):
                await question.closed.wait()
        return ResourceFailure(f"{self._source} did not answer within {format_seconds(self._timeouts.call)}")

    async def subscribe(self, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        connection = self._connection
        if connection is None or connection.loss.why is not None:
            return ResourceFailure(self._absence_reason())
        try:
            with anyio.fail_after(self._timeouts.call):
                return await self._subscriptions.add(connection, uri, updated)
        except MCPError as error:
            return self._answer_from_error(error, connection)
        except TimeoutError:
            return ResourceFailure(f"{self._source} did not answer within {format_seconds(self._timeouts.call)}")

    async def unsubscribe(self, uri: str) -> None:
        await self._subscriptions.remove(self._connection, uri)

    def _update(self, found: ResourceListResult) -> None:
        if found.problems == self.current.problems and is_same_resources(found.resources, self.current.resources):
            return
        self.current = found
        self._on_change()

    def _answer_from_result(self, result: JsonObject, directed: RoutedRequest) -> ResourceAnswer:
        if count_values(result, MAX_ANSWER_VALUES) > MAX_ANSWER_VALUES:
            why = f"with more than {MAX_ANSWER_VALUES:,} values, counting each list and object"
            return ResourceFailure(
                f"{self._source} answered {directed.method.value} {why}. Ask for less, or for one long text"
            )
        if result.get("resultType") == "input_required" and not ("inputRequests" in result or "requestState" in result):
            return ResourceFailure(f"{self._source} answered {directed.method.value} with a question that asks nothing")
        return ResourceResult(result)

    def _answer_from_error(self, error: MCPError, connection: McpConnection) -> ResourceAnswer:
        """The server's own error as it is, but for our credentials; a transport's as a sentence."""
        if is_connection_closed(error):
            why = one_line(self._erase(connection.loss.why or "closed the connection"), MAX_REASON_LENGTH)
            return ResourceFailure(f"{self._source} {why} before it answered")
        if error.code <= NOT_SENT or error.code == UNUSABLE_ANSWER:
            return ResourceFailure(
                f"{self._source} {one_line(self._erase(describe_refusal(error)), MAX_REASON_LENGTH)}"
            )
        return ResourceRefusal(
            error.code, self._erase(error.message)[:MAX_ERROR_TEXT], filter_secrets(error.data, self._erase)
        )


def _request_params(said: JsonObject, connection: McpConnection, peer: ClientPeer | None) -> JsonObject:
    """What the client said, for the server's era: who asks is said anew, and by us."""
    params = {name: value for name, value in said.items() if connection.is_modern or name not in _RESUME_MEMBERS}
    meta = params.pop(META_MEMBER, None)
    told = request_meta(
        msgspec.json.encode(meta),
        connection.protocol_version,
        None if peer is None or not connection.is_modern else peer.capabilities,
    )
    return {**params, META_MEMBER: told} if told else params
