"""A call that came through a session of the SDK: carried with all it says, and its client told and asked meanwhile."""

from collections.abc import Hashable, Mapping
from typing import Any, Final
from uuid import uuid4

import anyio
import msgspec
from mcp.server.context import ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY, CallToolRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.call import Call, Cancelled
from pegboard.core.ids import CallId, WireName
from pegboard.core.tool import Json
from pegboard.gateway.gateway import Gateway
from pegboard.ports import Peer, Progress

from .answer import Ended
from .conversation import HANDLE_META_KEY
from .exchange import Exchange, client_text
from .levels import NO_LOGS, Levels, wanted
from .parking import Parking
from .progress import progress_by, words
from .rounds import Carry, carried
from .session import SessionPeer, capabilities_of
from .watch import cancel_when

Context = ServerRequestContext[Any, Any]
META: Final = "_meta"


class Calls:
    def __init__(self, gateway: Gateway, levels: Levels, carry: Carry) -> None:
        self._gateway = gateway
        self._levels = levels
        self._carry = carry

    def made(
        self,
        ctx: Context,
        params: CallToolRequestParams,
        exchange: Exchange,
        presentation: str,
        level: str | None = None,
    ) -> Call:
        return Call(
            id=CallId(uuid4().hex),
            name=WireName(params.name),
            arguments=params.arguments or {},
            principal=exchange.view.principal,
            at=self._gateway.clock(),
            client=_client(ctx),
            # It may be parked, and outlive the request whose headers these are.
            headers=dict(exchange.headers),
            beside=_beside(ctx.params or {}, level),
            presentation=presentation,
        )

    async def carried(
        self, ctx: Context, params: CallToolRequestParams, exchange: Exchange, presentation: str = ""
    ) -> Ended:
        modern = ctx.session.protocol_version in MODERN_PROTOCOL_VERSIONS
        level = wanted(_meta(ctx).get(LOG_LEVEL_META_KEY)) if modern else self._levels.of(exchange.session)
        call = self.made(ctx, params, exchange, presentation, level)
        assert ctx.request_id is not None
        async with words() as say:
            peer = SessionPeer(
                ctx.session,
                ctx.request_id,
                say,
                capabilities_of(ctx.session),
                self._who(exchange, modern),
                NO_LOGS if modern and level is None else level,
                exchange.gone is None,
            )
            wants_progress = ctx.meta is not None and "progress_token" in ctx.meta
            progress = progress_by(say, ctx.session.report_progress) if wants_progress else None
            return await self._heard_out(call, exchange, progress, peer, ctx.lifespan_context if modern else None)

    def _who(self, exchange: Exchange, modern: bool) -> Hashable:
        """A pipe has one client; over HTTP it has a session, or nothing tells two requests' clients apart."""
        if exchange.gone is None:
            return self
        return object() if modern or exchange.session is None else exchange.session

    async def _heard_out(
        self, call: Call, exchange: Exchange, progress: Progress | None, peer: Peer, parking: Parking | None
    ) -> Ended:
        """A client that hung up has given up its call: no later request can ask for the answer."""
        if exchange.gone is None:
            return await self._carried(call, exchange, progress, peer, parking)
        ended: Ended = Cancelled()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_when, exchange.gone, tasks.cancel_scope, name="client")
            ended = await self._carried(call, exchange, progress, peer, parking)
            tasks.cancel_scope.cancel()
        return ended

    async def _carried(
        self, call: Call, exchange: Exchange, progress: Progress | None, peer: Peer, parking: Parking | None
    ) -> Ended:
        if parking is not None:
            return await parking.call(call, exchange.view, progress, peer)
        return await carried(call, exchange.view, self._carry, progress, peer)


def _beside(params: Mapping[str, Json], level: str | None) -> Mapping[str, bytes]:
    """Each further member as text; the level that a session of the handshake era set is told as later eras do."""
    said = {name: value for name, value in params.items() if name not in ("name", "arguments")}
    if isinstance(own := said.get(META), dict) and HANDLE_META_KEY in own:
        # Meant for this gateway alone.
        said[META] = {name: value for name, value in own.items() if name != HANDLE_META_KEY}
    if level is not None:
        meta = said.get(META)
        said[META] = {**(meta if isinstance(meta, dict) else {}), LOG_LEVEL_META_KEY: level}
    return {name: msgspec.json.encode(value) for name, value in said.items()}


def _meta(ctx: Context) -> Mapping[str, Json]:
    meta = (ctx.params or {}).get(META)
    return meta if isinstance(meta, dict) else {}


def _client(ctx: Context) -> str:
    told = ctx.session.client_params
    return "" if told is None else client_text(told.client_info.name, told.client_info.version)
