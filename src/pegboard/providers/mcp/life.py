"""One connection of a server from its opening to its end: connected, listed, and listed again when its tools change."""

import logging
import math
from collections.abc import Callable
from http import HTTPStatus
from traceback import format_exception
from typing import Final

import anyio
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from pegboard.core.ids import ProviderKey
from pegboard.core.server import Http, Stdio, Timeouts

from .authorization import Authorization
from .connect import connected
from .connection import Bell, Connection
from .http_client import unsigned
from .library import ServerLibrary
from .listing import Listed, listed
from .trouble import Loss, Trouble, seconds, sentence

log: Final = logging.getLogger(__name__)

_SETTLE: Final = 0.1
"""A server that changes many tools tells of each: wait this long for the rest before listing again."""

_BREATH: Final = 1.0
"""At least so long from one list to the next, and from one subscription to the next, whatever the server does."""

_SUBSCRIBE: Final = 2.0
"""How long the first list waits for the subscription, so that no change falls between the two."""

_BESIDE: Final = 5.0
"""How long the tools wait for the prompts and resources, so that whoever lists them first finds both."""

_CUT: Final = "lost its connection"


class Life:
    """`hang` gets each list; `lost` is told as soon as the connection is over, before the server is stopped."""

    def __init__(
        self,
        source: ProviderKey,
        timeouts: Timeouts,
        *,
        hear: Callable[[bytes], None],
        hang: Callable[[Listed], None],
        lost: Callable[[str], None],
        erase: Callable[[str], str],
        library: ServerLibrary,
        authorization: Authorization | None = None,
    ) -> None:
        self._source = source
        self._timeouts = timeouts
        self._hear = hear
        self._hang = hang
        self._lost = lost
        self._erase = erase
        self._library = library
        self._authorization = authorization
        self._changed = Bell()
        self._loss = Loss()
        self._connection: Connection | None = None
        self.opened = False
        """Whether the server answered our opening at all."""

    @property
    def connection(self) -> Connection | None:
        """Open and listed, or None."""
        return None if self._loss.why is not None else self._connection

    @property
    def ending(self) -> str | None:
        return self._loss.why

    def doubt(self) -> None:
        """Something failed that may mean the server is gone: listing will tell."""
        self._changed.ring()

    def end(self, why: str) -> None:
        """Take no more calls. Whoever runs this life cancels it."""
        self._loss.happen(why)

    async def run(self, reached: Stdio | Http, *, probe: bool) -> str:
        """Live until the connection is over, and say why it is."""
        start = self._timeouts.start
        try:
            # The deadline covers the opening alone: it is lifted once the tools are listed.
            with anyio.CancelScope(deadline=anyio.current_time() + start) as opening:
                async with connected(
                    self._source,
                    reached,
                    self._timeouts,
                    changed=self._changed,
                    loss=self._loss,
                    hear=self._hear,
                    told=self._library.hear,
                    probe=probe,
                    authorization=self._authorization,
                ) as connection:
                    self.opened = True
                    async with anyio.create_task_group() as tasks:
                        await self._subscribe(connection, tasks)
                        beside = anyio.Event()
                        tasks.start_soon(self._library.keep, connection, beside)
                        found = await _listed(connection, self._source)
                        with anyio.move_on_after(_BESIDE):
                            await beside.wait()
                        tasks.start_soon(self._library.attend, connection)
                        self._show(connection, found)
                        opening.deadline = math.inf
                        self._connection = connection
                        tasks.start_soon(self._follow, connection)
                        if self._authorization is not None:
                            tasks.start_soon(self._stay_signed_in, connection, self._authorization)
                        try:
                            self._lost(await self._loss.wait())
                        finally:
                            # Stopped, or the transport fell over: who waits is told before either is known.
                            self._loss.happen(_CUT)
                        tasks.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - a life is supervised here: whatever ends it becomes its reason
            # What the transport saw comes first: a closed stream is what follows from a server that exited.
            seen = self._loss.why if self._loss.why != _CUT else None
            return seen or sentence(error) or self._unforeseen(error)
        if opening.cancelled_caught:
            return self._loss.why or f"did not answer within {seconds(start)}"
        return self._loss.why or "closed the connection"

    def _unforeseen(self, error: Exception) -> str:
        # As text, because a traceback may quote an address or a header that holds a key.
        log.error("%s failed in an unforeseen way:\n%s", self._source, self._erase("".join(format_exception(error))))
        return f"failed in an unforeseen way ({type(error).__name__}); the gateway's log has the details"

    def _show(self, connection: Connection, found: Listed) -> None:
        connection.header_maps = found.header_maps
        self._hang(found)

    async def _follow(self, connection: Connection) -> None:
        """List again whenever the tools may differ. A server that cannot list any more is lost."""
        while True:
            await self._changed.heard()
            await anyio.sleep(_SETTLE)
            try:
                with anyio.fail_after(self._timeouts.start):
                    found = await _listed(connection, self._source)
            except (MCPError, Trouble) as error:
                self._loss.happen(sentence(error) or str(error))
                return
            except TimeoutError:
                self._loss.happen(f"did not list its tools within {seconds(self._timeouts.start)}")
                return
            self._show(connection, found)
            await anyio.sleep(_BREATH)

    async def _stay_signed_in(self, connection: Connection, authorization: Authorization) -> None:
        """A renewal that is refused is not found out by the next caller: the sign-in is wanted from then on."""
        holds = await authorization.keep_fresh()
        with anyio.move_on_after(holds):
            # Calls that are under way may well end before what we have does, and nothing else tells when they do.
            while connection.in_flight.is_busy:  # noqa: ASYNC110 - see above
                await anyio.sleep(_BREATH)
        authorization.lapse()
        self._loss.happen(unsigned(authorization, HTTPStatus.UNAUTHORIZED, "") or _CUT)

    async def _subscribe(self, connection: Connection, tasks: TaskGroup) -> None:
        """Open the stream of changes where there is one, before the list that it keeps fresh."""
        if not connection.offers_subscriptions:
            return
        settled = anyio.Event()
        tasks.start_soon(self._stay_subscribed, connection, settled)
        with anyio.move_on_after(_SUBSCRIBE):
            await settled.wait()

    async def _stay_subscribed(self, connection: Connection, settled: anyio.Event) -> None:
        first = True

        def opened() -> None:
            # What changed while nobody listened is in the next list. The first one is still to come, or just came.
            if not first or settled.is_set():
                self._changed.ring()
                self._library.doubt()
            settled.set()

        while await connection.hear_changes(opened):
            first = False
            settled.set()
            # A stream that broke may mean that the server is gone, and listing will tell.
            self._changed.ring()
            await anyio.sleep(_BREATH)
        settled.set()


async def _listed(connection: Connection, source: ProviderKey) -> Listed:
    try:
        return await listed(connection, source)
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND and not connection.offers_tools:
            return Listed()
        raise
