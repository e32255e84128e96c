"""In whose name the operator's API calls tools: as the token's own principal, as another only by an administrator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.rest.desk import GITHUB, NOTES, Desk, at_desk

from pegboard.core.commands.commands import SetOverride
from pegboard.core.model.ids import ToolId
from pegboard.core.overrides.model import Override
from pegboard.store.open import open_store
from pegboard.store.secrets import key_of

pytestmark = pytest.mark.anyio

READ, WRITE, JOT = ToolId(GITHUB, "read"), ToolId(GITHUB, "write"), ToolId(NOTES, "jot")


class Person:
    """Somebody at the API with a token of their own."""

    def __init__(self, desk: Desk, name: str, token: str) -> None:
        self.desk, self.name = desk, name
        self.headers = {"authorization": f"Bearer {token}"}

    async def ask(self, path: str, body: dict[str, Any]) -> Any:
        answer = await self.desk.ask("POST", path, json=body, headers=self.headers)
        return {"status": answer.status_code, **answer.json()}

    async def call(self, tool: ToolId, **more: Any) -> Any:
        return await self.ask("/call", {"tool": str(tool), **more})

    async def latest_call(self) -> tuple[str, str]:
        (record,) = (await self.desk.get("/activity", limit=1))["activity"]
        return record["principal"], record["client"]


async def person(desk: Desk, name: str, *scopes: str, toolsets: list[str] | None = None) -> Person:
    made = {"principal": name, "name": "a test", "scopes": scopes}
    token = (await desk.ask("POST", "/tokens", json=made)).json()["token"]
    if toolsets is not None:
        answer = await desk.ask("PUT", f"/principals/{name}/grants", json={"toolsets": toolsets})
        assert answer.status_code == 200
    return Person(desk, name, token)


@asynccontextmanager
async def kept(folder: Path) -> AsyncIterator[Desk]:
    url = f"sqlite:///{folder / 'pegboard.db'}"
    async with (
        open_store(url, clock=lambda: datetime.now(UTC), key=key_of({}, folder)) as store,
        at_desk(tickets=store.tickets) as desk,
    ):
        await desk.house.does(SetOverride(Override(GITHUB.toolset, WRITE, requires_confirmation=True)))
        yield desk


@pytest.mark.behaviour("access.calls_as_oneself")
async def test_a_call_is_made_and_recorded_as_the_principal_of_the_token_with_its_grants() -> None:
    async with at_desk() as desk:
        ann = await person(desk, "ann", "operate", "call", toolsets=["docs"])
        assert (await ann.call(JOT))["outcome"] == "returned"
        assert await ann.latest_call() == ("ann", "operator")
        refused = await ann.call(READ)
        assert (refused["status"], refused["outcome"]) == (200, "unknown_tool")
        assert await ann.latest_call() == ("ann", "operator")
        assert (await ann.call(JOT, **{"as": "ann"}))["outcome"] == "returned"


@pytest.mark.behaviour("access.calls_as_oneself")
@pytest.mark.parametrize("other", ["local", "bob", "nobody"])
async def test_who_is_no_administrator_calls_and_runs_as_nobody_else(other: str) -> None:
    async with at_desk() as desk:
        await person(desk, "bob", "call")
        ann = await person(desk, "ann", "operate", "call")
        calls = len(desk.house.providers.made)
        for path, body in (("/call", {"tool": str(READ)}), ("/run", {"code": "1"}), ("/run", {"ticket": "abcdefghjk"})):
            told = await ann.ask(path, {**body, "as": other})
            assert (told["status"], told["missingScopes"]) == (403, ["admin"]), path
            assert told["detail"].startswith(f"Your token calls tools as 'ann', and not as {other!r}.")
        assert len(desk.house.providers.made) == calls


@pytest.mark.behaviour("access.calls_as_oneself")
async def test_an_administrator_calls_as_another_and_both_are_recorded() -> None:
    async with at_desk() as desk:
        await person(desk, "bob", "call", toolsets=["docs"])
        adm = await person(desk, "adm", "admin", "call")
        assert (await adm.call(JOT, **{"as": "bob"}))["outcome"] == "returned"
        assert await adm.latest_call() == ("bob", "operator adm")
        assert (await adm.call(READ, **{"as": "bob"}))["outcome"] == "unknown_tool"


@pytest.mark.behaviour("access.calls_as_oneself")
async def test_a_call_as_another_does_not_use_what_people_allowed_the_other_for_good(tmp_path: Path) -> None:
    async with kept(tmp_path) as desk:
        bob = await person(desk, "bob", "operate", "call")
        adm = await person(desk, "adm", "admin", "call")
        ticket = (await bob.call(WRITE))["ticket"]
        allowed = await desk.ask("POST", f"/tickets/{ticket}/allow", json={"scope": "always"})
        assert allowed.status_code == 200
        assert (await bob.call(WRITE, arguments={"text": "again"}))["outcome"] == "returned"
        asked = await adm.call(WRITE, arguments={"text": "again"}, **{"as": "bob"})
        assert asked["outcome"] == "confirmation_required"
        waiting = await desk.get(f"/tickets/{asked['ticket']}")
        assert (waiting["principal"], waiting["client"]) == ("bob", "operator adm")
