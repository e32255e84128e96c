"""What the endpoint looks at first: whom a request is for, and whether all of it can be read."""

import json

import pytest
from mcp_types import INVALID_PARAMS
from tests.surfaces.mcp.raw import ACCEPT, modern, modern_headers, spoken
from tests.surfaces.mcp.test_http import Endpoint, endpoint, ping

pytestmark = pytest.mark.anyio
__all__ = ["endpoint"]


async def listed_by_hand(endpoint: Endpoint, target: str, *hosts: str) -> tuple[int, str]:
    """Status and words of the answer to a request whose first line and Host are written by hand."""
    body = json.dumps(modern("tools/list")).encode()
    headers = {**modern_headers(modern("tools/list")), "connection": "close", "content-length": str(len(body))}
    lines = [*(f"Host: {host}" for host in hosts), *(f"{name}: {value}" for name, value in headers.items())]
    said = await spoken(endpoint.url, "\r\n".join([f"POST {target} HTTP/1.1", *lines, "", ""]).encode() + body)
    answer = json.loads(said.partition(b"\r\n\r\n")[2])
    return int(said.split(b" ")[1]), answer["error"]["message"] if "error" in answer else "listed"


@pytest.mark.behaviour("listening.rules_of_http")
async def test_a_request_without_a_host_or_with_none_that_is_one_is_no_good_request(endpoint: Endpoint) -> None:
    missing = "The request does not say whom it is for. Send it with a Host header."
    assert await listed_by_hand(endpoint, "/mcp") == (400, missing)
    status, why = await listed_by_hand(endpoint, "/mcp", "")
    assert (status, why.partition(". ")[0]) == (421, "Host '' is not served here")
    for odd in ("local host", "localhost/x", "a@localhost", "localhost:x", "[::1"):
        told = f"Host {odd!r} is no name with a port. Send the one that you connected to."
        assert await listed_by_hand(endpoint, "/mcp", odd) == (400, told)
    twice = "The header host is given more than once. Send it once."
    assert await listed_by_hand(endpoint, "/mcp", "localhost", "localhost") == (400, twice)


@pytest.mark.behaviour("listening.rules_of_http")
async def test_the_host_in_a_whole_address_is_the_one_that_counts(endpoint: Endpoint) -> None:
    for _ in range(3):
        assert await listed_by_hand(endpoint, "http://localhost:8460/mcp", "evil.example") == (200, "listed")
        status, why = await listed_by_hand(endpoint, "http://evil.example/mcp", "localhost")
        assert (status, why.partition(". ")[0]) == (421, "Host 'evil.example' is not served here")
    status, why = await listed_by_hand(endpoint, "http://localhost/mcp")
    assert (status, "Send it with a Host header" in why) == (400, True)


@pytest.mark.behaviour("http.unpassable_is_answered")
@pytest.mark.parametrize(
    ("argument", "why"),
    [
        (b'"\\ud800"', "half of a surrogate pair is no character (line 1 column 62)"),
        (b'"a\\udc00\\ud83d"', "half of a surrogate pair is no character (line 1 column 62)"),
        (b"1e999", "a number is too large"),
        (b"9" * 5000, "number out of range (line 1 column 4356)"),
        (b"[" * 500 + b"]" * 500, "it is nested more than 200 levels deep (line 1 column 254)"),
        (b"[" * 2_000 + b"]" * 2_000, "it is nested more than 200 levels deep (line 1 column 254)"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "it is nested more than 200 levels deep (line 1 column 1050)"),
    ],
    ids=["half a pair", "two halves", "infinite", "digits", "nested", "2,000 levels", "50,000 levels"],
)
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28"])
async def test_json_that_not_every_reader_could_be_given_is_answered_with_the_id_of_its_request(
    version: str | None, argument: bytes, why: str, endpoint: Endpoint
) -> None:
    headers = ACCEPT if version is None else {**ACCEPT, "mcp-protocol-version": version}
    answer = await endpoint.post(ping(argument), headers)
    assert (answer.status_code, answer.json()) == (
        400 if version == "2026-07-28" else 200,
        {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {
                "code": INVALID_PARAMS,
                "message": f"The request is JSON that not every reader could be given: {why}. Correct it.",
            },
        },
    )
