"""Callers with tokens at the HTTP endpoint: who comes in, as whom, and whose session is whose."""

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import httpx2
import pytest
from mcp_types import INVALID_REQUEST
from tests.support.sentences import unknown_tool
from tests.surfaces.mcp.places import DEADLINE, MODES, http_client, served
from tests.surfaces.mcp.raw import ACCEPT, INITIALIZE, ask, error_of, handshake
from tests.surfaces.mcp.workshop import DECLARED, HERE, OPEN_TOOLS, Workshop, open_workshop

from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.model.principals import Principal
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.gateway.access.attempts import MAX_ADDRESSES, MAX_FAILURES, WINDOW_S, FailedAttempts
from pegboard.gateway.access.tokens import caller_token_hashes
from pegboard.gateway.board import BoardState
from pegboard.surfaces.mcp.authentication import BearerAuthentication, match_principal
from pegboard.surfaces.mcp.request_checks import HttpRejection, RequestChecks
from pegboard.surfaces.mcp.session_state import client_text

pytestmark = pytest.mark.anyio

ALICE, BOB, CAROL = map(PrincipalId, ("alice", "bob", "carol"))
TOKENS = {ALICE: "alice-0123456789abcdef", BOB: "bob-0123456789abcdef"}
WHO = "This gateway asks who calls. Send Authorization: Bearer TOKEN with the token that its operator gave you."
STRANGER = (
    "The token is not one that this gateway knows. Send Authorization: Bearer TOKEN with the token that its operator "
    "gave you, or ask for a new one."
)


def named(*who: PrincipalId) -> Mapping[PrincipalId, Principal]:
    return {one: Principal(one, HERE, (hashlib.sha256(TOKENS[one].encode()).digest(),)) for one in who}


GUARDED = replace(DECLARED, principals=named(ALICE, BOB), grants={ALICE: frozenset({ToolsetId("files")})})


def bearer(who: PrincipalId) -> dict[str, str]:
    return {"authorization": f"Bearer {TOKENS[who]}"}


class Endpoint:
    def __init__(self, workshop: Workshop, url: str, http: httpx2.AsyncClient) -> None:
        self.workshop = workshop
        self.url = url
        self.http = http

    async def lists(self, **headers: str) -> httpx2.Response:
        return await ask(self.http, self.url, "tools/list", headers)

    async def names(self, who: PrincipalId) -> list[str]:
        answer = await self.lists(**bearer(who))
        return [tool["name"] for tool in answer.json()["result"]["tools"]]


@pytest.fixture
async def endpoint(anyio_backend: str) -> AsyncIterator[Endpoint]:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(GUARDED) as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):
            yield Endpoint(workshop, url, http)


@pytest.mark.behaviour("principals.a_token_is_demanded")
async def test_without_a_token_or_with_a_wrong_one_nobody_comes_in(endpoint: Endpoint) -> None:
    answer = await endpoint.lists()
    assert error_of(answer) == (401, INVALID_REQUEST, WHO)
    assert answer.headers["www-authenticate"] == 'Bearer realm="pegboard"'
    good = TOKENS[ALICE]
    for wrong in ("Bearer nobody-knows-this", f"Basic {good}", good, f"Bearer {good}x", "Bearer", ""):
        answer = await endpoint.lists(authorization=wrong)
        assert error_of(answer) == (401, INVALID_REQUEST, STRANGER), wrong
        assert answer.headers["www-authenticate"] == 'Bearer realm="pegboard", error="invalid_token"'
        assert good not in answer.text


@pytest.mark.behaviour("principals.a_token_is_demanded")
async def test_every_kind_of_request_needs_the_token(endpoint: Endpoint) -> None:
    for method in ("GET", "DELETE"):
        answer = await endpoint.http.request(method, endpoint.url, headers={**ACCEPT, "mcp-session-id": "0" * 32})
        assert error_of(answer) == (401, INVALID_REQUEST, WHO)
    answer = await endpoint.http.post(endpoint.url, json=INITIALIZE, headers=ACCEPT)
    assert error_of(answer) == (401, INVALID_REQUEST, WHO)
    answer = await endpoint.http.post(endpoint.url, content=b"no json", headers={"content-type": "text/plain"})
    assert error_of(answer) == (401, INVALID_REQUEST, WHO), "a stranger learns nothing more of what is served here"


async def test_two_authorizations_are_refused_and_neither_is_taken(endpoint: Endpoint) -> None:
    headers = [*ACCEPT.items(), *bearer(ALICE).items(), *bearer(BOB).items()]
    answer = await endpoint.http.post(endpoint.url, content=json.dumps(INITIALIZE), headers=headers)
    assert error_of(answer) == (
        400,
        INVALID_REQUEST,
        "The header authorization is given more than once. Send it once.",
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.behaviour("principals.the_caller_is_the_principal")
async def test_a_caller_is_who_its_token_says_with_the_tools_granted_to_it(mode: str, endpoint: Endpoint) -> None:
    seen = {}
    for who in (ALICE, BOB):
        async with http_client(endpoint.url, bearer(who), mode=mode) as client:
            seen[who] = [tool.name for tool in (await client.list_tools()).tools]
            await client.call_tool("get_file", {})
    assert seen == {ALICE: ["create_file", "get_file", "delete_file"], BOB: OPEN_TOOLS}
    assert [record.call.principal for record in endpoint.workshop.audit.records] == [ALICE, BOB]


@pytest.mark.behaviour("principals.the_caller_is_the_principal")
async def test_what_a_caller_was_not_granted_does_not_exist_for_it(endpoint: Endpoint) -> None:
    answer = await ask(endpoint.http, endpoint.url, "tools/call", bearer(ALICE), name="echo", arguments={"text": "x"})
    assert answer.json()["error"]["message"] == unknown_tool("echo")
    narrowed = await endpoint.lists(**bearer(ALICE), **{"x-mcp-toolsets": "bench"})
    assert narrowed.status_code == 400
    assert "echo" not in narrowed.text


@pytest.mark.behaviour("principals.a_session_is_its_principals_alone")
async def test_a_session_does_not_exist_for_another_principal(endpoint: Endpoint) -> None:
    http, url = endpoint.http, endpoint.url
    session = {**await handshake_as(http, url, BOB)}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    theirs = await http.post(url, json=listing, headers={**session, **bearer(ALICE)})
    assert error_of(theirs) == (
        404,
        INVALID_REQUEST,
        "There is no such session: it has ended, or it is not yours. Send initialize again.",
    )
    for method in ("GET", "DELETE"):
        answer = await http.request(method, url, headers={**session, **bearer(ALICE)})
        assert answer.status_code == 404
    own = await http.post(url, json=listing, headers={**session, **bearer(BOB)})
    assert [tool["name"] for tool in own.json()["result"]["tools"]] == OPEN_TOOLS


async def handshake_as(http: httpx2.AsyncClient, url: str, who: PrincipalId) -> dict[str, str]:
    async with httpx2.AsyncClient(headers=bearer(who), timeout=DEADLINE) as named_client:
        return await handshake(named_client, url)


@pytest.mark.behaviour("principals.followed_at_once")
async def test_a_caller_that_the_operator_takes_out_is_a_stranger_with_the_next_request(endpoint: Endpoint) -> None:
    assert await endpoint.names(BOB) == OPEN_TOOLS
    session = await handshake_as(endpoint.http, endpoint.url, BOB)
    await endpoint.workshop.gateway.operator.apply_settings(replace(GUARDED, principals=named(ALICE)))
    assert error_of(await endpoint.lists(**bearer(BOB))) == (401, INVALID_REQUEST, STRANGER)
    await endpoint.workshop.gateway.operator.apply_settings(DECLARED)
    assert (await endpoint.lists()).status_code == 401, "a gateway that required tokens stays closed"
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert (await endpoint.http.post(endpoint.url, json=ping, headers=session)).status_code == 401


async def test_a_session_from_before_callers_had_names_is_nobodys() -> None:
    async with (
        open_workshop(DECLARED) as workshop,
        served(workshop) as url,
        httpx2.AsyncClient(timeout=DEADLINE) as http,
    ):
        session = await handshake(http, url)
        await workshop.gateway.operator.apply_settings(GUARDED)
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        answer = await http.post(url, json=ping, headers={**session, **bearer(BOB)})
        assert answer.status_code == 404


@pytest.mark.behaviour("principals.wrong_tokens_are_bounded")
async def test_many_wrong_tokens_are_told_to_wait_while_a_right_one_comes_in(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "pegboard"):
        for attempt in range(MAX_FAILURES):
            assert (await endpoint.lists(authorization=f"Bearer guess-{attempt}")).status_code == 401
        answer = await endpoint.lists(authorization="Bearer guess-last")
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= WINDOW_S
        assert (await endpoint.lists(authorization="Bearer guess-again")).status_code == 429
        assert (await endpoint.lists()).status_code == 401
        assert await endpoint.names(BOB) == OPEN_TOOLS
    assert [record.message for record in caplog.records if record.name.startswith("pegboard.gateway.access")] == [
        f"More than {MAX_FAILURES} wrong tokens within a minute from 127.0.0.1"
    ]
    assert "guess" not in caplog.text


def entrance(declared: DeclaredSettings, now: list[float]) -> BearerAuthentication:
    return BearerAuthentication(BoardState(Policy(declared)), attempts=FailedAttempts(lambda: now[0]))


def test_wrong_tokens_are_forgiven_after_a_minute_and_counted_for_each_address_alone() -> None:
    now = [1000.0]
    at_door = entrance(GUARDED, now)

    def status(address: str) -> int:
        refused = at_door.principal_of(b"Bearer wrong", address)
        assert isinstance(refused, HttpRejection)
        return refused.status

    assert [status("a") for _ in range(MAX_FAILURES + 1)] == [401] * MAX_FAILURES + [429]
    assert status("b") == 401
    now[0] += WINDOW_S
    assert status("a") == 401
    for other in range(MAX_ADDRESSES * 2):
        status(f"other-{other}")
    assert len(at_door._attempts._failures) == MAX_ADDRESSES


def test_whoever_comes_in_is_remembered_until_the_callers_change() -> None:
    board = BoardState(Policy(GUARDED))
    at_door = BearerAuthentication(board)
    header = f"bearer   {TOKENS[BOB]}".encode()
    assert [at_door.principal_of(header), at_door.principal_of(header)] == [BOB, BOB]
    board.set_policy(Policy(replace(GUARDED, principals=named(ALICE))))
    assert isinstance(at_door.principal_of(header), HttpRejection)
    board.set_policy(Policy(DECLARED))
    assert at_door.principal_of(header) == LOCAL_PRINCIPAL


@pytest.mark.behaviour("principals.without_a_token_nobody_comes_in")
def test_a_caller_without_a_usable_token_cannot_be_anybody_and_still_all_are_asked() -> None:
    empty = caller_token_hashes(Policy(replace(GUARDED, principals={CAROL: Principal(CAROL, HERE)})), datetime.now(UTC))
    for header in (None, b"", b"Bearer", b"Bearer ", b"Bearer \xff\x00", b"\xff"):
        assert isinstance(match_principal(header, empty), HttpRejection)


@pytest.mark.behaviour("principals.the_token_stays_here")
def test_the_token_for_the_gateway_is_not_among_the_headers_that_a_call_carries_on() -> None:
    headers = [(b"authorization", b"Bearer x"), (b"x-token", b"a"), (b"x-token", b"b")]
    assert entrance(GUARDED, [0.0]).forwardable_headers(headers) == {b"x-token": b"a, b"}
    assert entrance(DECLARED, [0.0]).forwardable_headers(headers) == {
        b"authorization": b"Bearer x",
        b"x-token": b"a, b",
    }


async def test_one_principal_opens_only_so_many_sessions_and_the_others_theirs() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(GUARDED) as workshop,
            served(workshop, RequestChecks(max_sessions_per_principal=2)) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as http,
        ):

            async def opened(who: PrincipalId) -> httpx2.Response:
                return await http.post(url, json=INITIALIZE, headers={**ACCEPT, **bearer(who)})

            first, second, third = [await opened(BOB) for _ in range(3)]
            assert [answer.status_code for answer in (first, second, third)] == [200, 200, 429]
            assert "too many sessions open" in third.text
            assert (await opened(ALICE)).status_code == 200
            ended = {"mcp-session-id": first.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
            assert (await http.delete(url, headers={**ended, **bearer(BOB)})).status_code == 200
            assert (await opened(BOB)).status_code == 200


@pytest.mark.behaviour("confirmation.claimed_clients")
@pytest.mark.parametrize("name", ["operator", " operator", "operator\u3164", "ope\u200brator"])
def test_no_client_calls_itself_as_the_operators_api_does(name: str) -> None:
    assert client_text(name, "root") == "client operator root"
    assert client_text(name, "") == "client operator"


@pytest.mark.behaviour("confirmation.claimed_clients")
def test_other_clients_keep_their_names() -> None:
    assert client_text("operators", "1.0") == "operators 1.0"
    assert client_text("cursor", "operator root") == "cursor operator root"
