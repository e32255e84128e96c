"""Calls that come through a session of the SDK: progress, log messages and questions."""

from collections.abc import Hashable, Mapping
from typing import Any, Final
from uuid import uuid4

import anyio
import msgspec
from mcp.server.context import ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY, CallToolRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.calls.call import CallCancellation, ToolCall
from pegboard.core.json.values import Json
from pegboard.core.model.ids import CallId, WireName
from pegboard.ports.providers import ClientPeer, Clock, Progress
from pegboard.surfaces.mcp.input_rounds import ExecuteCall, PendingInputCalls, call_with_input_rounds
from pegboard.surfaces.mcp.presentations.base import HANDLE_META_KEY
from pegboard.surfaces.mcp.results import CallOutcome
from pegboard.surfaces.mcp.session import SessionPeer, capabilities_of, open_notification_queue, progress_reporter
from pegboard.surfaces.mcp.session_state import (
    NO_LOGS,
    LogLevels,
    RequestScope,
    cancel_when,
    client_text,
    requested_log_level,
)

Context = ServerRequestContext[Any, Any]
META_KEY: Final = "_meta"


class SdkCalls:
    def __init__(self, clock: Clock, levels: LogLevels, carry: ExecuteCall) -> None:
        self._clock = clock
        self._log_levels = levels
        self._execute_call = carry

    def build_call(
        self,
        ctx: Context,
        params: CallToolRequestParams,
        exchange: RequestScope,
        presentation: str,
        level: str | None = None,
    ) -> ToolCall:
        return ToolCall(
            id=CallId(uuid4().hex),
            name=WireName(params.name),
            arguments=params.arguments or {},
            principal=exchange.view.principal,
            at=self._clock(),
            client=_client_name(ctx),
            # It may be parked, and outlive the request whose headers these are.
            headers=dict(exchange.headers),
            beside=_extra_members(ctx.params or {}, level),
            presentation=presentation,
        )

    async def execute(
        self, ctx: Context, params: CallToolRequestParams, exchange: RequestScope, presentation: str = ""
    ) -> CallOutcome:
        modern = ctx.session.protocol_version in MODERN_PROTOCOL_VERSIONS
        level = (
            requested_log_level(_meta(ctx).get(LOG_LEVEL_META_KEY))
            if modern
            else self._log_levels.get(exchange.session)
        )
        call = self.build_call(ctx, params, exchange, presentation, level)
        assert ctx.request_id is not None
        async with open_notification_queue() as say:
            peer = SessionPeer(
                ctx.session,
                ctx.request_id,
                say,
                capabilities_of(ctx.session),
                self._connection_key(exchange, modern),
                NO_LOGS if modern and level is None else level,
                exchange.client_gone is None,
            )
            wants_progress = ctx.meta is not None and "progress_token" in ctx.meta
            progress = progress_reporter(say, ctx.session.report_progress) if wants_progress else None
            return await self._execute_until_disconnect(
                call, exchange, progress, peer, ctx.lifespan_context if modern else None
            )

    def _connection_key(self, exchange: RequestScope, modern: bool) -> Hashable:
        """A pipe has one client; over HTTP it has a session, or nothing tells two requests' clients apart."""
        if exchange.client_gone is None:
            return self
        return object() if modern or exchange.session is None else exchange.session

    async def _execute_until_disconnect(
        self,
        call: ToolCall,
        exchange: RequestScope,
        progress: Progress | None,
        peer: ClientPeer,
        parking: PendingInputCalls | None,
    ) -> CallOutcome:
        """A client that hung up has given up its call: no later request can ask for the answer."""
        if exchange.client_gone is None:
            return await self._execute(call, exchange, progress, peer, parking)
        ended: CallOutcome = CallCancellation()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_when, exchange.client_gone, tasks.cancel_scope, name="client")
            ended = await self._execute(call, exchange, progress, peer, parking)
            tasks.cancel_scope.cancel()
        return ended

    async def _execute(
        self,
        call: ToolCall,
        exchange: RequestScope,
        progress: Progress | None,
        peer: ClientPeer,
        parking: PendingInputCalls | None,
    ) -> CallOutcome:
        if parking is not None:
            return await parking.call(call, exchange.view, progress, peer)
        return await call_with_input_rounds(call, exchange.view, self._execute_call, progress, peer)


def _extra_members(params: Mapping[str, Json], level: str | None) -> Mapping[str, bytes]:
    """Each further member as text; the level that a session of the handshake era set is told as later eras do."""
    said = {name: value for name, value in params.items() if name not in ("name", "arguments")}
    if isinstance(own := said.get(META_KEY), dict) and HANDLE_META_KEY in own:
        # Meant for this gateway alone.
        said[META_KEY] = {name: value for name, value in own.items() if name != HANDLE_META_KEY}
    if level is not None:
        meta = said.get(META_KEY)
        said[META_KEY] = {**(meta if isinstance(meta, dict) else {}), LOG_LEVEL_META_KEY: level}
    return {name: msgspec.json.encode(value) for name, value in said.items()}


def _meta(ctx: Context) -> Mapping[str, Json]:
    meta = (ctx.params or {}).get(META_KEY)
    return meta if isinstance(meta, dict) else {}


def _client_name(ctx: Context) -> str:
    told = ctx.session.client_params
    return "" if told is None else client_text(told.client_info.name, told.client_info.version)
