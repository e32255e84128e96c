"""Signing in over the API: a link, how it stands, and out again."""

from datetime import UTC, datetime

import pytest
from tests.support.sign_ins import NOBODY, ScriptedSignIns
from tests.surfaces.rest.desk import GITHUB, TOKEN, at_desk, problem

from pegboard.core.model.catalogue import ProviderNeedsSignIn
from pegboard.ports.providers import SignInState
from pegboard.surfaces.rest.app import document

pytestmark = pytest.mark.anyio

SINCE = datetime(2026, 1, 2, tzinfo=UTC)
LINK = "http://127.0.0.1:8460/sign-in/abc"


@pytest.mark.behaviour("mcp.in.sign_in")
async def test_a_link_is_given_beside_how_things_stand() -> None:
    sign_ins = ScriptedSignIns(states=SignInState(None, "it said no", SINCE), links=LINK)
    async with at_desk(sign_ins=sign_ins) as desk:
        answer = await desk.ask("POST", "/servers/github/sign-in")
        told = {
            "id": "dev~github",
            "signedIn": False,
            "since": None,
            "lastAttemptAt": SINCE.isoformat(),
            "error": "it said no",
        }
        assert (answer.status_code, answer.json()) == (200, {**told, "url": LINK})
        assert sign_ins.heard == [(GITHUB, "local")]
        sign_ins.states = SignInState(SINCE, last_at=SINCE)
        assert await desk.get("/servers/github/sign-in") == {
            "id": "dev~github",
            "signedIn": True,
            "since": SINCE.isoformat(),
            "lastAttemptAt": SINCE.isoformat(),
            "error": None,
        }


@pytest.mark.behaviour("mcp.in.sign_out")
async def test_signing_out_forgets_and_starts_the_server_anew() -> None:
    sign_ins = ScriptedSignIns(revokes=True)
    async with at_desk(sign_ins=sign_ins) as desk:
        answer = await desk.ask("DELETE", "/servers/github/sign-in")
        assert answer.json() == {"id": "dev~github", "signedIn": False, "revoked": True}
        assert sign_ins.heard == [GITHUB]
        assert desk.house.provider(GITHUB).restarts == 1


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_where_nobody_signs_in_that_is_said(method: str) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask(method, "/servers/github/sign-in")) == (409, NOBODY.why)
        assert problem(await desk.ask(method, "/servers/nobody/sign-in"))[0] == 404


@pytest.mark.behaviour("mcp.in.sign_out")
async def test_a_server_that_is_removed_is_signed_out_of() -> None:
    sign_ins = ScriptedSignIns()
    async with at_desk(sign_ins=sign_ins) as desk:
        await desk.ask("POST", "/servers", json={"id": "extra", "url": "http://127.0.0.1:9/mcp"})
        assert (await desk.ask("DELETE", "/servers/extra")).json() == {"removed": "extra~extra"}
        assert [str(key) for key in sign_ins.heard] == ["extra~extra"]


GETS = sorted(path for path, methods in document()["paths"].items() if "get" in methods)
STREAMS = {"/api/v1/events"}
"""Endless, and without data: each event says which kind of thing changed."""


@pytest.mark.behaviour("access.answers_within_scope")
async def test_no_answer_to_a_reader_contains_a_link_to_sign_in_or_a_token() -> None:
    sign_ins = ScriptedSignIns(states=SignInState(None, "it said no", SINCE), links=LINK)
    async with at_desk(sign_ins=sign_ins) as desk:
        health = ProviderNeedsSignIn(SINCE, "the last sign-in has run out")
        desk.house.provider(GITHUB).becomes(health)
        await desk.house.until(lambda: desk.house.board.catalogue.health(GITHUB) == health)
        assert (await desk.ask("POST", "/servers/github/sign-in")).json()["url"] == LINK
        made = await desk.ask("POST", "/tokens", json={"principal": "ann", "name": "reads", "scopes": ["read"]})
        token = made.json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        assert (await desk.ask("POST", "/servers/github/sign-in", headers=headers)).status_code == 403
        answered = 0
        for path in GETS:
            if path in STREAMS:
                continue
            place = path.replace("{name}", "github").replace("{key}", "servers").replace("{id}", "dev")
            params = {"tool": "mcp:dev~github:read"} if path.endswith(("/why", "/show")) else {}
            answer = await desk.client.get(place, headers=headers, params=params)
            answered += answer.status_code == 200
            for secret in ("/sign-in/abc", token, TOKEN):
                assert secret not in answer.text, path
        assert answered > 30
        told = (await desk.ask("GET", "/servers/github", headers=headers)).json()["health"]
        assert told["message"] == "needs sign-in: the last sign-in has run out"
