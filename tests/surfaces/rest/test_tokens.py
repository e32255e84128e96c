"""Tokens and principals at run time: made once, told once, taken back at once."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.collect_failures import each_case
from tests.support.doubles import MemoryStore
from tests.surfaces.rest.desk import TOKEN, Desk, at_desk, problem

from pegboard.core.model.ids import PrincipalId
from pegboard.surfaces.rest.principals import TOKEN_REQUIRED_NOTICE

pytestmark = pytest.mark.anyio


async def made(desk: Desk, *scopes: str, principal: str = "alice", **more: Any) -> Any:
    body = {"principal": principal, "name": "a test", "scopes": list(scopes), **more}
    answer = await desk.ask("POST", "/tokens", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.behaviour("tokens.made")
async def test_a_token_is_told_once_and_kept_as_a_hash() -> None:
    store = MemoryStore()
    async with at_desk(store=store) as desk:
        body = await made(desk, "read", "operate")
        text, token = body["token"], body["created"]
        assert text.startswith("pgb_")
        assert len(text) == 47
        assert token == {
            "id": token["id"],
            "principal": "alice",
            "name": "a test",
            "prefix": text[:8],
            "scopes": ["read", "operate"],
            "state": "active",
            "createdBy": "local",
            "createdAt": token["createdAt"],
            "expiresAt": None,
            "lastUsedAt": None,
            "revokedBy": None,
            "revokedAt": None,
        }
        assert body["notice"] is None, "nobody who calls is shut out by a token that does not call"
        listed = await desk.get("/tokens")
        assert listed == {"tokens": [token], "policyVersion": 1, "next": None}
        held = repr(desk.house.gateway.board.policy) + repr(store.saves) + repr(desk.house.audit.decisions)
        assert text not in held
        assert text[8:] not in held


@pytest.mark.behaviour("tokens.made", "tokens.by_name")
async def test_a_token_opens_what_its_scopes_say_and_its_name_stands_by_what_was_done_with_it() -> None:
    async with at_desk() as desk:
        text = (await made(desk, "operate"))["token"]
        session = await desk.ask("GET", "/session", headers=bearer(text))
        assert (session.json()["principal"], session.json()["scopes"]) == ("alice", ["read", "operate"])
        switched = await desk.ask("POST", "/servers/github/switch", json={"enabled": False}, headers=bearer(text))
        assert switched.status_code == 200, switched.text
        assert [decision.by for decision in desk.house.audit.decisions][-1] == PrincipalId("alice")
        switches = desk.house.gateway.board.policy.decisions.switches.values()
        assert [switch.by for switch in switches] == [PrincipalId("alice")]
        more = await desk.ask("POST", "/tokens", json={}, headers=bearer(text))
        assert problem(more) == (
            403,
            "This needs the scope admin, and your token has read, operate. "
            "Ask whoever runs this gateway for another token.",
        )
        assert (await desk.get("/tokens"))["tokens"][0]["lastUsedAt"] is not None


@pytest.mark.behaviour("tokens.revoked")
async def test_a_revoked_token_is_a_strangers_and_stays_in_the_list() -> None:
    async with at_desk() as desk:
        body = await made(desk, "read")
        id = body["created"]["id"]
        assert (await desk.ask("GET", "/status", headers=bearer(body["token"]))).status_code == 200
        revoked = (await desk.ask("DELETE", f"/tokens/{id}")).json()["revoked"]
        assert (revoked["state"], revoked["revokedBy"]) == ("revoked", "local")
        assert (await desk.ask("GET", "/status", headers=bearer(body["token"]))).status_code == 401
        assert [token["state"] for token in (await desk.get("/tokens"))["tokens"]] == ["revoked"]
        assert problem(await desk.ask("DELETE", f"/tokens/{id}")) == (
            409,
            f"The token '{id}' was revoked by local already.",
        )
        assert problem(await desk.ask("DELETE", "/tokens/nothing"))[0] == 404


@pytest.mark.behaviour("tokens.expire")
async def test_an_expired_token_is_a_strangers() -> None:
    async with at_desk() as desk:
        body = await made(desk, "read", expiresInDays=1)
        assert (await desk.ask("GET", "/status", headers=bearer(body["token"]))).status_code == 200
        for _ in range(3):
            desk.house.clock.now = datetime(2100, 1, 1, tzinfo=UTC)
        assert (await desk.ask("GET", "/status", headers=bearer(body["token"]))).status_code == 401
        assert [token["state"] for token in (await desk.get("/tokens"))["tokens"]] == ["expired"]


@pytest.mark.behaviour("tokens.close_the_endpoint")
async def test_the_first_token_that_calls_closes_the_endpoint_and_says_so_and_nothing_but_a_word_reopens_it() -> None:
    async with at_desk() as desk:
        assert (await desk.get("/principals"))["requiresTokens"] is False
        first = await made(desk, "call")
        assert first["notice"] == TOKEN_REQUIRED_NOTICE
        assert (await made(desk, "call", principal="bob"))["notice"] is None
        assert (await desk.get("/principals"))["requiresTokens"] is True
        for token in (await desk.get("/tokens"))["tokens"]:
            await desk.ask("DELETE", f"/tokens/{token['id']}")
        assert (await desk.get("/principals"))["requiresTokens"] is True
        assert (await desk.ask("DELETE", "/principals/bob")).status_code == 200
        refused = await desk.ask("DELETE", "/principals/alice")
        assert problem(refused) == (
            409,
            "'alice' is the last caller that has a name. Without it whoever reaches the gateway may call every open "
            "tool. If you want that, say so: --reopen",
        )
        gone = await desk.ask("DELETE", "/principals/alice", params={"reopen": "true"})
        assert gone.json() == {"removed": "alice", "requiresTokens": False, "policyVersion": 6}


@pytest.mark.behaviour("tokens.grants")
async def test_what_a_principal_may_use_is_said_and_taken_back() -> None:
    async with at_desk() as desk:
        await made(desk, "call", toolsets=["dev"])
        (alice, local) = (await desk.get("/principals"))["principals"]
        assert alice == {
            "id": "alice",
            "declaredAt": None,
            "scopes": ["call"],
            "tokens": 1,
            "toolsets": ["dev"],
            "grantSource": "store",
            "interactive": False,
            "interactiveSetting": None,
            "confirmation": None,
        }
        assert (local["id"], local["toolsets"]) == ("local", None)
        seen = await desk.get("/tools", **{"as": "alice"})
        assert {tool["toolsetId"] for tool in seen["tools"] if tool["verdict"] == "open"} == {"dev"}
        changed = await desk.ask("PUT", "/principals/alice/grants", json={"toolsets": []})
        assert changed.json()["principal"]["toolsets"] == []
        free = await desk.ask("PUT", "/principals/alice/grants", json={"toolsets": None})
        assert free.json()["principal"]["toolsets"] is None
        assert problem(await desk.ask("PUT", "/principals/alise/grants", json={"toolsets": []})) == (
            404,
            "There is no principal 'alise'. Did you mean 'alice'?",
        )
        assert problem(await desk.ask("PUT", "/principals/alice/grants", json={"toolsets": ["dex"]})) == (
            404,
            "There is no toolset 'dex'. Did you mean 'dev'?",
        )


@pytest.mark.behaviour("confirmation.interactive", "confirmation.modes")
async def test_a_principal_is_marked_interactive_with_its_token_or_later() -> None:
    async with at_desk() as desk:

        async def confirms() -> dict[str, tuple[bool, bool | None, str | None]]:
            found = (await desk.get("/principals"))["principals"]
            return {one["id"]: (one["interactive"], one["interactiveSetting"], one["confirmation"]) for one in found}

        async def set_to(who: str, **said: object) -> int:
            return (await desk.ask("PUT", f"/principals/{who}/confirmation", json=said)).status_code

        assert await confirms() == {"local": (True, None, None)}
        await made(desk, "call")
        await made(desk, "call", principal="bob", interactive=True)
        assert await confirms() == {
            "alice": (False, None, None),
            "bob": (True, True, None),
            "local": (False, None, None),
        }
        assert await set_to("alice", interactive=True, confirmation="ticket") == 200
        assert await set_to("bob") == 200
        assert await set_to("local", interactive=True) == 200
        assert await confirms() == {
            "alice": (True, True, "ticket"),
            "bob": (False, None, None),
            "local": (True, True, None),
        }
        assert await set_to("alice", confirmation="never") == 422
        assert await set_to("nobody", interactive=True) == 404
        why = await desk.get("/why", tool="read", **{"as": "alice"})
        assert "How is a call confirmed?" not in [step["question"] for step in why["steps"]], (
            "none of it is asked about"
        )


@pytest.mark.behaviour("confirmation.mode_explained")
async def test_why_tells_how_a_call_will_be_confirmed_and_by_which_setting() -> None:
    async with at_desk() as desk:
        asks = {"target": "mcp:dev~github:write", "set": {"requires_confirmation": True, "confirmation": "ticket"}}
        assert (await desk.ask("POST", "/overrides", json=asks)).status_code == 200
        await made(desk, "call", interactive=True)

        async def said(who: str) -> str:
            steps = (await desk.get("/why", tool="mcp:dev~github:write", **{"as": who}))["steps"]
            return str(next(step["answer"] for step in steps if step["question"] == "How is a call confirmed?"))

        by = "confirmation: ticket of the tool mcp:dev~github:write, set by local on 2026-01-02"
        assert await said("alice") == f"by a ticket ({by})"
        assert await said("local") == f"by a ticket ({by}; local is not interactive, which is the default)"
        cleared = {"target": "mcp:dev~github:write", "clear": ["confirmation"]}
        assert (await desk.ask("POST", "/overrides", json=cleared)).status_code == 200
        assert await said("alice") == (
            "in the client, where it can ask its user; otherwise by a ticket (alice is interactive, set by local on "
            "2026-01-02)"
        )


UNSEEN = (
    "\u202ebob",
    "bo\u200bb",
    "bob\u2069",
    "bob ",
    " bob",
    "bob\u00a0x",
    "bo\u00adb",
    "\ufeffbob",
    "bob\U000e0041",
    "b\tb",
    *(f"bo{hidden}b" for hidden in "\u3164\u2800\ufe0f\u034f\u115f\u17b4\U000e0100"),
)


@pytest.mark.behaviour("tokens.names_read_as_they_are")
@each_case(
    ("body", "status", "said"),
    [
        ({"scopes": []}, 422, "scopes"),
        ({"scopes": ["root"]}, 422, "scopes"),
        ({"principal": "local"}, 409, "what the gateway calls somebody else"),
        ({"principal": "a\x00b"}, 409, "is no name for a principal"),
        ({"principal": " "}, 409, "is no name for a principal"),
        *(({"principal": name}, 409, "is no name for a principal") for name in UNSEEN),
        *(({"name": name}, 409, "does not tell what the token is for") for name in UNSEEN),
        ({"principal": "x" * 300}, 422, "principal"),
        ({"name": "\n"}, 409, "does not tell what the token is for"),
        ({"expiresInDays": 0}, 422, "expiresInDays"),
        ({"expiresAt": "2001-01-01T00:00:00Z"}, 409, "would have expired before it was made"),
        ({"expiresAt": "2101-01-01T00:00:00"}, 422, "expiresAt"),
        ({"expiresAt": "2101-01-01T00:00:00Z", "expiresInDays": 3}, 422, "not both"),
        ({"toolsets": ["nothing"]}, 409, "There is no toolset 'nothing'"),
        ({"token": "mine"}, 422, "token"),
    ],
)
async def test_a_token_that_cannot_be_is_not_made(body: dict[str, Any], status: int, said: str) -> None:
    async with at_desk() as desk:
        whole = {"principal": "alice", "name": "a test", "scopes": ["call"], **body}
        told = problem(await desk.ask("POST", "/tokens", json=whole))
        assert told[0] == status
        assert said in told[1]
        assert desk.house.gateway.board.policy.decisions.tokens == {}


async def test_tokens_come_in_pages_and_two_who_decide_at_once_are_told() -> None:
    async with at_desk() as desk:
        for _ in range(5):
            await made(desk, "read")
        seen: list[str] = []
        after: str | None = None
        while True:
            page = await desk.get("/tokens", limit=2, **({} if after is None else {"after": after}))
            seen += [token["id"] for token in page["tokens"]]
            if (after := page["next"]) is None:
                break
        assert len(set(seen)) == len(seen) == 5
        body = {"principal": "alice", "name": "a test", "scopes": ["read"]}
        stale = await desk.ask("POST", "/tokens", json=body, headers={"if-match": "1"})
        assert (stale.status_code, stale.json()["policyVersion"]) == (412, 5)


async def test_the_start_up_token_is_in_no_list() -> None:
    async with at_desk() as desk:
        await made(desk, "read")
        for path in ("/tokens", "/principals", "/status", "/activity", "/session"):
            assert TOKEN not in (await desk.ask("GET", path)).text
