"""A token becomes a cookie, and the cookie opens the API to the gateway's own pages alone."""

import re

import pytest
from tests.surfaces.rest.desk import problem
from tests.surfaces.web.site import COOKIE, OWN, PAGE, TOKEN, browsing, secret_in, signed_in

from pegboard.gateway.access.sessions import LINK_SECONDS, LoginLinks

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("ui.one_address", "access.login_link")
async def test_the_printed_address_signs_in_once_and_its_code_leaves_the_address() -> None:
    async with browsing() as (client, reception):
        path = reception.login_path()
        answer = await client.get(path)
        assert (answer.status_code, answer.headers["location"], answer.content) == (303, "/ui/", b"")
        assert answer.headers["cache-control"] == "no-store"
        (line,) = answer.headers.get_list("set-cookie")
        assert re.fullmatch(rf"{COOKIE}=[A-Za-z0-9_-]{{43}}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict", line)
        assert TOKEN not in str(answer.headers)
        client.cookies.clear()
        held = await client.get("/api/v1/session", headers={"cookie": f"{COOKIE}={secret_in(answer)}", **PAGE})
        assert held.json() == {
            "principal": "local",
            "scopes": ["read", "call", "operate", "admin"],
            "tokenId": None,
        }


@pytest.mark.behaviour("access.login_link")
@pytest.mark.parametrize("token", [TOKEN, "wrong"])
async def test_no_token_is_taken_from_an_address_and_the_form_needs_no_script(token: str) -> None:
    async with browsing() as (client, _):
        answer = await client.get("/ui/", params={"token": token})
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/sign-in?pasted")
        assert "set-cookie" not in answer.headers
        form = await client.get("/ui/sign-in?pasted")
        assert form.status_code == 200
        assert '<form method="post" action="/ui/sign-in"' in form.text
        assert "A token is not taken from an address. Paste it here." in form.text
        assert token not in str(form.url)
        signed = await client.post("/ui/sign-in", data={"token": f" {TOKEN}\n"}, headers=PAGE)
        assert (signed.status_code, signed.headers["location"]) == (303, "/ui/")
        assert secret_in(signed)


@pytest.mark.parametrize("token", ["wrong", "", "\x00", "ü" * 10, "x" * 5000])
async def test_a_form_with_a_wrong_token_is_shown_again_with_the_reason(token: str) -> None:
    async with browsing() as (client, _):
        answer = await client.post("/ui/sign-in", data={"token": token}, headers=PAGE)
        assert answer.status_code in (400, 401)
        assert 'role="alert"' in answer.text
        assert "set-cookie" not in answer.headers


async def test_another_page_cannot_sign_a_browser_in_as_somebody_else() -> None:
    async with browsing() as (client, _):
        for headers in (
            {"origin": "http://127.0.0.1:3000"},
            {"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-site"},
            {"sec-fetch-site": "cross-site"},
            {},
        ):
            answer = await client.post("/ui/sign-in", data={"token": TOKEN}, headers=headers)
            assert (answer.status_code, "set-cookie" in answer.headers) == (403, False), headers
        for headers in ({"origin": "http://127.0.0.1:3000"}, {"sec-fetch-site": "same-site"}):
            asked = await client.post("/api/v1/session", json={"token": TOKEN}, headers=headers)
            assert (asked.status_code, "set-cookie" in asked.headers) == (403, False), headers


@pytest.mark.behaviour("access.same_origin")
@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/status", {"sec-fetch-site": "same-origin"}, 200),
        ("GET", "/status", {"sec-fetch-site": "none"}, 200),
        ("GET", "/status", {}, 200),
        ("GET", "/status", {"sec-fetch-site": "same-site"}, 403),
        ("GET", "/status", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/status", {"origin": "http://127.0.0.1:3000"}, 403),
        ("GET", "/status", {"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-origin"}, 403),
        ("POST", "/servers/github/restart", {"sec-fetch-site": "same-origin"}, 200),
        ("POST", "/servers/github/restart", {"origin": OWN}, 200),
        ("POST", "/servers/github/restart", {}, 403),
        ("POST", "/servers/github/restart", {"sec-fetch-site": "none"}, 403),
        ("POST", "/servers/github/restart", {"sec-fetch-site": "same-site"}, 403),
        ("POST", "/servers/github/restart", {"origin": "http://127.0.0.1:3000"}, 403),
        ("POST", "/servers/github/restart", {"origin": "http://localhost:8460"}, 403),
        ("POST", "/servers/github/restart", {"origin": "https://127.0.0.1:8460"}, 403),
        ("POST", "/servers/github/restart", {"origin": "http://127.0.0.1"}, 403),
        ("POST", "/servers/github/restart", {"origin": OWN, "sec-fetch-site": "same-site"}, 403),
    ],
)
async def test_a_cookie_works_for_pages_of_the_gateway_and_not_for_those_of_another_port(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    async with browsing() as (client, _):
        cookie = await signed_in(client)
        answer = await client.request(method, f"/api/v1{path}", headers={**cookie, **headers})
        assert answer.status_code == status, answer.text


@pytest.mark.behaviour("access.sign_out")
async def test_a_cookie_that_was_copied_is_worth_nothing_after_the_sign_out() -> None:
    async with browsing() as (client, _):
        cookie = await signed_in(client)
        left = await client.delete("/api/v1/session", headers={**cookie, **PAGE})
        assert left.status_code == 204
        assert left.headers["set-cookie"] == f"{COOKIE}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict"
        client.cookies.clear()
        again = await client.get("/api/v1/status", headers={**cookie, **PAGE})
        assert problem(again)[0] == 401


@pytest.mark.behaviour("access.sessions")
async def test_whose_visit_is_not_known_or_has_ended_is_told_to_sign_in_again() -> None:
    async with browsing() as (client, _):
        earlier = await signed_in(client)
    async with browsing() as (client, reception):
        told = "You are signed out, or were for too long without a look at the board. Sign in again."
        assert problem(await client.get("/api/v1/session", headers={**earlier, **PAGE})) == (401, told)
        ended = await signed_in(client)
        reception.sign_out([(b"cookie", ended["cookie"].encode())])
        assert problem(await client.get("/api/v1/session", headers={**ended, **PAGE})) == (401, told)


@pytest.mark.behaviour("access.sign_out_all")
async def test_all_browsers_are_signed_out_by_one_request_and_tokens_are_not() -> None:
    async with browsing() as (client, _):
        cookies = [await signed_in(client) for _ in range(2)]
        mine = await client.delete("/api/v1/sessions", headers={**cookies[0], **PAGE})
        assert mine.status_code == 204
        told = [await client.get("/api/v1/session", headers={**cookie, **PAGE}) for cookie in cookies]
        assert [answer.status_code for answer in told] == [401, 401]
        by_token = await client.get("/api/v1/session", headers={"authorization": f"Bearer {TOKEN}"})
        assert by_token.status_code == 200


@pytest.mark.behaviour("access.cookie_twice")
@pytest.mark.parametrize("other", ["{name}={secret}", "{name}=another", "__Host-{name}={secret}", "__Host-{name}=x"])
async def test_a_cookie_that_came_twice_is_refused(other: str) -> None:
    async with browsing() as (client, _):
        cookie = (await signed_in(client))["cookie"]
        name, _, secret = cookie.partition("=")
        second = other.format(name=name, secret=secret)
        for line in (f"{cookie}; {second}", f"{second}; {cookie}"):
            answer = await client.get("/api/v1/session", headers={"cookie": line, **PAGE})
            assert answer.status_code == 401, line
        alone = await client.get("/api/v1/session", headers={"cookie": cookie, **PAGE})
        assert alone.status_code == 200


@pytest.mark.behaviour("access.sessions")
async def test_signing_in_takes_no_cookie_that_was_there_before() -> None:
    """Whoever planted one in the browser does not come in with it; and the former visit ends."""
    async with browsing() as (client, _):
        planted = {"cookie": f"{COOKIE}=planted-by-another-port"}
        answer = await client.post("/ui/sign-in", data={"token": TOKEN}, headers={**planted, **PAGE})
        assert secret_in(answer) != "planted-by-another-port"
        client.cookies.clear()
        assert (await client.get("/api/v1/status", headers={**planted, **PAGE})).status_code == 401
        first = await signed_in(client)
        answer = await client.post("/ui/sign-in", data={"token": TOKEN}, headers={**first, **PAGE})
        client.cookies.clear()
        assert (await client.get("/api/v1/status", headers={**first, **PAGE})).status_code == 401


async def test_two_cookies_of_one_name_are_no_cookie() -> None:
    """Another port of this machine may have put one of them there, and nobody can tell which."""
    async with browsing() as (client, _):
        cookie = await signed_in(client)
        for more in (f"{COOKIE}=other", f"__Host-{COOKIE}=other"):
            headers = {"cookie": f"{more}; {cookie['cookie']}", **PAGE}
            assert (await client.get("/api/v1/status", headers=headers)).status_code == 401
        elsewhere = {"cookie": f"pegboard_8461=other; {cookie['cookie']}; theme=dark", **PAGE}
        assert (await client.get("/api/v1/status", headers=elsewhere)).status_code == 200


async def test_a_token_is_taken_from_no_address_of_the_api() -> None:
    async with browsing() as (client, _):
        for path in ("/api/v1/status", "/api/v1/session", "/api/v1/openapi.json"):
            assert (await client.get(path, params={"token": TOKEN})).status_code == 401
            assert (await client.get(path, params={"access_token": TOKEN})).status_code == 401


async def test_a_wrong_token_beside_a_good_cookie_is_a_wrong_token() -> None:
    async with browsing() as (client, _):
        cookie = await signed_in(client)
        wrong = {**cookie, **PAGE, "authorization": "Bearer wrong"}
        assert (await client.get("/api/v1/status", headers=wrong)).status_code == 401
        twice = [("authorization", "Bearer wrong"), ("authorization", f"Bearer {TOKEN}")]
        assert (await client.get("/api/v1/status", headers=twice)).status_code == 400


@pytest.mark.behaviour("access.failures")
async def test_whoever_guesses_tokens_is_told_to_wait_at_every_door_together() -> None:
    async with browsing() as (client, _):
        for _ in range(7):
            assert (await client.get("/ui/", params={"login": "wrong"})).status_code == 303
            assert (await client.post("/api/v1/session", json={"token": "wrong"})).status_code == 401
            assert (await client.get("/api/v1/status", headers={"authorization": "Bearer wrong"})).status_code in (
                401,
                429,
            )
        for answer in (
            await client.get("/ui/", params={"login": "wrong"}),
            await client.post("/api/v1/session", json={"token": "wrong"}),
            await client.get("/api/v1/status", headers={"authorization": "Bearer wrong"}),
            await client.post("/ui/sign-in", data={"token": "wrong"}, headers=PAGE),
        ):
            assert answer.status_code == 429
            assert 1 <= int(answer.headers["retry-after"]) <= 60
        right = await client.get("/api/v1/status", headers={"authorization": f"Bearer {TOKEN}"})
        assert right.status_code == 200, "whoever is right is not shut out by those who are wrong"


@pytest.mark.behaviour("access.https_cookie")
async def test_behind_tls_the_cookie_is_for_tls_alone() -> None:
    async with browsing(reception={"public_url": "https://tools.example.org"}) as (client, reception):
        public = {"host": "tools.example.org"}
        answer = await client.get(reception.login_path(), headers=public)
        (line,) = answer.headers.get_list("set-cookie")
        assert line.startswith(f"__Host-{COOKIE}=")
        assert line.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
        client.cookies.clear()
        cookie = {"cookie": line.partition(";")[0], **public}
        for origin, status in (("https://tools.example.org", 200), ("http://tools.example.org", 403)):
            headers = {**cookie, "origin": origin}
            done = await client.post("/api/v1/servers/github/restart", headers=headers)
            assert done.status_code == status


@pytest.mark.behaviour("access.login_link")
async def test_an_address_works_once_and_a_second_click_says_how_to_get_another() -> None:
    async with browsing() as (client, reception):
        path = reception.login_path()
        first = await client.get(path)
        client.cookies.clear()
        again = await client.get(path)
        assert (again.status_code, again.headers["location"]) == (303, "/ui/sign-in?used")
        assert "set-cookie" not in again.headers
        assert "pegboard ui" in (await client.get("/ui/sign-in?used")).text
        # Whoever is signed in already goes on.
        same = await client.get(path, headers={"cookie": f"{COOKIE}={secret_in(first)}"})
        assert (same.status_code, same.headers["location"], "set-cookie" in same.headers) == (303, "/ui/", False)


@pytest.mark.behaviour("access.login_link")
async def test_an_address_does_not_work_for_long() -> None:
    clock = [0.0]
    async with browsing(reception={"login_links": LoginLinks(lambda: clock[0])}) as (client, reception):
        path, late = reception.login_path(), reception.login_path()
        clock[0] = LINK_SECONDS - 1
        assert (await client.get(path)).headers["location"] == "/ui/"
        client.cookies.clear()
        clock[0] = LINK_SECONDS
        assert (await client.get(late)).headers["location"] == "/ui/sign-in?used"


@pytest.mark.behaviour("access.login_link")
async def test_nobody_with_a_token_of_their_own_makes_such_an_address() -> None:
    """Else a page that leads an operator's browser there would make them work in the other's name."""
    async with browsing() as (client, _):
        operator = {"authorization": f"Bearer {TOKEN}"}
        made = {"principal": "mallory", "name": "x", "scopes": ["admin", "operate", "read"]}
        token = (await client.post("/api/v1/tokens", json=made, headers=operator)).json()["token"]
        refused = await client.post("/api/v1/session/link", headers={"authorization": f"Bearer {token}"})
        assert refused.status_code == 403
        given = (await client.post("/api/v1/session/link", headers=operator)).json()
        assert (given["path"].startswith("/ui/?login="), given["expiresInSeconds"]) == (True, 900)
        assert (await client.get(given["path"])).headers["location"] == "/ui/"


@pytest.mark.behaviour("access.login_link")
async def test_whoever_is_signed_in_as_somebody_else_is_asked_before_that_ends() -> None:
    async with browsing() as (client, reception):
        made = {"principal": "ann", "name": "x", "scopes": ["read"]}
        operator = {"authorization": f"Bearer {TOKEN}"}
        token = (await client.post("/api/v1/tokens", json=made, headers=operator)).json()["token"]
        anns = await signed_in(client, token)
        path = reception.login_path()
        asked = await client.get(path, headers=anns)
        assert (asked.status_code, "set-cookie" in asked.headers) == (200, False)
        assert "signed in as <strong>ann</strong>" in asked.text
        still = await client.get("/api/v1/session", headers={**anns, **PAGE})
        assert still.json()["principal"] == "ann"
        code = path.partition("login=")[2]
        foreign = await client.post(
            "/ui/sign-in", data={"login": code}, headers={**anns, "origin": "http://evil.example"}
        )
        assert foreign.status_code == 403
        done = await client.post("/ui/sign-in", data={"login": code}, headers={**anns, **PAGE})
        assert (done.status_code, done.headers["location"]) == (303, "/ui/")
        client.cookies.clear()
        now = await client.get("/api/v1/session", headers={"cookie": f"{COOKIE}={secret_in(done)}", **PAGE})
        assert now.json()["principal"] == "local"
