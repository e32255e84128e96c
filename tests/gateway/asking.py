"""A house in which one tool must be confirmed, and callers of it."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
from tests.core.boards import key
from tests.support.asking import AskedClient
from tests.support.doubles import MemoryStore, Providers
from tests.support.house import PATIENCE, House, call_of, declared, opened

from pegboard.core.calls.call import ConfirmationRefusal, MissingConfirmation, ToolCall, ToolFailure
from pegboard.core.commands.commands import SetOverride
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ServerKey, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import Override
from pegboard.gateway.caller import CallOutcome
from pegboard.store.open import open_store
from pegboard.store.secrets import key_of

GITHUB = key("dev~github")
DELETE, READ = ToolId(GITHUB, "delete"), ToolId(GITHUB, "read")
SPEC = ToolSpec("delete", input_schema={"type": "object", "properties": {"repo": {"type": "string"}}})
TOOLS = {GITHUB: (Tool(DELETE, SPEC), Tool(READ, ToolSpec("read")))}
ASKS = SetOverride(Override(GITHUB.toolset, DELETE, requires_confirmation=True))
ARGUMENTS: dict[str, Json] = {"repo": "pegboard", "token": "very-secret"}
YES: dict[str, Json] = {"action": "accept", "content": {"answer": "yes"}}


@asynccontextmanager
async def asking(
    folder: Path, store: MemoryStore | None = None, tools: Mapping[ServerKey, tuple[Tool, ...]] = TOOLS
) -> AsyncIterator[House]:
    """A house whose `delete` must be confirmed, with its tickets in a database of this folder."""
    url = f"sqlite:///{folder / 'tickets.db'}"
    async with (
        open_store(url, clock=lambda: datetime.now(UTC), key=key_of({}, folder)) as kept,
        opened(declared(GITHUB), Providers(tools), store=store, tickets=kept.tickets) as house,
    ):
        if store is None:
            await house.does(ASKS)
        with anyio.fail_after(PATIENCE):
            yield house


async def deletes(
    house: House,
    peer: AskedClient | None = None,
    *,
    arguments: dict[str, Json] | None = None,
    by: PrincipalId = LOCAL_PRINCIPAL,
    client: str = "cli 1",
) -> CallOutcome:
    call = call_of("delete", ARGUMENTS if arguments is None else arguments, by=by, client=client)
    return await house.gateway.caller.call(call, View(by), None, peer)


async def waits(
    house: House, ticket: str, wait: float = 0, *, by: PrincipalId = LOCAL_PRINCIPAL, client: str = "cli 1"
) -> CallOutcome:
    call = call_of("pegboard_ticket", {"ticket": ticket, "wait": wait}, by=by, client=client, id="waiting")
    return await house.gateway.caller.call(call, View(by))


def ran(house: House) -> int:
    return len(house.provider(GITHUB).calls)


def ticket_of(ended: CallOutcome) -> str:
    assert isinstance(ended, ConfirmationRefusal), ended
    assert ended.reason is MissingConfirmation.WAITING
    assert ended.ticket is not None
    return ended.ticket


def text_of(ended: CallOutcome) -> str:
    assert isinstance(ended, ToolFailure), ended
    return str(json.loads(ended.body)["content"][0]["text"])


def bringing(call: ToolCall, beside: dict[str, bytes]) -> ToolCall:
    return replace(call, beside=beside)
