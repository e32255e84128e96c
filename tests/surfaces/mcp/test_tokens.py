"""Tokens made at run time at the MCP endpoint: who comes in, and what ends with them."""

import hashlib
from datetime import timedelta

import anyio
import httpx2
import pytest
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import modern, modern_headers
from tests.surfaces.mcp.test_leaving import streams
from tests.surfaces.mcp.workshop import DECLARED, Workshop, open_workshop

from pegboard.core.commands.access import MakeToken, RemovePrincipal, RevokeToken
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.rejection import CommandRejection

pytestmark = pytest.mark.anyio

AGENT = PrincipalId("agent")
TEXT = "pgb_agent-0123456789"


async def make(
    workshop: Workshop,
    *scopes: TokenScope,
    text: str = TEXT,
    lasts: timedelta | None = None,
    principal: PrincipalId = AGENT,
) -> str:
    id = hashlib.sha256(text.encode()).hexdigest()[:12]
    digest = hashlib.sha256(text.encode()).digest()
    expires = None if lasts is None else workshop.gateway.clock() + lasts
    command = MakeToken(id, principal, "a test", text[:8], digest, frozenset(scopes), expires)
    assert not isinstance(await workshop.gateway.operator.execute(command, LOCAL_PRINCIPAL), CommandRejection)
    return id


async def lists(url: str, token: str | None = TEXT) -> int:
    message = modern("tools/list")
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient() as http:
        answer = await http.post(url, json=message, headers={**modern_headers(message), **headers})
    return answer.status_code


@pytest.mark.behaviour("tokens.close_the_endpoint")
async def test_the_endpoint_asks_once_a_token_calls_and_goes_on_when_none_holds_any_more() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(DECLARED) as workshop, served(workshop) as url:
            assert await lists(url, None) == 200
            looks = await make(workshop, TokenScope.READ, text="pgb_looks-0123456789", principal=PrincipalId("monitor"))
            assert await lists(url, None) == 200, "a token that only looks shuts nobody out"
            id = await make(workshop, TokenScope.CALL)
            assert [await lists(url, token) for token in (None, "wrong", TEXT)] == [401, 401, 200]
            assert await lists(url, "pgb_looks-0123456789") == 403
            await workshop.gateway.operator.execute(RevokeToken(id), LOCAL_PRINCIPAL)
            await workshop.gateway.operator.execute(RevokeToken(looks), LOCAL_PRINCIPAL)
            assert [await lists(url, token) for token in (None, TEXT)] == [401, 401]
            await workshop.gateway.operator.execute(RemovePrincipal(AGENT, reopen=True), LOCAL_PRINCIPAL)
            assert await lists(url, None) == 200


@pytest.mark.behaviour("tokens.revoked")
async def test_streams_of_a_revoked_token_end_in_their_midst() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(DECLARED) as workshop, served(workshop) as url:
            id = await make(workshop, TokenScope.CALL)
            headers = {"authorization": f"Bearer {TEXT}"}
            async with httpx2.AsyncClient(timeout=None) as http, streams(http, url, headers) as open_streams:
                await workshop.gateway.operator.execute(RevokeToken(id), LOCAL_PRINCIPAL)
                for stream in open_streams:
                    await stream.over.wait()
            assert await lists(url) == 401


@pytest.mark.behaviour("tokens.expire")
async def test_streams_of_a_token_end_when_it_expires() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(DECLARED) as workshop, served(workshop) as url:
            await make(workshop, TokenScope.CALL, text="pgb_other-0123456789", principal=PrincipalId("other"))
            await make(workshop, TokenScope.CALL, lasts=timedelta(seconds=2))
            headers = {"authorization": f"Bearer {TEXT}"}
            async with httpx2.AsyncClient(timeout=None) as http, streams(http, url, headers) as open_streams:
                for stream in open_streams:
                    await stream.over.wait()
            assert await lists(url) == 401
            assert await lists(url, "pgb_other-0123456789") == 200
