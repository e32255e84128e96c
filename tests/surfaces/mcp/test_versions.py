"""Every protocol version that the reference names is served, and a refusal opens no session."""

import anyio
import httpx2
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import ACCEPT, INITIALIZE, ask, modern, modern_headers
from tests.surfaces.mcp.workshop import open_workshop

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("mcp.out.versions_are_told")
@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_a_client_of_an_older_version_gets_that_version(version: str) -> None:
    opening = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": version}}
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient() as http:
            opened = await http.post(url, json=opening, headers=ACCEPT)
            assert opened.json()["result"]["protocolVersion"] == version
            session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": version}
            listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            listed = await http.post(url, json=listing, headers={**ACCEPT, **session})
            assert listed.json()["result"]["tools"]


@pytest.mark.behaviour("mcp.out.versions_are_told")
async def test_a_client_of_the_newest_version_needs_no_session() -> None:
    message = modern("tools/list")
    assert (modern_headers(message)["mcp-protocol-version"],) == MODERN_PROTOCOL_VERSIONS
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient() as http:
            listed = await ask(http, url, "tools/list")
            assert (listed.status_code, "mcp-session-id" in listed.headers) == (200, False)


@pytest.mark.behaviour("mcp.out.refusals_name_no_session")
async def test_a_request_that_opens_no_session_is_told_of_none() -> None:
    listing = b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}'
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient() as http:
            for method, content in (("POST", listing), ("POST", b"{"), ("POST", b"[]"), ("GET", b""), ("DELETE", b"")):
                refused = await http.request(method, url, content=content, headers=ACCEPT)
                assert (method, refused.status_code, "mcp-session-id" in refused.headers) == (method, 400, False)
