"""An operator at the API of a gateway whose records are in a real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
from tests.rest.desk import ABOUT, GITHUB, NOTES, TOKEN, TOOLS, Desk
from tests.store.engines import now
from tests.support.doubles import MemoryStore, Providers
from tests.support.house import declared, opened
from tests.support.sign_ins import ScriptedSignIns

from pegboard.core.policy import Declared
from pegboard.store import Store, open_store
from pegboard.surfaces.rest.access import hashed
from pegboard.surfaces.rest.app import rest_app


@asynccontextmanager
async def at_recorded_desk(
    path: Path, board: Declared | None = None, *, store: MemoryStore | None = None
) -> AsyncIterator[tuple[Desk, Store]]:
    board = declared(GITHUB, NOTES) if board is None else board
    async with (
        open_store(f"sqlite:///{path / 'pegboard.db'}", clock=now) as kept,
        opened(board, Providers(TOOLS), store=store) as house,
    ):
        caller = replace(house.gateway.caller, audit=kept.audit)
        house.gateway = replace(house.gateway, audit=kept.audit, caller=caller)
        app = rest_app(house.gateway, ABOUT, hashed(TOKEN), ScriptedSignIns)
        headers = {"authorization": f"Bearer {TOKEN}"}
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            yield Desk(house, client), kept
