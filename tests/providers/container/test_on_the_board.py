"""Tools in containers on a whole board: switched, overridden and called as any others."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest
from tests.core.boards import ME, server, toolset
from tests.providers.container.boxes import KEY, command, containers, own, text_of
from tests.providers.mcp.running import as_it_is
from tests.servers.containers import Host
from tests.support.doubles import MemoryAudit, MemoryStore
from tests.support.house import PATIENCE, call_of, told

from pegboard.core.calls.call import LockedToolRefusal, ToolSuccess
from pegboard.core.commands.commands import SetSwitch
from pegboard.core.decision.status import status_of
from pegboard.core.explain.explain import explain
from pegboard.core.json.values import Json
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.server import Server
from pegboard.core.model.tool import OwnTools, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.gateway.gateway import open_gateway
from pegboard.ports.providers import Provider
from pegboard.providers.container.flags import ContainerNamespace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ECHO = ToolId(KEY, "echo")


@pytest.mark.behaviour("providers.container_overridden_alike")
async def test_tools_in_containers_are_switched_overridden_and_called_like_any_other(
    host: Host, board: ContainerNamespace
) -> None:
    made = containers(host.settings, board)

    def provider_for(declared: Server) -> Provider:
        assert isinstance(declared.connection, OwnTools)
        return made.command_provider(declared.key, declared.connection, as_it_is)

    schema: dict[str, Json] = {"type": "object", "properties": {"text": {"type": "string"}, "mood": {"type": "string"}}}
    tools = (
        replace(command("echo", "cat"), spec=ToolSpec("echo", input_schema=schema)),
        command("hidden", "cat"),
        command("other", "cat"),
    )
    declared = DeclaredSettings(
        servers={KEY: server(KEY, connection=own(*tools))},
        toolsets={KEY.toolset: toolset(KEY.toolset)},
        overrides=(
            Override(KEY.toolset, Pattern("demo", "*"), description_override="Runs in a box", is_declared=True),
            Override(KEY.toolset, ToolId(KEY, "hidden"), enabled=False, is_declared=True),
            Override(
                KEY.toolset, ECHO, arguments={"mood": ArgumentOverride(default=freeze_json("merry"))}, is_declared=True
            ),
        ),
    )
    with anyio.fail_after(PATIENCE):
        async with open_gateway(
            declared, MemoryStore(), MemoryAudit(), provider_for, lambda: datetime.now(UTC)
        ) as gateway:
            assert await gateway.board.wait_until_started(PATIENCE)
            statuses = {id.name: told(each) for id, each in gateway.board.resolution(View()).verdicts.items()}
            assert statuses == {"echo": "open", "hidden": "disabled_by_config", "other": "open"}
            trail = explain(gateway.board.catalogue, gateway.board.policy, View(), ECHO)
            assert trail is not None
            assert trail.override.description_override == "Runs in a box"
            outcome = await gateway.caller.call(call_of("echo", {"text": "hi"}), View())
            assert isinstance(outcome, ToolSuccess)
            assert json.loads(text_of(outcome)) == {"text": "hi", "mood": "merry"}
            assert isinstance(await gateway.operator.execute(SetSwitch(ECHO, enabled=False), ME), Policy)
            refused = await gateway.caller.call(call_of("echo", {}), View())
            assert isinstance(refused, LockedToolRefusal)
            assert status_of(refused.reason).value == "disabled_by_user"
    assert host.left() == []
