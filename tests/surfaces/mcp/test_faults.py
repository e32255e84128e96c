"""What a client is told of a request that is wrong: which member, which method, which version, and what to do."""

from typing import Any

import anyio
import httpx2
import pytest
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import ACCEPT, error_of, handshake
from tests.surfaces.mcp.workshop import open_workshop

pytestmark = pytest.mark.anyio
NO_SESSION = (
    "The request names no session. Send initialize first, and the Mcp-Session-Id of its answer with every request "
    "after; or use protocol version 2026-07-28, which needs none."
)
ENDED = "There is no such session: it has ended, or it is not yours. Send initialize again."


def message(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.behaviour("http.errors_name_place_and_remedy")
async def test_params_that_do_not_fit_are_named_and_so_is_a_method_that_is_not_there() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            session = await handshake(http, url)
            for method, params, told in (
                ("prompts/get", {"x": 5}, "'name' is missing"),
                ("resources/read", {}, "'uri' is missing"),
                ("resources/read", {"uri": 5}, "'uri': input should be a valid string"),
                ("tools/call", {}, "'name' is missing"),
                ("tools/call", {"name": "saw", "arguments": [1]}, "'arguments': input should be a valid dictionary"),
            ):
                answer = await http.post(url, json=message(method, params), headers=session)
                words = f"The params of {method} do not fit: {told}. Correct the request."
                assert error_of(answer) == (200, INVALID_PARAMS, words)
            level = await http.post(url, json=message("logging/setLevel", {"level": "loud"}), headers=session)
            assert "'level': input should be 'alert', 'critical', 'debug'" in error_of(level)[2]
            unknown = await http.post(url, json=message("foo/bar", {}), headers=session)
            words = "There is no method 'foo/bar' in this version of the protocol. Use one that the capabilities name."
            assert error_of(unknown) == (200, METHOD_NOT_FOUND, words)
            listed = await http.post(url, json=message("tools/list", [1]), headers=session)
            words = "The body is no JSON-RPC 2.0 message: its params must be an object. Correct it."
            assert error_of(listed) == (400, INVALID_PARAMS, words)


@pytest.mark.behaviour("http.errors_name_place_and_remedy")
async def test_who_has_no_session_is_told_to_open_one_and_who_has_lost_it_to_open_another() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            listing = message("tools/list", {})
            assert error_of(await http.post(url, json=listing, headers=ACCEPT)) == (400, INVALID_REQUEST, NO_SESSION)
            assert error_of(await http.get(url, headers=ACCEPT)) == (400, INVALID_REQUEST, NO_SESSION)
            lost = {**ACCEPT, "mcp-session-id": "lost"}
            assert error_of(await http.post(url, json=listing, headers=lost)) == (404, INVALID_REQUEST, ENDED)
            assert error_of(await http.delete(url, headers=lost)) == (404, INVALID_REQUEST, ENDED)


@pytest.mark.behaviour("http.errors_name_place_and_remedy")
async def test_a_version_that_nobody_knows_is_told_with_those_that_are() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            headers = {**ACCEPT, "mcp-protocol-version": "2099-01-01"}
            answer = await http.post(url, json=message("tools/list", {}), headers=headers)
            known = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
            assert (answer.status_code, answer.json()) == (
                400,
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "error": {
                        "code": UNSUPPORTED_PROTOCOL_VERSION,
                        "message": "Protocol version '2099-01-01' is not known here. Use one of 2024-11-05, "
                        "2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28.",
                        "data": {"supported": known, "requested": "2099-01-01"},
                    },
                },
            )
