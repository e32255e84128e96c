"""The gateway as an MCP server of the SDK."""

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, ResourceUpdated, ServerEvent, event_to_notification
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    SetLevelRequestParams,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from pydantic import ValidationError

from pegboard import __version__
from pegboard.core.model.selection import View
from pegboard.core.model.tool import JsonSchema
from pegboard.gateway.resources import ResourceFollower
from pegboard.surfaces.mcp.calls import SdkCalls
from pegboard.surfaces.mcp.endpoint_state import INTERNAL_ERROR_MESSAGE, SERVER_NAME, TOOL_LIST, EndpointState
from pegboard.surfaces.mcp.errors import explain_bad_params, explain_request_error
from pegboard.surfaces.mcp.gateway_parts import McpParts
from pegboard.surfaces.mcp.input_rounds import PendingInputCalls
from pegboard.surfaces.mcp.notifications import events_of, granted_filter, notifications_of, send_without_request
from pegboard.surfaces.mcp.presentations.base import (
    BoardCall,
    Conversation,
    PerConversation,
    Presentation,
    SessionConversation,
    StatelessConversation,
    stateless_conversation,
)
from pegboard.surfaces.mcp.protocol import ProtocolError
from pegboard.surfaces.mcp.resources import (
    ResourceHandlers,
    ResourceListKind,
    connection_of,
    follow_resources,
    is_modern,
)
from pegboard.surfaces.mcp.results import ACTUAL_RESULT, ActualResult, BadCursor, with_envelope
from pegboard.surfaces.mcp.session_state import (
    CURRENT_REQUEST,
    ListFingerprints,
    ListWatch,
    RequestScope,
    cancel_when,
    watch_lists,
)

NO_CACHE: Final = CacheHint(0, "private")
MAX_LISTENERS: Final = 1024

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]


class _SdkServer(Server[Any]):
    """Says in every handshake that its lists can change; the SDK's HTTP sessions leave no other place."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class GatewayMcpServer:
    """One gateway for any number of clients. It translates: which tools there are and which calls run is asked."""

    def __init__(
        self,
        parts: McpParts,
        view: View | None = None,
        ready: anyio.Event | None = None,
        presentation: Presentation | None = None,
        told: str | None = None,
        state: EndpointState | None = None,
    ) -> None:
        """`view` is that of clients whose transport carries none; until `ready`, a list of tools waits.

        Without a `presentation`, every tool is shown as itself. `told` is what every client should know besides. The
        `state` is shared with what serves the same clients without the SDK.
        """
        self.state: Final = EndpointState(parts.board, parts.calls.call, presentation) if state is None else state
        self._presentation: Presentation = self.state.direct if presentation is None else presentation
        self._per_conversation = presentation if isinstance(presentation, PerConversation) else None
        self._parts = parts
        self._calls = SdkCalls(parts.calls.clock, self.state.log_levels, self.state.execute)
        self._default_request = RequestScope(View() if view is None else view)
        self._ready = ready
        self._listener_count = 0
        self.resources: Final = ResourceHandlers(parts, self._current_request, self._record_listed, ready)
        self.server: Final = _SdkServer(
            SERVER_NAME,
            version=__version__,
            instructions="\n\n".join(filter(None, (self._presentation.instructions, told))),
            # A tool that a person has just locked must not live on in a client's cache.
            cache_hints={
                "server/discover": CacheHint(300_000, "public"),
                "tools/list": NO_CACHE,
                "prompts/list": NO_CACHE,
                "resources/list": NO_CACHE,
                "resources/templates/list": NO_CACHE,
                "resources/read": NO_CACHE,
            },
            lifespan=self._lifespan,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._listen,
        )
        self.server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)
        self.resources.register(self.server)
        self.server.add_notification_handler("notifications/initialized", NotificationParams, self._notify_changes)
        self.server.middleware.append(self._with_actual_result)

    def watch_lists(
        self, exchange: RequestScope, conversation: Conversation | None = None
    ) -> AbstractContextManager[ListWatch]:
        """Begins with what this session last listed, so that no change between its list and its stream is lost.

        The conversation is that of the session, if none is given.
        """
        told = self.state.last_fingerprints(exchange.session, exchange.view)
        if conversation is None:
            conversation = SessionConversation(exchange.session or "")
        marks_now = partial(self._fingerprints, exchange.view, self._presentation_for(conversation))
        if self._per_conversation is None:
            return watch_lists(self._parts.board, marks_now, told)
        return watch_lists(self._parts.board, marks_now, told, partial(self._per_conversation.subscribe, conversation))

    def _fingerprints(self, view: View, shown: Presentation) -> ListFingerprints:
        sheets = self.resources.lists.lists_for(view)
        return {TOOL_LIST: shown.fingerprint(view)} | {kind.value: sheet.fingerprint for kind, sheet in sheets.items()}

    def _presentation_for(self, conversation: Conversation) -> Presentation:
        return (
            self._presentation
            if self._per_conversation is None
            else self._per_conversation.for_conversation(conversation)
        )

    def _conversation(self, ctx: Context, exchange: RequestScope) -> Conversation:
        """What the client keeps by itself, or what is kept here for as long as its connection lasts."""
        if is_modern(ctx):
            return stateless_conversation(ctx.params)
        key, connection = connection_of(ctx, exchange), ctx.session._connection
        if self._per_conversation is not None and "pegboard.conversing" not in connection.state:
            # The SDK ends what it keeps for a connection, over every transport; nothing of ours outlives it.
            connection.state["pegboard.conversing"] = key
            connection.exit_stack.callback(self._per_conversation.forget, key)
        return SessionConversation(key)

    def _record_listed(self, exchange: RequestScope, kind: ResourceListKind) -> None:
        if exchange.session is not None:
            mark = self.resources.lists.lists_for(exchange.view)[kind].fingerprint
            self.state.record_listed(exchange.session, exchange.view, mark, kind.value)

    def forget(self, session: str) -> None:
        self.state.forget(session)
        self.resources.followers.forget(session)
        if self._per_conversation is not None:
            self._per_conversation.forget(session)

    async def _with_actual_result(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Puts the real answer in the place of the empty one that went through the SDK for its checks and envelope."""
        answer = ActualResult()
        token = ACTUAL_RESULT.set(answer)
        try:
            envelope = await call_next(ctx)
        except MCPError as error:
            raise explain_request_error(ctx.method, error) from None
        except ProtocolError as error:
            raise MCPError(error.code, error.message, error.data) from None
        except ValidationError as error:
            raise explain_bad_params(ctx.method, error) from None
        except Exception:  # what serves a request is supervised here: its failure must not end the connection
            log.exception("Serving %s failed", ctx.method)
            raise MCPError(INTERNAL_ERROR, INTERNAL_ERROR_MESSAGE) from None
        finally:
            ACTUAL_RESULT.reset(token)
        if answer.result is None or not isinstance(envelope, dict):
            return envelope
        return {**envelope, **answer.result} if ctx.method.endswith("/list") else with_envelope(answer.result, envelope)

    def _current_request(self) -> RequestScope:
        return CURRENT_REQUEST.get(self._default_request)

    def _input_schema(self, name: str) -> JsonSchema | None:
        return self._presentation_for(StatelessConversation()).input_schema(self._current_request().view, name)

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        if self._ready is not None:
            await self._ready.wait()
        exchange = self._current_request()
        shown = self._presentation_for(self._conversation(ctx, exchange))
        page = shown.page(exchange.view, None if params is None else params.cursor)
        if isinstance(page, BadCursor):
            raise MCPError(INVALID_PARAMS, f"The cursor cannot be used: {page.why}. List again without a cursor.")
        if exchange.session is not None:
            self.state.record_listed(exchange.session, exchange.view, shown.fingerprint(exchange.view))
        ACTUAL_RESULT.get().result = {"tools": list(page.tools)}
        return ListToolsResult(tools=[], next_cursor=page.next)

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        exchange = self._current_request()
        meant = self._presentation_for(self._conversation(ctx, exchange)).resolve_call(params, exchange.view)
        if isinstance(meant, BoardCall):
            result = meant.to_result(await self._calls.execute(ctx, meant.call, exchange, meant.presentation))
        else:
            call = self._calls.build_call(ctx, params, exchange, meant.presentation)
            result = meant.to_result(await self._parts.calls.answer_and_record(call, meant.tool, meant.answer))
        ACTUAL_RESULT.get().result = result
        return CallToolResult(content=[])

    async def _set_level(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        self.state.log_levels.set_level(self._current_request().session, params.level)
        return EmptyResult()

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncIterator[PendingInputCalls]:
        async with self.state.open() as parking:
            yield parking

    async def _listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """One stream of the 2026-07-28 era: the answer comes when it ends."""
        if ctx.request_id is None:
            raise MCPError(INVALID_PARAMS, "subscriptions/listen needs a request id.")
        if self._listener_count >= MAX_LISTENERS:
            raise MCPError(INTERNAL_ERROR, f"{MAX_LISTENERS} clients listen already. Try again later.")
        stamp = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        exchange = self._current_request()

        async def tell(event: ServerEvent) -> None:
            await ctx.session.send_notification(event_to_notification(event, stamp), related_request_id=ctx.request_id)

        async def tell_updates(follower: ResourceFollower) -> None:
            while True:
                await tell(ResourceUpdated(await follower.next_update()))

        self._listener_count += 1
        try:
            watching = self.watch_lists(exchange, self._conversation(ctx, exchange))
            with watching as watch, self._parts.subscriptions.open_follower() as follower:
                uris = await follow_resources(follower, params.notifications.resource_subscriptions, exchange.view)
                wanted = granted_filter(params.notifications, uris)
                told = SubscriptionsAcknowledgedNotificationParams(notifications=wanted, _meta=stamp)
                await ctx.session.send_notification(
                    SubscriptionsAcknowledgedNotification(params=told), related_request_id=ctx.request_id
                )
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel_when, self.state.shutdown, tasks.cancel_scope, name="ending")
                    if exchange.access_revoked is not None:
                        tasks.start_soon(cancel_when, exchange.access_revoked, tasks.cancel_scope, name="leaving")
                    tasks.start_soon(tell_updates, follower, name="updates")
                    while True:
                        for event in events_of(await watch.wait_for_changes(), wanted):
                            await tell(event)
        finally:
            self._listener_count -= 1
        return SubscriptionsListenResult(_meta=stamp)

    async def _notify_changes(self, ctx: Context, params: NotificationParams) -> None:
        """A client of the handshake era on one lasting connection is told on it, for as long as it lasts.

        Over HTTP it is told on the stream that it opens for that, if it does.
        """
        if ctx.request is not None:
            return
        exchange = self._current_request()
        key = connection_of(ctx, exchange)
        follower = self.resources.followers.follower_of(key)

        async def tell_updates() -> None:
            while True:
                await ctx.session.send_resource_updated(await follower.next_update())

        try:
            with self.watch_lists(exchange, self._conversation(ctx, exchange)) as watch:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(tell_updates, name="updates")
                    while True:
                        for method in notifications_of(await watch.wait_for_changes()):
                            await send_without_request(ctx.session, method)
        finally:
            self.resources.followers.forget(key)
