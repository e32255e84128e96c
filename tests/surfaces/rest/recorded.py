"""An operator at the API of a gateway whose records are in a real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tests.store.engines import now
from tests.support.doubles import MemoryStore, Providers
from tests.support.house import declared, opened
from tests.surfaces.rest.desk import GITHUB, NOTES, TOOLS, Desk, desk_over

from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.store.open import Store, open_store


@asynccontextmanager
async def at_recorded_desk(
    path: Path, board: DeclaredSettings | None = None, *, store: MemoryStore | None = None
) -> AsyncIterator[tuple[Desk, Store]]:
    board = declared(GITHUB, NOTES) if board is None else board
    async with (
        open_store(f"sqlite:///{path / 'pegboard.db'}", clock=now) as kept,
        opened(board, Providers(TOOLS), store=store) as house,
    ):
        gateway, audit = house.gateway, kept.audit
        caller = replace(gateway.caller, audit=audit)
        calls = ToolCalls(gateway.board, caller, gateway.code_mode, audit, gateway.clock)
        house.gateway = replace(gateway, audit=audit, caller=caller, calls=calls)
        async with desk_over(house) as desk:
            yield desk, kept
