"""`pegboard tokens` and `pegboard grants` beside a running gateway: they leave its board as they found it."""

from typing import Any

import httpx2
import pytest
from tests.surfaces.cli.terminal import Gateway, Pegboard, peer

BOARD: dict[str, Any] = {"servers": {"one": peer("many", "1")}}


@pytest.mark.behaviour("tokens.made", "tokens.revoked", "tokens.close_the_endpoint", "tokens.grants")
@pytest.mark.behaviour("confirmation.interactive")
def test_a_token_is_made_used_limited_revoked_and_forgotten(gateway: Gateway, at_gateway: Pegboard) -> None:
    none = at_gateway("tokens", "list")
    assert "No tokens. To make one: pegboard tokens make PRINCIPAL --scope call" in none.out
    done = at_gateway("tokens", "make", "agent", "--scope", "call", "--days", "3", "--toolsets", "one")
    assert done.code == 0, done.err
    token = done.out.strip()
    assert token.startswith("pgb_")
    assert "It is not shown again:" in done.err
    assert "From now on every request to /mcp and /v1 must carry a token" in done.err
    (made,) = at_gateway("tokens", "list", "--json").json["tokens"]
    assert (made["principal"], made["scopes"], made["state"]) == ("agent", ["call"], "active")
    assert token not in at_gateway("tokens", "list").out
    refused = httpx2.get(f"{gateway.url}/api/v1/status", headers={"authorization": f"Bearer {token}"}, trust_env=False)
    assert (refused.status_code, refused.json()["missingScopes"]) == (403, ["read"])
    assert at_gateway("grants", "set", "agent").out == "agent may use nothing.\n"
    assert at_gateway("grants", "clear", "agent").out == "agent may use everything.\n"
    assert "agent" in at_gateway("grants", "list").out
    marked = at_gateway("grants", "confirmation", "agent", "--interactive")
    assert marked.out == "Calls of agent that must be confirmed are confirmed in its client, where that can ask.\n"
    told = at_gateway("doctor", "--json").json["findings"]
    assert "agent is interactive: answers in its clients confirm calls." in [each["message"] for each in told]
    unset = at_gateway("grants", "confirmation", "agent")
    assert unset.out == "Calls of agent that must be confirmed are confirmed by tickets.\n"
    assert at_gateway("tokens", "revoke", made["id"]).code == 0
    kept = at_gateway("tokens", "forget", "agent")
    assert (kept.code, "say so: --reopen" in kept.err) == (5, True)
    gone = at_gateway("tokens", "forget", "agent", "--reopen")
    assert gone.out == "agent is forgotten. Whoever reaches the gateway may call every open tool again.\n"


def test_what_cannot_be_is_told(at_gateway: Pegboard) -> None:
    assert at_gateway("tokens", "revoke", "nothing").code == 4
    assert at_gateway("tokens", "revoke", "../servers").code == 4
    assert at_gateway("tokens", "make", "local", "--scope", "read").code == 5
    assert at_gateway("tokens", "make", "agent").code == 2
    assert at_gateway("tokens", "make", "agent", "--scope", "root").code == 2
    assert at_gateway("grants", "set", "nobody", "one").code == 4
