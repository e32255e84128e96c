"""What a stranger, a page of another port, or a former holder of a token tries; and what none of them finds."""

import logging

import anyio
import httpx2
import pytest
from tests.surfaces.web.site import COOKIE, PAGE, TOKEN, browsing, secret_in, signed_in

from pegboard.gateway.access.authentication import OperatorAuthentication

pytestmark = pytest.mark.anyio

PATIENCE = 60
OPERATOR = {"authorization": f"Bearer {TOKEN}"}


async def made(client: httpx2.AsyncClient, *scopes: str) -> tuple[str, str]:
    """The id and the text of a new token."""
    body = {"principal": "alice", "name": "a test", "scopes": list(scopes)}
    answer = (await client.post("/api/v1/tokens", json=body, headers=OPERATOR)).json()
    return answer["created"]["id"], answer["token"]


async def ends(client: httpx2.AsyncClient, headers: dict[str, str], deed: "Deed") -> None:
    """Whoever listens to events with these headers hears no more once the deed is done."""
    over: list[httpx2.Response] = []

    async def follow() -> None:
        over.append(await client.get("/api/v1/events", headers=headers))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            assert over == []
            await deed(client)
    assert [answer.status_code for answer in over] == [200]


class Deed:
    def __init__(self, method: str, path: str, headers: dict[str, str]) -> None:
        self._request = method, path, headers

    async def __call__(self, client: httpx2.AsyncClient) -> None:
        method, path, headers = self._request
        assert (await client.request(method, path, headers=headers)).status_code in (200, 204)


@pytest.mark.behaviour("tokens.revoked")
async def test_a_stream_of_events_ends_in_its_midst_when_its_token_is_revoked() -> None:
    async with browsing() as (client, _):
        id, text = await made(client, "read")
        revoke = Deed("DELETE", f"/api/v1/tokens/{id}", OPERATOR)
        await ends(client, {"authorization": f"Bearer {text}"}, revoke)


@pytest.mark.behaviour("tokens.revoked", "access.sign_out")
async def test_a_visit_and_its_stream_end_with_the_token_that_began_it_and_with_the_sign_out() -> None:
    async with browsing() as (client, _):
        id, text = await made(client, "operate")
        cookie = {**await signed_in(client, text), **PAGE}
        await ends(client, cookie, Deed("DELETE", f"/api/v1/tokens/{id}", OPERATOR))
        client.cookies.clear()
        assert (await client.get("/api/v1/session", headers=cookie)).status_code == 401
        again = {**await signed_in(client), **PAGE}
        await ends(client, again, Deed("DELETE", "/api/v1/session", again))


@pytest.mark.behaviour("access.scopes")
async def test_a_visit_can_do_what_its_token_can_and_no_more() -> None:
    async with browsing() as (client, _):
        _, text = await made(client, "read")
        cookie = {**await signed_in(client, text), **PAGE}
        assert (await client.get("/api/v1/status", headers=cookie)).status_code == 200
        refused = await client.post("/api/v1/servers/github/restart", headers=cookie)
        assert (refused.status_code, refused.json()["missingScopes"]) == (403, ["operate"])


@pytest.mark.behaviour("tokens.made")
async def test_no_token_and_no_cookie_is_in_a_log_an_answer_or_the_activity(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with browsing() as (client, _):
            id, text = await made(client, "read", "operate")
            wrong = "pgb_wrong-0123456789-swordfish"
            answers = [
                await client.post("/ui/sign-in", data={"token": TOKEN}, headers=PAGE),
                await client.get("/ui/", params={"token": wrong}),
                await client.post("/ui/sign-in", data={"token": wrong}, headers=PAGE),
                await client.post("/api/v1/session", json={"token": wrong}),
                await client.post("/api/v1/session", json={"token": {"text": wrong}}),
                await client.get("/api/v1/status", headers={"authorization": f"Bearer {wrong}"}),
                await client.get("/api/v1/status", params={"token": text}, headers=OPERATOR),
            ]
            cookie = secret_in(answers[0])
            client.cookies.clear()
            await client.delete(f"/api/v1/tokens/{id}", headers=OPERATOR)
            shown = ("/tokens", "/principals", "/activity", "/doctor", "/status", "/session")
            answers += [await client.get(f"/api/v1{path}", headers=OPERATOR) for path in shown]
    told = [answer.text + str(answer.headers).replace(cookie, "", 1) for answer in answers]
    for secret in (TOKEN, text, wrong, cookie):
        assert not any(secret in one for one in told), secret
        ours = [record.getMessage() for record in caplog.records if record.name.startswith("pegboard")]
        assert not any(secret in line for line in ours)


@pytest.mark.behaviour("access.same_origin")
async def test_headers_that_a_client_writes_itself_move_no_door() -> None:
    """Of the host, the address and the protocol only what the connection and a declared proxy say counts."""
    async with browsing() as (client, _):
        cookie = await signed_in(client)
        for headers in (
            {"origin": "http://127.0.0.1:3000", "x-forwarded-host": "127.0.0.1:3000"},
            {"origin": "http://127.0.0.1:3000", "forwarded": "host=127.0.0.1:3000"},
            {"origin": "https://127.0.0.1:8460", "x-forwarded-proto": "https"},
            {"origin": "http://127.0.0.1:3000", "x-original-url": "/api/v1/session"},
        ):
            done = await client.post("/api/v1/servers/github/restart", headers={**cookie, **headers})
            assert done.status_code == 403, headers
        for number in range(30):
            guess = {"authorization": "Bearer wrong", "x-forwarded-for": f"198.51.100.{number}"}
            last = await client.get("/api/v1/status", headers=guess)
        assert last.status_code == 429, "an address that a stranger makes up is not counted for another"


async def test_a_name_that_a_page_rebinds_reaches_nothing() -> None:
    async with browsing() as (client, _):
        cookie = await signed_in(client)
        rebound = {**cookie, "host": "evil.example:8460", "origin": "http://evil.example:8460"}
        for path in ("/ui/", "/api/v1/status", "/api/v1/session"):
            answer = await client.get(path, headers={**rebound, "sec-fetch-site": "same-origin"})
            assert answer.status_code == 421


async def test_whoever_can_do_everything_is_recognised_in_the_same_way_as_a_stranger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many hashes are compared for a wrong token as for a right one, and each in constant time."""
    import hmac

    compared: list[int] = []
    plain = hmac.compare_digest

    def counted(one: bytes, other: bytes) -> bool:
        compared.append(len(one))
        return plain(one, other)

    async with browsing() as (client, desk):
        await made(client, "read")
        await made(client, "operate")
        monkeypatch.setattr(hmac, "compare_digest", counted)
        assert _compared(desk, compared, TOKEN) == _compared(desk, compared, "wrong") == 3
        assert set(compared) == {32}


def _compared(desk: OperatorAuthentication, compared: list[int], token: str) -> int:
    before = len(compared)
    desk.tokens.identify(token)
    return len(compared) - before


async def test_a_cookie_of_another_gateway_on_this_machine_opens_nothing() -> None:
    async with browsing() as (client, _), browsing() as (other, _):
        theirs = await signed_in(other)
        answer = await client.get("/api/v1/status", headers={**theirs, **PAGE})
        assert answer.status_code == 401
        assert COOKIE in theirs["cookie"]
