"""Who may use the API: whoever holds the token, and addresses this machine by a name of its own."""

import json
from collections.abc import Iterable
from typing import Any

import httpx2
import pytest
from starlette.responses import PlainTextResponse
from tests.surfaces.rest.desk import TOKEN, at_desk, problem

from pegboard.surfaces.http.router import HttpRouter
from pegboard.surfaces.mcp.request_checks import RequestChecks

pytestmark = pytest.mark.anyio

REFUSED = (
    401,
    "This is the operator's API. Send the start-up token from gateway.json in the data directory "
    "as Authorization: Bearer TOKEN.",
)


@pytest.mark.behaviour("law.agents_cannot_widen")
@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \xff"]
)
async def test_without_the_token_nothing_is_told_and_nothing_is_done(header: str | None) -> None:
    async with at_desk(token=None) as desk:
        headers = {} if header is None else {"authorization": header.encode("latin-1")}
        for method, path in (
            ("GET", "/status"),
            ("GET", "/openapi.json"),
            ("GET", "/nothing"),
            ("DELETE", "/servers/github"),
            ("POST", "/servers/github/switch"),
            ("POST", "/call"),
        ):
            answer = await desk.ask(method, path, headers=headers, content=b'{"enabled": false}' * (method == "POST"))
            assert problem(answer) == REFUSED
            assert answer.headers["www-authenticate"] == "Bearer"
        assert desk.house.store.saves == []


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_token_opens_whatever_the_case_of_its_scheme(scheme: str) -> None:
    async with at_desk(token=None) as desk:
        answer = await desk.ask("GET", "/status", headers={"authorization": f"{scheme} {TOKEN} "})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("GET", "/nothing", (404, "Nothing is at /api/v1/nothing. What there is: /api/v1/openapi.json")),
        ("GET", "/servers/", (404, "Nothing is at /api/v1/servers/. What there is: /api/v1/openapi.json")),
        ("PATCH", "/servers", (405, "PATCH is not taken at /api/v1/servers. Use GET.")),
    ],
)
async def test_what_is_not_there_is_a_problem_too(method: str, path: str, said: tuple[int, str]) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask(method, path)) == said


async def test_an_unforeseen_failure_is_logged_and_answered_like_every_problem(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_desk() as desk:

        def broken() -> bool:
            raise ZeroDivisionError("swordfish")

        monkeypatch.setattr(desk.house.gateway.providers, "log", lambda key: broken())
        answer = await desk.ask("GET", "/servers/github/log")
    assert problem(answer) == (500, "This failed in an unforeseen way. The gateway's log has the details.")
    assert "GET /api/v1/servers/github/log failed in an unforeseen way" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_the_api_describes_itself() -> None:
    async with at_desk() as desk:
        described = await desk.get("/openapi.json")
    paths = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert paths == {
        ("GET", "/api/v1/tokens"),
        ("POST", "/api/v1/tokens"),
        ("DELETE", "/api/v1/tokens/{id}"),
        ("GET", "/api/v1/principals"),
        ("PUT", "/api/v1/principals/{id}/confirmation"),
        ("PUT", "/api/v1/principals/{id}/grants"),
        ("DELETE", "/api/v1/principals/{id}"),
        ("GET", "/api/v1/session"),
        ("POST", "/api/v1/session"),
        ("POST", "/api/v1/session/link"),
        ("DELETE", "/api/v1/session"),
        ("DELETE", "/api/v1/sessions"),
        ("POST", "/api/v1/tools/switch"),
        ("POST", "/api/v1/tools/switches"),
        ("POST", "/api/v1/tools/approve"),
        ("GET", "/api/v1/approvals"),
        ("GET", "/api/v1/approvals/show"),
        ("POST", "/api/v1/approvals/approve"),
        ("POST", "/api/v1/approvals/block"),
        ("POST", "/api/v1/servers/{name}/review"),
        ("POST", "/api/v1/servers/{name}/release"),
        ("GET", "/api/v1/board"),
        ("GET", "/api/v1/board/tool"),
        ("GET", "/api/v1/events"),
        ("GET", "/api/v1/status"),
        ("GET", "/api/v1/databases"),
        ("GET", "/api/v1/databases/check"),
        ("POST", "/api/v1/databases/{database}/role"),
        ("GET", "/api/v1/doctor"),
        ("POST", "/api/v1/diff"),
        ("GET", "/api/v1/servers"),
        ("POST", "/api/v1/servers"),
        ("GET", "/api/v1/servers/{name}"),
        ("DELETE", "/api/v1/servers/{name}"),
        ("POST", "/api/v1/servers/{name}/switch"),
        ("POST", "/api/v1/servers/{name}/restart"),
        ("GET", "/api/v1/servers/{name}/sign-in"),
        ("POST", "/api/v1/servers/{name}/sign-in"),
        ("DELETE", "/api/v1/servers/{name}/sign-in"),
        ("GET", "/api/v1/servers/{name}/log"),
        ("GET", "/api/v1/servers/{name}/tools"),
        ("PUT", "/api/v1/servers/{name}/trust"),
        ("POST", "/api/v1/servers/read"),
        ("POST", "/api/v1/servers/try"),
        ("GET", "/api/v1/clients"),
        ("GET", "/api/v1/settings"),
        ("PUT", "/api/v1/settings/{key}"),
        ("GET", "/api/v1/first-run"),
        ("GET", "/api/v1/policy/export"),
        ("GET", "/api/v1/policy/export/file"),
        ("POST", "/api/v1/policy/what-if"),
        ("POST", "/api/v1/policy/import"),
        ("GET", "/api/v1/store/unreadable"),
        ("POST", "/api/v1/store/unreadable/delete"),
        ("GET", "/api/v1/policy/decisions"),
        ("GET", "/api/v1/toolsets"),
        ("POST", "/api/v1/toolsets/import"),
        ("GET", "/api/v1/toolsets/imports/{name}"),
        ("GET", "/api/v1/toolsets/{name}"),
        ("DELETE", "/api/v1/toolsets/{name}"),
        ("GET", "/api/v1/toolsets/{name}/choice"),
        ("PUT", "/api/v1/toolsets/{name}/choice"),
        ("POST", "/api/v1/toolsets/{name}/choice/preview"),
        ("GET", "/api/v1/toolsets/{name}/export"),
        ("PUT", "/api/v1/toolsets/{name}/secrets/{secret}"),
        ("DELETE", "/api/v1/toolsets/{name}/secrets/{secret}"),
        ("POST", "/api/v1/toolsets/{name}/switch"),
        ("GET", "/api/v1/tools"),
        ("GET", "/api/v1/tools/show"),
        ("GET", "/api/v1/tools/search"),
        ("GET", "/api/v1/presentations"),
        ("GET", "/api/v1/prompt"),
        ("POST", "/api/v1/run"),
        ("GET", "/api/v1/stubs"),
        ("GET", "/api/v1/search"),
        ("GET", "/api/v1/why"),
        ("POST", "/api/v1/call"),
        ("GET", "/api/v1/activity"),
        ("GET", "/api/v1/activity/latest"),
        ("GET", "/api/v1/activity/after"),
        ("GET", "/api/v1/activity/{number}"),
        ("GET", "/api/v1/activity/summary"),
        ("GET", "/api/v1/tools/history"),
        ("GET", "/api/v1/search/playground"),
        ("POST", "/api/v1/prompt/parse"),
        ("GET", "/api/v1/search/queries"),
        ("PUT", "/api/v1/search/queries/{name}"),
        ("DELETE", "/api/v1/search/queries/{name}"),
        ("POST", "/api/v1/search/queries/run"),
        ("POST", "/api/v1/overrides/preview"),
        ("GET", "/api/v1/activity/tools"),
        ("GET", "/api/v1/activity/servers"),
        ("GET", "/api/v1/activity/export"),
        ("GET", "/api/v1/tickets"),
        ("GET", "/api/v1/tickets/consents"),
        ("DELETE", "/api/v1/tickets/consents/{id}"),
        ("GET", "/api/v1/tickets/{id}"),
        ("POST", "/api/v1/tickets/{id}/allow"),
        ("POST", "/api/v1/tickets/{id}/reveal"),
        ("POST", "/api/v1/tickets/{id}/deny"),
        ("GET", "/api/v1/overrides"),
        ("POST", "/api/v1/overrides"),
        ("GET", "/api/v1/overrides/show"),
        ("GET", "/api/v1/renderers"),
        ("POST", "/api/v1/render"),
    }


# The root before it


def root(door: RequestChecks) -> HttpRouter:
    def check(headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        refused = door.check_address(headers)
        return None if refused is None else (refused.status, refused.message)

    pages = PlainTextResponse("sign-in")
    return HttpRouter(mcp=PlainTextResponse("mcp"), api=PlainTextResponse("api"), sign_in=pages, check=check)


async def asked(app: HttpRouter, path: str, *, method: str = "GET", **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8460") as client:
        return await client.request(method, path, headers=headers)


@pytest.mark.parametrize("path", ["/api/v1/status", "/health", "/sign-in/callback?state=x", "/nothing"])
async def test_a_foreign_host_or_origin_gets_nothing(path: str) -> None:
    app = root(RequestChecks())
    assert problem(await asked(app, path, host="evil.example"))[0] == 421
    assert problem(await asked(app, path, host="evil.example:8460"))[0] == 421
    assert problem(await asked(app, path, origin="https://evil.example"))[0] == 403
    assert problem(await asked(app, path, origin="null"))[0] == 403


async def test_names_of_this_machine_and_those_the_operator_gave_are_served() -> None:
    app = root(RequestChecks(frozenset({"board.example"}), frozenset({"https://app.example"})))
    for headers in (
        {},
        {"host": "localhost:8460"},
        {"host": "[::1]:8460"},
        {"host": "board.example:8460"},
        {"origin": "http://localhost:5173"},
        {"origin": "https://app.example"},
    ):
        assert (await asked(app, "/api/v1/status", **headers)).text == "api"


async def test_a_header_that_is_given_twice_is_refused() -> None:
    assert RequestChecks().check_address([(b"host", b"localhost"), (b"host", b"evil.example")]) is not None
    refused = RequestChecks().check_address([(b"host", b"localhost"), (b"origin", b"null"), (b"origin", b"null")])
    assert refused is not None
    assert refused.status == 400


async def test_the_root_hands_each_path_to_its_surface_and_answers_the_rest_itself() -> None:
    app = root(RequestChecks())
    assert (await asked(app, "/mcp", method="POST", host="evil.example")).text == "mcp", "it checks by itself"
    assert (await asked(app, "/mcp/x")).text == "mcp"
    assert (await asked(app, "/api/v1/x")).text == "api"
    assert (await asked(app, "/sign-in/x")).text == "sign-in"
    health = await asked(app, "/health")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    assert problem(await asked(app, "/health", method="POST")) == (405, "Ask for /health with GET.")
    assert problem(await asked(app, "/mcpx")) == (404, "Nothing is at '/mcpx'. MCP clients connect to /mcp.")
    assert problem(await asked(app, "/")) == (404, "Nothing is at '/'. MCP clients connect to /mcp.")
    strange: Any = json.loads((await asked(app, "/%1b%5b")).text)
    assert strange["detail"] == "Nothing is at '/\\x1b['. MCP clients connect to /mcp."


@pytest.mark.behaviour("access.login_link")
async def test_the_start_up_token_makes_an_address_that_signs_in() -> None:
    async with at_desk() as desk:
        answer = await desk.ask("POST", "/session/link")
        assert (answer.status_code, answer.json()["path"].partition("=")[0]) == (200, "/ui/?login")
