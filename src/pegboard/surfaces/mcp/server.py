"""The gateway as the SDK's server: what it says of itself, and what it does when a client lists, calls or listens."""

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
from pegboard.core.tool import JsonSchema
from pegboard.core.view import View
from pegboard.gateway.answering import answered
from pegboard.gateway.following import Follower
from pegboard.gateway.gateway import Gateway

from .answer import enveloped
from .answered import ANSWER, Answer
from .calls import Calls
from .conversation import Conversation, InSession, Stateless, stateless
from .endpoint_state import INTERNAL, NAME, TOOLS, EndpointState
from .errors import ProtocolError
from .exchange import CURRENT, Exchange
from .faults import of_parameters, of_request
from .library import Library, connection_of, followed, is_modern
from .news import events_of, granted, notifications_of, send_bare
from .offering import Kind
from .pages import BadCursor
from .parking import Parking
from .presentation import Conversing, Passed, Presentation
from .watch import Marks, Watch, cancel_when, watching

STALE: Final = CacheHint(0, "private")
MOST_LISTENERS: Final = 1024

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]


class _Announced(Server[Any]):
    """Says in every handshake that its lists can change; the SDK's HTTP sessions leave no other place."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class McpServer:
    """One gateway for any number of clients. It translates: which tools there are and which calls run is asked."""

    def __init__(
        self,
        gateway: Gateway,
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
        self.state: Final = EndpointState(gateway, presentation) if state is None else state
        self._presentation: Presentation = self.state.direct if presentation is None else presentation
        self._conversing = presentation if isinstance(presentation, Conversing) else None
        self._gateway = gateway
        self._calls = Calls(gateway, self.state.levels, self.state.carry)
        self._exchange = Exchange(View() if view is None else view)
        self._ready = ready
        self._listeners = 0
        self.library: Final = Library(gateway, self._current, self._listed, ready)
        self.server: Final = _Announced(
            NAME,
            version=__version__,
            instructions="\n\n".join(filter(None, (self._presentation.instructions, told))),
            # A tool that a person has just locked must not live on in a client's cache.
            cache_hints={
                "server/discover": CacheHint(300_000, "public"),
                "tools/list": STALE,
                "prompts/list": STALE,
                "resources/list": STALE,
                "resources/templates/list": STALE,
                "resources/read": STALE,
            },
            lifespan=self._life,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self._listen,
        )
        self.server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)
        self.library.serve(self.server)
        self.server.add_notification_handler("notifications/initialized", NotificationParams, self._tell_changes)
        self.server.middleware.append(self._answered)

    def watching(self, exchange: Exchange, conversation: Conversation | None = None) -> AbstractContextManager[Watch]:
        """Begins with what this session last listed, so that no change between its list and its stream is lost.

        The conversation is that of the session, if none is given.
        """
        told = self.state.marks_seen(exchange.session, exchange.view)
        if conversation is None:
            conversation = InSession(exchange.session or "")
        marks_now = partial(self._marks, exchange.view, self._shown(conversation))
        if self._conversing is None:
            return watching(self._gateway.board, marks_now, told)
        return watching(self._gateway.board, marks_now, told, partial(self._conversing.telling, conversation))

    def _marks(self, view: View, shown: Presentation) -> Marks:
        sheets = self.library.offering.sheets(view)
        return {TOOLS: shown.mark(view)} | {kind.value: sheet.mark for kind, sheet in sheets.items()}

    def _shown(self, conversation: Conversation) -> Presentation:
        return self._presentation if self._conversing is None else self._conversing.within(conversation)

    def _conversation(self, ctx: Context, exchange: Exchange) -> Conversation:
        """What the client keeps by itself, or what is kept here for as long as its connection lasts."""
        if is_modern(ctx):
            return stateless(ctx.params)
        key, connection = connection_of(ctx, exchange), ctx.session._connection
        if self._conversing is not None and "pegboard.conversing" not in connection.state:
            # The SDK ends what it keeps for a connection, over every transport; nothing of ours outlives it.
            connection.state["pegboard.conversing"] = key
            connection.exit_stack.callback(self._conversing.forget, key)
        return InSession(key)

    def _listed(self, exchange: Exchange, kind: Kind) -> None:
        if exchange.session is not None:
            mark = self.library.offering.sheets(exchange.view)[kind].mark
            self.state.listed(exchange.session, exchange.view, mark, kind.value)

    def forget(self, session: str) -> None:
        self.state.forget(session)
        self.library.followers.forget(session)
        if self._conversing is not None:
            self._conversing.forget(session)

    async def _answered(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Puts the real answer in the place of the empty one that went through the SDK for its checks and envelope."""
        answer = Answer()
        token = ANSWER.set(answer)
        try:
            envelope = await call_next(ctx)
        except MCPError as error:
            raise of_request(ctx.method, error) from None
        except ProtocolError as error:
            raise MCPError(error.code, error.message, error.data) from None
        except ValidationError as error:
            raise of_parameters(ctx.method, error) from None
        except Exception:  # what serves a request is supervised here: its failure must not end the connection
            log.exception("Serving %s failed", ctx.method)
            raise MCPError(INTERNAL_ERROR, INTERNAL) from None
        finally:
            ANSWER.reset(token)
        if answer.result is None or not isinstance(envelope, dict):
            return envelope
        return {**envelope, **answer.result} if ctx.method.endswith("/list") else enveloped(answer.result, envelope)

    def _current(self) -> Exchange:
        return CURRENT.get(self._exchange)

    def _input_schema(self, name: str) -> JsonSchema | None:
        return self._shown(Stateless()).input_schema(self._current().view, name)

    async def _list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        if self._ready is not None:
            await self._ready.wait()
        exchange = self._current()
        shown = self._shown(self._conversation(ctx, exchange))
        page = shown.page(exchange.view, None if params is None else params.cursor)
        if isinstance(page, BadCursor):
            raise MCPError(INVALID_PARAMS, f"The cursor cannot be used: {page.why}. List again without a cursor.")
        if exchange.session is not None:
            self.state.listed(exchange.session, exchange.view, shown.mark(exchange.view))
        ANSWER.get().result = {"tools": list(page.tools)}
        return ListToolsResult(tools=[], next_cursor=page.next)

    async def _call(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        exchange = self._current()
        meant = self._shown(self._conversation(ctx, exchange)).meant(params, exchange.view)
        if isinstance(meant, Passed):
            result = meant.result(await self._calls.carried(ctx, meant.call, exchange, meant.by))
        else:
            call = self._calls.made(ctx, params, exchange, meant.by)
            result = meant.result(await answered(self._gateway, call, meant.tool, meant.answer))
        ANSWER.get().result = result
        return CallToolResult(content=[])

    async def _set_level(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        self.state.levels.set(self._current().session, params.level)
        return EmptyResult()

    @asynccontextmanager
    async def _life(self, server: Server[Any]) -> AsyncIterator[Parking]:
        async with self.state.opened() as parking:
            yield parking

    async def _listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """One stream of the 2026-07-28 era: the answer comes when it ends."""
        if ctx.request_id is None:
            raise MCPError(INVALID_PARAMS, "subscriptions/listen needs a request id.")
        if self._listeners >= MOST_LISTENERS:
            raise MCPError(INTERNAL_ERROR, f"{MOST_LISTENERS} clients listen already. Try again later.")
        stamp = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        exchange = self._current()

        async def tell(event: ServerEvent) -> None:
            await ctx.session.send_notification(event_to_notification(event, stamp), related_request_id=ctx.request_id)

        async def tell_updates(follower: Follower) -> None:
            while True:
                await tell(ResourceUpdated(await follower.updated()))

        self._listeners += 1
        try:
            watching = self.watching(exchange, self._conversation(ctx, exchange))
            with watching as watch, self._gateway.following.follower() as follower:
                uris = await followed(follower, params.notifications.resource_subscriptions, exchange.view)
                wanted = granted(params.notifications, uris)
                told = SubscriptionsAcknowledgedNotificationParams(notifications=wanted, _meta=stamp)
                await ctx.session.send_notification(
                    SubscriptionsAcknowledgedNotification(params=told), related_request_id=ctx.request_id
                )
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel_when, self.state.ending, tasks.cancel_scope, name="ending")
                    if exchange.leaving is not None:
                        tasks.start_soon(cancel_when, exchange.leaving, tasks.cancel_scope, name="leaving")
                    tasks.start_soon(tell_updates, follower, name="updates")
                    while True:
                        for event in events_of(await watch.changed(), wanted):
                            await tell(event)
        finally:
            self._listeners -= 1
        return SubscriptionsListenResult(_meta=stamp)

    async def _tell_changes(self, ctx: Context, params: NotificationParams) -> None:
        """A client of the handshake era on one lasting connection is told on it, for as long as it lasts.

        Over HTTP it is told on the stream that it opens for that, if it does.
        """
        if ctx.request is not None:
            return
        exchange = self._current()
        key = connection_of(ctx, exchange)
        follower = self.library.followers.of(key)

        async def tell_updates() -> None:
            while True:
                await ctx.session.send_resource_updated(await follower.updated())

        try:
            with self.watching(exchange, self._conversation(ctx, exchange)) as watch:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(tell_updates, name="updates")
                    while True:
                        for method in notifications_of(await watch.changed()):
                            await send_bare(ctx.session, method)
        finally:
            self.library.followers.forget(key)
