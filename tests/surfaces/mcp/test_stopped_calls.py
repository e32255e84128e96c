"""A call whose server is stopped under it is told that we did so, and why."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest
from tests.servers import peers
from tests.surfaces.mcp.places import DEADLINE
from tests.surfaces.mcp.shelves import shelved
from tests.surfaces.mcp.workshop import HERE, key

from pegboard.core.calls.call import ProviderFailure, ToolCall
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.server import Server, Stdio, Trust
from pegboard.core.policy.policy import DeclaredSettings

pytestmark = pytest.mark.anyio

DAY = key("day")


def everyday() -> Server:
    command, *arguments = peers.warm_command("everyday")
    return Server(DAY, Stdio(command, tuple(arguments)), HERE, trust=Trust.OPEN)


def edited(declared: DeclaredSettings) -> DeclaredSettings:
    server = declared.servers[DAY]
    assert isinstance(server.connection, Stdio)
    connection = replace(server.connection, env={"COLOUR": "blue"})
    return replace(declared, servers={DAY: replace(server, connection=connection)})


def removed(declared: DeclaredSettings) -> DeclaredSettings:
    return replace(declared, servers={})


def switched_off(declared: DeclaredSettings) -> DeclaredSettings:
    return replace(declared, servers={DAY: replace(declared.servers[DAY], enabled=False)})


@pytest.mark.behaviour("supervision.stopped_calls_are_told")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (edited, "its settings were changed"),
        (removed, "it was removed"),
        (switched_off, "it is not to run any more"),
    ],
)
async def test_a_call_that_is_cut_off_by_a_change_of_the_settings_says_so(
    change: Callable[[DeclaredSettings], DeclaredSettings], why: str
) -> None:
    with anyio.fail_after(DEADLINE):
        async with shelved(everyday()) as gateway:

            def heard(done: float, of: float | None, words: str | None) -> None:
                policy = gateway.board.policy
                gateway.board.set_policy(replace(policy, declared=change(policy.declared)))

            call = ToolCall(
                CallId("1"), WireName("sleepy"), {"seconds": 3600, "steps": 3600}, LOCAL_PRINCIPAL, datetime.now(UTC)
            )
            ended = await gateway.caller.call(call, View(), heard)
    assert ended == ProviderFailure(f"day~day was stopped because {why}, before it answered", may_have_run=True)
