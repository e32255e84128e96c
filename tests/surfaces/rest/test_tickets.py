"""Tickets at the API: what waits, the decision, and what is remembered."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.core.boards import tool
from tests.support.house import declared
from tests.surfaces.rest.desk import GITHUB, TOOLS, Desk, at_desk, problem

from pegboard.core.calls.tickets import Ticket
from pegboard.core.commands.commands import SetOverride
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.gateway.tickets import NoTicketStore
from pegboard.ports.stores import TicketsUnavailable
from pegboard.store.open import open_store
from pegboard.store.secrets import key_of
from pegboard.surfaces.cli.tickets import describe_ticket

pytestmark = pytest.mark.anyio

WRITE = ToolId(GITHUB, "write")


@asynccontextmanager
async def asking(folder: Path, tools: Mapping[Any, tuple[Tool, ...]] = TOOLS) -> AsyncIterator[Desk]:
    url = f"sqlite:///{folder / 'pegboard.db'}"
    async with (
        open_store(url, clock=lambda: datetime.now(UTC), key=key_of({}, folder)) as store,
        at_desk(tickets=store.tickets, tools=tools) as desk,
    ):
        await desk.house.does(SetOverride(Override(GITHUB.toolset, WRITE, requires_confirmation=True)))
        yield desk


async def call(desk: Desk, **arguments: Any) -> Any:
    answer = await desk.ask("POST", "/call", json={"tool": str(WRITE), "arguments": arguments})
    assert answer.status_code == 200
    return answer.json()


class Unreachable(NoTicketStore):
    async def list_tickets(self, *, waiting_at: datetime | None = None, limit: int = 100) -> Sequence[Ticket]:
        raise TicketsUnavailable("The store does not answer.")


@pytest.mark.behaviour("status.waiting")
async def test_the_status_tells_how_many_tools_and_calls_wait_for_somebody(tmp_path: Path) -> None:
    async with asking(tmp_path) as desk:
        for text in ("one", "two", "three"):
            await call(desk, text=text)
        body = await desk.get("/status")
        assert (body["pendingApprovals"], body["pendingTickets"]) == (0, 3)
        first = (await desk.get("/tickets"))["tickets"][0]["id"]
        await desk.ask("POST", f"/tickets/{first}/deny", json={})
        assert (await desk.get("/status"))["pendingTickets"] == 2
    async with at_desk(declared(GITHUB, trust=Trust.STRICT), tickets=Unreachable()) as desk:
        body = await desk.get("/status")
        assert (body["pendingApprovals"], body["pendingTickets"]) == (2, None)


@pytest.mark.behaviour("confirmation.operators", "confirmation.ticket")
async def test_a_call_of_the_operators_own_waits_is_shown_allowed_and_runs(tmp_path: Path) -> None:
    async with asking(tmp_path) as desk:
        refused = await call(desk, text="x", api_key="abc")
        assert refused["outcome"] == "confirmation_required"
        id = refused["ticket"]
        waiting = {
            "id": id,
            "state": "waiting",
            "tool": str(WRITE),
            "name": "write",
            "principal": "local",
            "client": "operator",
            "arguments": {"text": "x", "api_key": "abc"},
            "redacted": False,
            "masked": [],
            "exactNumbers": {},
            "filledArguments": None,
            "truncated": False,
            "requestedAt": "2026-01-02T03:04:05+00:00",
            "deadline": "2026-01-02T03:09:05+00:00",
            "decidedBy": None,
            "decidedAt": None,
            "scope": None,
            "note": "",
            "startedAt": None,
            "outcome": "",
            "credentialIdentity": None,
            "consentTerms": {"possible": True, "destructive": False, "days": 30},
        }
        assert await desk.get("/tickets") == {"tickets": [waiting]}
        assert (await desk.get("/status"))["pendingTickets"] == 1
        assert await desk.get(f"/tickets/{id}") == waiting
        assert (await desk.get("/doctor"))["findings"] == [
            {
                "subject": "tickets",
                "message": f"1 call waits for your decision, first one of {WRITE}.",
                "fix": f"pegboard tickets show {id}",
                "severity": "warning",
            }
        ]
        allowed = await desk.ask("POST", f"/tickets/{id}/allow", json={"note": "fine"})
        decided = {"state": "allowed", "decidedBy": "local", "decidedAt": waiting["requestedAt"], "scope": "once"}
        assert allowed.json() == {**waiting, **decided, "note": "fine"}
        assert (await desk.get("/tickets"), (await desk.get("/doctor"))["findings"]) == ({"tickets": []}, [])
        assert (await call(desk, text="x", api_key="abc"))["outcome"] == "returned"
        (done,) = (await desk.get("/tickets", all=True))["tickets"]
        assert (done["state"], done["outcome"]) == ("done", "it returned")
        assert (await call(desk, text="x", api_key="abc"))["ticket"] != id
        assert (await desk.get("/tools/show", tool=str(WRITE)))["requiresConfirmation"] is True


@pytest.mark.behaviour("confirmation.seen_whole", "redaction.both_ends")
async def test_whoever_decides_can_see_all_of_a_call(tmp_path: Path) -> None:
    async with asking(tmp_path) as desk:
        text = "safe " * 1_000 + "\x1b\u202e && rm -rf /"
        id = (await call(desk, text=text, steps=list(range(100)), api_key="abc"))["ticket"]
        first = await desk.get(f"/tickets/{id}")
        assert first["truncated"] is True
        assert first["arguments"]["text"].startswith("safe safe ")
        assert first["arguments"]["text"].endswith("\x1b\u202e && rm -rf /")
        whole = await desk.get(f"/tickets/{id}", full=True)
        assert whole == {
            **first,
            "arguments": {"text": text, "steps": list(range(100)), "api_key": "abc"},
            "truncated": False,
        }
        await desk.ask("POST", f"/tickets/{id}/deny", json={})
        denied = await desk.get(f"/tickets/{id}", full=True)
        assert denied["truncated"] is True, "they are kept while they may be used"
        assert denied["arguments"]["api_key"] == "[hidden: 3 characters]"


@pytest.mark.behaviour("confirmation.operators")
async def test_a_denial_is_final_and_told(tmp_path: Path) -> None:
    async with asking(tmp_path) as desk:
        id = (await call(desk))["ticket"]
        assert (await desk.ask("POST", f"/tickets/{id}/deny", json={})).json()["state"] == "denied"
        again = await desk.ask("POST", f"/tickets/{id}/allow", json={})
        assert problem(again) == (
            409,
            f"Ticket {id} was decided before by local: it is denied. Its call must be made again.",
        )
        assert (await call(desk))["outcome"] == "confirmation_denied"


@pytest.mark.behaviour("confirmation.operators", "confirmation.remembered", "confirmation.standing_last_use")
async def test_standing_permissions_are_listed_and_revoked(tmp_path: Path) -> None:
    async with asking(tmp_path) as desk:
        id = (await call(desk))["ticket"]
        await desk.ask("POST", f"/tickets/{id}/allow", json={"scope": "client"})
        (fresh,) = (await desk.get("/tickets/consents"))["consents"]
        assert fresh["lastUsedAt"] is None
        assert (await call(desk, other=1))["outcome"] == "returned"
        (consent,) = (await desk.get("/tickets/consents"))["consents"]
        assert consent == {
            "id": consent["id"],
            "tool": str(WRITE),
            "principal": "local",
            "client": "operator",
            "by": "local",
            "at": "2026-01-02T03:04:05+00:00",
            "expiresAt": "2026-02-01T03:04:05+00:00",
            "expired": False,
            "lastUsedAt": "2026-01-02T03:04:05+00:00",
            "credentialIdentity": None,
            "current": True,
        }
        assert await desk.get("/tickets/consents", tool=str(WRITE), principal="local") == {"consents": [consent]}
        assert await desk.get("/tickets/consents", tool="mcp:dev~github:read") == {"consents": []}
        assert await desk.get("/tickets/consents", principal="eve") == {"consents": []}
        steps = (await desk.get("/why", tool=str(WRITE)))["steps"]
        assert "without confirmation" in steps[-2]["question"]
        assert f"until 2026-02-01 (permission {consent['id']}, given by local)" in steps[-2]["answer"]
        revoked = await desk.ask("DELETE", f"/tickets/consents/{consent['id']}")
        assert (revoked.status_code, revoked.json()) == (200, consent)
        assert await desk.get("/tickets/consents") == {"consents": []}
        assert (await call(desk, other=1))["outcome"] == "confirmation_required"
        said = [decision.text for decision in desk.house.audit.decisions if decision.about == str(WRITE)]
        assert said[-1] == (
            f"revoked the permission of local with 'operator' to call this without confirmation ({consent['id']})"
        )


@pytest.mark.behaviour("confirmation.standing_ends")
@pytest.mark.parametrize(
    ("end", "expires"),
    [
        ({"expiresInDays": 0.5}, "2026-01-02T15:04:05+00:00"),
        ({"expiresAt": "2026-01-03T00:00:00Z"}, "2026-01-03T00:00:00+00:00"),
    ],
)
async def test_whoever_gives_a_standing_permission_chooses_its_end(
    tmp_path: Path, end: dict[str, object], expires: str
) -> None:
    async with asking(tmp_path) as desk:
        id = (await call(desk))["ticket"]
        await desk.ask("POST", f"/tickets/{id}/allow", json={"scope": "always", **end})
        (consent,) = (await desk.get("/tickets/consents"))["consents"]
        assert (consent["expiresAt"], consent["expired"]) == (expires, False)
        desk.house.clock.passes(86_400)
        (consent,) = (await desk.get("/tickets/consents"))["consents"]
        assert consent["expired"] is True
        assert (await call(desk, other=1))["outcome"] == "confirmation_required"


@pytest.mark.behaviour("confirmation.standing_ends")
@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"expiresInDays": 7}, 422, "only a standing permission has an end: send scope client or always with it"),
        (
            {"scope": "always", "expiresInDays": 1, "expiresAt": "never"},
            422,
            "send expiresInDays or expiresAt, not both",
        ),
        ({"scope": "always", "expiresInDays": 0}, 422, "expiresInDays"),
        ({"scope": "always", "expiresInDays": 3651}, 422, "expiresInDays"),
        ({"scope": "always", "expiresAt": "2027-01-01T00:00:00"}, 422, "expiresAt"),
        ({"scope": "always", "expiresAt": "2025-01-01T00:00:00Z"}, 409, "is in the past"),
        ({"scope": "always", "expiresAt": "never"}, 409, "consent_days: never"),
    ],
)
async def test_an_end_that_cannot_be_is_refused_and_decides_nothing(
    tmp_path: Path, body: dict[str, object], status: int, why: str
) -> None:
    async with asking(tmp_path) as desk:
        id = (await call(desk))["ticket"]
        refused = await desk.ask("POST", f"/tickets/{id}/allow", json=body)
        assert problem(refused)[0] == status
        assert why in problem(refused)[1]
        assert (await desk.get(f"/tickets/{id}"))["state"] == "waiting"


@pytest.mark.behaviour("confirmation.standing_second_step")
async def test_a_destructive_tool_needs_the_second_confirmation(tmp_path: Path) -> None:
    async with asking(tmp_path) as desk:
        destructive = Tool(WRITE, replace(tool(GITHUB, "write").spec, annotations={"destructiveHint": True}))
        desk.house.provider(GITHUB).lists(destructive)
        await desk.house.until(lambda: desk.house.board.catalogue.tools[WRITE].spec == destructive.spec)
        id = (await call(desk))["ticket"]
        assert (await desk.get(f"/tickets/{id}"))["consentTerms"]["destructive"] is True
        refused = await desk.ask("POST", f"/tickets/{id}/allow", json={"scope": "always"})
        status, why = problem(refused)
        assert (status, why.startswith(f"{WRITE} claims to be destructive")) == (409, True)
        assert "send confirmDestructive" in why
        assert (await desk.get(f"/tickets/{id}"))["state"] == "waiting"
        body = {"scope": "always", "confirmDestructive": True}
        assert (await desk.ask("POST", f"/tickets/{id}/allow", json=body)).status_code == 200
        assert len((await desk.get("/tickets/consents"))["consents"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/tickets/nothing", None, (404, "There is no ticket 'nothing'. See: pegboard tickets list")),
        ("POST", "/tickets/nothing/allow", {}, (404, "There is no ticket 'nothing'. See: pegboard tickets list")),
        ("POST", "/tickets/nothing/deny", {}, (404, "There is no ticket 'nothing'. See: pegboard tickets list")),
        (
            "DELETE",
            "/tickets/consents/nothing",
            None,
            (404, "There is no standing permission 'nothing'. See: pegboard tickets consents"),
        ),
    ],
)
async def test_what_is_not_there_is_told(
    tmp_path: Path, method: str, path: str, body: object, expected: tuple[int, str]
) -> None:
    async with asking(tmp_path) as desk:
        answer = await desk.ask(method, path, **({} if body is None else {"json": body}))
        assert problem(answer) == expected


async def test_a_scope_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async with asking(tmp_path) as desk:
        id = (await call(desk))["ticket"]
        assert (await desk.ask("POST", f"/tickets/{id}/allow", json={"scope": "ever"})).status_code == 422
        assert (await desk.get(f"/tickets/{id}"))["state"] == "waiting"


@pytest.mark.behaviour("confirmation.overrides_bound")
async def test_a_ticket_shows_what_overrides_fill_in_and_the_names_of_what_they_pin(tmp_path: Path) -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {}, "to": {}, "mode": {}}}
    async with asking(tmp_path, {**TOOLS, GITHUB: (Tool(WRITE, ToolSpec("write", input_schema=schema)),)}) as desk:
        arguments = {
            "to": ArgumentOverride(default=freeze_json(-0.0)),
            "mode": ArgumentOverride(pin=freeze_json("pinned-value")),
        }
        override = Override(GITHUB.toolset, WRITE, requires_confirmation=True, arguments=arguments)
        await desk.house.does(SetOverride(override))
        ticket = await desk.get(f"/tickets/{(await call(desk, n=1))['ticket']}")
        assert ticket["filledArguments"] == {"defaults": {"to": 0}, "exactNumbers": {"/to": "-0.0"}, "pinned": ["mode"]}
        assert describe_ticket(ticket).partition("to the letter:\n")[2].partition("\n\npegboard")[0] == (
            '{\n  "n": 1\n}\n\nFilled in by the operator\'s override:\n{\n  "to": -0.0\n}\n\n'
            "Pinned by the operator, values not shown: mode"
        )
