"""An operator at the API of a gateway in memory: requests in, answers out, and the house behind them in reach."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.core.boards import key, tool
from tests.support.doubles import MemoryStore, Providers
from tests.support.house import House, declared, opened
from tests.support.shared_api import shared_rest_app
from tests.support.sign_ins import ScriptedSignIns
from tests.surfaces.rest.conforming import assert_conforms

from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.gateway.access.tokens import hash_token
from pegboard.ports.stores import TicketStore
from pegboard.surfaces.rest.settings import RuntimeInfo

TOKEN = "the-start-up-token"
ABOUT = RuntimeInfo("/srv/pegboard.yaml", "/srv/data", "http://127.0.0.1:8460/mcp", "sqlite:////srv/data/pegboard.db")
GITHUB, NOTES = key("dev~github"), key("docs~notes")
TOOLS: Mapping[Any, tuple[Tool, ...]] = {
    GITHUB: (tool(GITHUB, "read"), tool(GITHUB, "write")),
    NOTES: (tool(NOTES, "jot"),),
}


@dataclass(frozen=True)
class Desk:
    house: House
    client: httpx2.AsyncClient

    async def ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Every answer is held to the OpenAPI document."""
        answer = await self.client.request(method, f"/api/v1{path}", **options)
        assert_conforms(answer)
        return answer

    async def get(self, path: str, **params: Any) -> Any:
        """The body of an answer that must be a good one."""
        answer = await self.ask("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()


@asynccontextmanager
async def at_desk(
    board: DeclaredSettings | None = None,
    *,
    store: MemoryStore | None = None,
    token: str | None = TOKEN,
    settle: bool = True,
    sign_ins: ScriptedSignIns | None = None,
    tickets: TicketStore | None = None,
    tools: Mapping[Any, tuple[Tool, ...]] = TOOLS,
) -> AsyncIterator[Desk]:
    board = declared(GITHUB, NOTES) if board is None else board
    async with (
        opened(board, Providers(tools), store=store, settle=settle, tickets=tickets) as house,
        desk_over(house, token=token, sign_ins=sign_ins) as desk,
    ):
        yield desk


@asynccontextmanager
async def desk_over(
    house: House, *, token: str | None = TOKEN, sign_ins: ScriptedSignIns | None = None
) -> AsyncIterator[Desk]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    with shared_rest_app(house.gateway, ABOUT, hash_token(TOKEN), lambda: sign_ins or ScriptedSignIns()) as app:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            yield Desk(house, client)


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """The status and the sentence of a refusal, which must be a problem document."""
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert body.keys() >= {"type", "title", "status", "detail"}
    assert body["status"] == answer.status_code
    return answer.status_code, body["detail"]
