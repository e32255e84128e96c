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
        caller = replace(house.gateway.caller, audit=kept.audit)
        house.gateway = replace(house.gateway, audit=kept.audit, caller=caller)
        async with desk_over(house) as desk:
            yield desk, kept
