"""Prompts and resources of one server: listed, read and completed."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import anyio
import msgspec
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, NAME_BEARING_METHODS, encode_header_value
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
)

from pegboard.core.json.values import JsonObject, count_values
from pegboard.core.model.catalogue import is_same_resources
from pegboard.core.model.ids import ProviderKey
from pegboard.core.model.server import Timeouts
from pegboard.core.resources.requests import (
    ResourceAnswer,
    ResourceFailure,
    ResourceRefusal,
    ResourceResult,
    RoutedRequest,
)
from pegboard.ports.providers import ClientPeer, Progress, ResourceCallback
from pegboard.processes.output import one_line
from pegboard.providers.mcp.connection import CoalescingEvent, McpConnection
from pegboard.providers.mcp.discovery import ResourceListResult, list_resources
from pegboard.providers.mcp.errors import (
    MAX_ERROR_TEXT,
    MAX_REASON_LENGTH,
    NOT_SENT,
    UNUSABLE_ANSWER,
    describe_refusal,
    format_seconds,
    is_connection_closed,
)
from pegboard.providers.mcp.in_flight import CallDeadline
from pegboard.providers.mcp.results import (
    META_MEMBER,
    UnsendableArgumentsError,
    encode_arguments,
    filter_secrets,
    request_meta,
)

# The resources of one server that are followed: subscribed once each, and again on every new connection.
#
# In the handshake era each is a request of its own. From 2026-07-28 on one stream follows them all; it is opened
# anew
# when one joins or leaves, and the former stays open until then.

log: Final = logging.getLogger(__name__)

_SUBSCRIPTIONS_SETTLE_S: Final = 0.05
"""Who follows many resources names them one by one: wait this long for the rest before opening a stream."""
_MIN_INTERVAL_S: Final = 1.0
"""At least so long from one stream that broke to the next."""


@dataclass(eq=False)
class _FollowedResource:
    on_update: ResourceCallback
    answered: anyio.Event = field(default_factory=anyio.Event)
    refusal: ResourceRefusal | None = None


class ResourceSubscriptions:
    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._resources: dict[str, _FollowedResource] = {}
        self._change_event = CoalescingEvent()

    def notify_update(self, uri: str) -> None:
        """A server may name a part of what is followed: whoever follows the whole is told of the part."""
        for followed, each in tuple(self._resources.items()):
            if uri == followed or _is_part(uri, followed):
                each.on_update(uri)

    async def add(self, connection: McpConnection, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        """Raises `MCPError` for an error of the server."""
        followed = self._resources[uri] = _FollowedResource(updated)
        try:
            if not connection.is_modern:
                answer = ResourceResult(await connection.request("resources/subscribe", {"uri": uri}))
                followed.answered.set()
                return answer
            self._change_event.notify()
            await followed.answered.wait()
        except BaseException:
            self._drop(uri, followed)
            raise
        if followed.refusal is None:
            return ResourceResult({})
        self._drop(uri, followed)
        return followed.refusal

    async def remove(self, connection: McpConnection | None, uri: str) -> None:
        if self._resources.pop(uri, None) is None or connection is None or connection.loss.why is not None:
            return
        if connection.is_modern:
            self._change_event.notify()
            return
        with anyio.move_on_after(self._timeouts.stop):
            try:
                await connection.request("resources/unsubscribe", {"uri": uri})
            except MCPError as error:
                log.debug("Unsubscribing from %s failed: %s", uri, error.message)

    async def serve(self, connection: McpConnection) -> None:
        again = [uri for uri, each in self._resources.items() if each.answered.is_set()]
        if connection.is_modern:
            await self._keep_stream(connection, again)
        for uri in again:
            try:
                with anyio.move_on_after(self._timeouts.call):
                    await connection.request("resources/subscribe", {"uri": uri})
            except MCPError as error:
                log.warning("%s can no longer be followed: %s", uri, error.message)
            # What changed while there was no connection was never told.
            self.notify_update(uri)
        await anyio.sleep_forever()

    async def _keep_stream(self, connection: McpConnection, again: list[str]) -> None:
        former: anyio.CancelScope | None = None
        if again:
            self._change_event.notify()
        async with anyio.create_task_group() as tasks:
            while True:
                await self._change_event.wait()
                await anyio.sleep(_SUBSCRIPTIONS_SETTLE_S)
                uris, opened, scope = tuple(self._resources), anyio.Event(), anyio.CancelScope()
                if uris:
                    tasks.start_soon(self._run_stream, connection, uris, opened, scope, again)
                    await opened.wait()
                again = []
                if former is not None:
                    former.cancel()
                former = scope

    async def _run_stream(
        self,
        connection: McpConnection,
        uris: tuple[str, ...],
        opened: anyio.Event,
        scope: anyio.CancelScope,
        missed: list[str],
    ) -> None:
        with scope:
            while True:
                try:
                    async with connection.subscribe_resources(uris) as subscription:
                        self._record_answers(uris, frozenset(subscription.honored.resource_subscriptions or ()))
                        opened.set()
                        for uri in missed:
                            self.notify_update(uri)
                        # Each update is told to the session as well: here it only matters when the stream ends.
                        async for _ in subscription:
                            pass
                except MCPError as error:
                    self._record_refusals(uris, ResourceRefusal(error.code, error.message, error.data))
                    opened.set()
                    if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
                        return
                except (SubscriptionLost, TimeoutError):
                    self._record_refusals(
                        uris, ResourceRefusal(METHOD_NOT_FOUND, "The server does not open a stream of updates.")
                    )
                    opened.set()
                await anyio.sleep(_MIN_INTERVAL_S)
                missed = list(uris)

    def _record_answers(self, uris: tuple[str, ...], honoured: frozenset[str]) -> None:
        self._record_refusals(
            tuple(uri for uri in uris if uri not in honoured),
            ResourceRefusal(INVALID_PARAMS, "The server does not follow this resource."),
        )
        for uri in honoured & self._resources.keys():
            self._resources[uri].answered.set()

    def _record_refusals(self, uris: tuple[str, ...], why: ResourceRefusal) -> None:
        """Only those who still wait: what was followed once is tried again for as long as somebody wants it."""
        for uri in uris:
            each = self._resources.get(uri)
            if each is not None and not each.answered.is_set():
                each.refusal = why
                each.answered.set()

    def _drop(self, uri: str, followed: _FollowedResource) -> None:
        if self._resources.get(uri) is followed:
            del self._resources[uri]


def _is_part(uri: str, whole: str) -> bool:
    return uri.startswith(whole) and (whole.endswith("/") or uri[len(whole)] in "/?#")


_SETTLE_S: Final = 0.1
"""A server that changes many prompts tells of each: wait this long for the rest before listing again."""
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
