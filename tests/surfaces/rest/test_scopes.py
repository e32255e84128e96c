"""Every route and every scope: who lacks what it needs is told so, and nothing is done."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from tests.core.boards import tool
from tests.surfaces.rest.desk import GITHUB, TOOLS, at_desk

from pegboard.core.model.principals import TokenScope, with_implied
from pegboard.core.model.tool import ToolSpec
from pegboard.gateway.argument_values import ArgumentFiller
from pegboard.surfaces.rest.app import document

pytestmark = pytest.mark.anyio

ROUTES: Final[dict[tuple[str, str], set[TokenScope] | None]] = {
    (method.upper(), path): {TokenScope(scope) for scope in said["security"][0]["bearer"]} if said["security"] else None
    for path, methods in document()["paths"].items()
    for method, said in methods.items()
}
"""What the OpenAPI document says that each takes; nothing for those by which one signs in and out."""
SAID: Final = {
    ("POST", "/api/v1/session"): None,
    ("DELETE", "/api/v1/session"): None,
    ("GET", "/api/v1/status"): {TokenScope.READ},
    ("POST", "/api/v1/render"): {TokenScope.READ},
    ("POST", "/api/v1/servers"): {TokenScope.OPERATE},
    ("POST", "/api/v1/call"): {TokenScope.CALL, TokenScope.OPERATE},
    ("POST", "/api/v1/run"): {TokenScope.CALL, TokenScope.OPERATE},
    ("GET", "/api/v1/tokens"): {TokenScope.ADMIN},
    ("POST", "/api/v1/tokens"): {TokenScope.ADMIN},
    ("DELETE", "/api/v1/tokens/{id}"): {TokenScope.ADMIN},
    ("PUT", "/api/v1/principals/{id}/confirmation"): {TokenScope.ADMIN},
    ("PUT", "/api/v1/principals/{id}/grants"): {TokenScope.ADMIN},
    ("DELETE", "/api/v1/principals/{id}"): {TokenScope.ADMIN},
    ("DELETE", "/api/v1/sessions"): {TokenScope.ADMIN},
    ("POST", "/api/v1/policy/import"): {TokenScope.ADMIN},
    ("POST", "/api/v1/toolsets/import"): {TokenScope.ADMIN},
    ("POST", "/api/v1/store/unreadable/delete"): {TokenScope.ADMIN},
    ("POST", "/api/v1/session/link"): {TokenScope.ADMIN},
}


@pytest.mark.behaviour("access.scopes", "law.agents_cannot_widen")
@pytest.mark.parametrize("scope", TokenScope)
async def test_each_route_is_closed_to_a_token_that_lacks_its_scope_and_says_which(scope: TokenScope) -> None:
    async with at_desk() as desk:
        body = {"principal": "agent", "name": "a test", "scopes": [scope]}
        token = (await desk.ask("POST", "/tokens", json=body)).json()["token"]
        before, saves = desk.house.gateway.board.policy, len(desk.house.store.saves)
        has = with_implied({scope})
        refused = 0
        for (method, path), needed in ROUTES.items():
            if needed is None or not needed - has:
                continue
            answer = await desk.client.request(
                method,
                re.sub(r"\{[^}]*\}", "nothing", path),
                headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
                content=b"{ no JSON" if method != "GET" else None,
            )
            assert answer.status_code == 403, (method, path, answer.text)
            told: Any = answer.json()
            assert {*told["missingScopes"]} == needed - has, (method, path)
            assert all(name in told["detail"] for name in told["missingScopes"])
            refused += 1
        if scope is TokenScope.CALL:
            assert refused == len(ROUTES) - 2, "a token that calls sees nothing of the operator's"
        assert desk.house.gateway.board.policy is before
        assert len(desk.house.store.saves) == saves


@pytest.mark.behaviour("law.agents_cannot_widen")
async def test_a_token_that_calls_is_told_of_no_road_of_the_operators() -> None:
    async with at_desk() as desk:
        body = {"principal": "agent", "name": "a test", "scopes": ["call"]}
        token = (await desk.ask("POST", "/tokens", json=body)).json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        for path in ("/openapi.json", "/nothing", "/session", "/events", "/board", "/tools"):
            answer = await desk.ask("GET", path, headers=headers)
            assert (answer.status_code, answer.json()["missingScopes"]) == (403, ["read"]), path
        signed = await desk.ask("POST", "/session", json={"token": token})
        assert (signed.status_code, "set-cookie" in signed.headers) == (403, False)


def test_every_route_says_what_it_takes_and_a_change_takes_more_than_a_look() -> None:
    assert {route: ROUTES[route] for route in SAID} == SAID
    assert [route for route, needed in ROUTES.items() if needed is None] == [
        route for route in ROUTES if SAID.get(route, {TokenScope.READ}) is None
    ]
    looks = {route for route, needed in ROUTES.items() if needed == {TokenScope.READ}}
    assert {method for method, _ in looks} <= {"GET", "POST"}
    assert all(needed is None or needed - {TokenScope.CALL} for needed in ROUTES.values()), "no road for calls alone"


PROGRAM = {"id": "extra", "command": "cat", "args": ["/srv/data/gateway.json"]}
REFERRING = {"id": "extra", "url": "https://example.org/mcp", "headers": {"X-Key": "${file:/srv/data/gateway.json}"}}
PINNED = {
    "toolset": "dev",
    "target": "mcp:dev~github:read",
    "set": {"arguments": {"a": {"pin": "${file:/srv/data/gateway.json}"}}},
}


@pytest.mark.behaviour("access.operate_starts_nothing")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/servers/try", PROGRAM),
        ("/servers", PROGRAM),
        ("/servers", {**PROGRAM, "quarantine": True}),
        ("/servers/try", {"from": {"text": "cat /srv/data/gateway.json"}}),
        ("/servers", {"from": {"text": "cat /srv/data/gateway.json"}, "id": "extra"}),
        ("/servers/try", REFERRING),
        ("/servers", REFERRING),
        ("/overrides", PINNED),
        ("/toolsets/import", {"path": "/srv/toolset"}),
        ("/toolsets/import?dryRun=true&describe=true", {"path": "/srv/toolset"}),
        ("/servers/held/review", {}),
        ("/servers/held/release", {}),
    ],
    ids=lambda part: str(part)[:60],
)
async def test_who_may_operate_starts_no_program_of_their_choice_and_reads_nothing_of_the_machine(
    path: str, body: dict[str, Any]
) -> None:
    async with at_desk() as desk:
        held = {"id": "held", "command": "cat", "quarantine": True}
        assert (await desk.ask("POST", "/servers", json=held)).status_code == 201
        made = {"principal": "ann", "name": "operates", "scopes": ["operate", "call"]}
        token = (await desk.ask("POST", "/tokens", json=made)).json()["token"]
        started, saves = len(desk.house.providers.made), len(desk.house.store.saves)
        answer = await desk.ask("POST", path, json=body, headers={"authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["missingScopes"]) == (403, ["admin"])
        assert (len(desk.house.providers.made), len(desk.house.store.saves)) == (started, saves)


@pytest.mark.behaviour("access.operate_starts_nothing")
async def test_who_may_operate_still_adds_a_server_at_an_address() -> None:
    async with at_desk() as desk:
        made = {"principal": "ann", "name": "operates", "scopes": ["operate"]}
        token = (await desk.ask("POST", "/tokens", json=made)).json()["token"]
        body = {"id": "extra", "url": "https://example.org/mcp"}
        answer = await desk.ask("POST", "/servers", json=body, headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 201


DOCSPACE = 'docspace: {base_url: "${file:%s}", api_key: "${KEY}"}\n'
WITH_PIN = 'servers: {github: {command: x, toolset: dev}}\noverrides: {dev: {"mcp:dev~github:read": %s}}\n'


@pytest.mark.behaviour("config.references_not_resolved")
@pytest.mark.parametrize("scope", ["read", "operate", "admin"])
async def test_no_route_that_only_compares_reads_what_references_stand_for(
    scope: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(text: str) -> str:
        raise AssertionError(f"{text} was resolved")

    secret = tmp_path / "gateway.json"
    secret.write_text('{"token": "MARKER"}')
    pin = {"arguments": {"path": {"pin": f"${{file:{secret}}}"}}}
    target = "mcp:dev~github:read"
    reads = ToolSpec("read", input_schema={"properties": {"path": {"type": "string"}}})
    tools = {**TOOLS, GITHUB: (replace(tool(GITHUB, "read"), spec=reads),)}
    async with at_desk(tools=tools) as desk:
        monkeypatch.setattr(desk.house.gateway.value_checker, "_filler", ArgumentFiller(read))
        made = {"principal": "ann", "name": "looks", "scopes": [scope]}
        token = (await desk.ask("POST", "/tokens", json=made)).json()["token"]
        policy = json.loads((await desk.get("/policy/export"))["text"])
        policy["overrides"] = [{"toolset": "dev", "tool": target, "says": pin}]
        requests: list[tuple[str, dict[str, Any]]] = [("/overrides/preview", {"target": target, "set": pin})]
        if scope != "read":
            texts = [DOCSPACE % secret, WITH_PIN % json.dumps(pin), f'store: "${{file:{secret}}}"']
            requests += [("/diff", {"file": "/srv/other.yaml", "text": text}) for text in texts]
            requests += [("/diff", {"file": "/srv/other.yaml", "text": 'store: "${file:/nowhere}"'})]
            requests += [("/policy/what-if", {"text": json.dumps(policy)})]
        for path, body in requests:
            answer = await desk.ask("POST", path, json=body, headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == 200, (path, body, answer.text)
            assert "MARKER" not in answer.text
            assert not answer.json().get("warnings")


@pytest.mark.behaviour("access.operate_starts_nothing")
async def test_who_may_operate_sets_no_secret_of_a_toolset_to_a_reference() -> None:
    async with at_desk() as desk:
        made = {"principal": "ann", "name": "operates", "scopes": ["operate"]}
        token = (await desk.ask("POST", "/tokens", json=made)).json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        body = {"value": "${file:/srv/data/gateway.json}"}
        answer = await desk.ask("PUT", "/toolsets/dev/secrets/KEY", json=body, headers=headers)
        assert (answer.status_code, answer.json()["missingScopes"]) == (403, ["admin"])
