"""Containers that a killed gateway left: removed when the next one needs any, and only its own."""

import anyio
import pytest
from tests.providers.container.boxes import KEY, Bench, command, containers, own
from tests.providers.mcp.running import PATIENCE, as_it_is
from tests.servers.containers import IMAGE, Host

from pegboard.providers.container.flags import BOARD_LABEL, ContainerNamespace, current_owner

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.behaviour("containers.leftovers", "containers.docker")
async def test_leftovers_of_this_board_are_removed_and_no_others(host: Host, board: ContainerNamespace) -> None:
    working = board.fresh_name()
    dead, neighbour = (
        name.replace(str(current_owner()), "4194305.1") for name in (board.fresh_name(), board.fresh_name())
    )
    whose = {dead: board.id, working: board.id, neighbour: "another", "stranger": board.id}
    for name, id in whose.items():
        told = ("--label", f"{BOARD_LABEL}={id}")
        flags = ("--detach", "--rm", "--network", "none", "--stop-timeout", "0", *host.settings.flags)
        host("run", *flags, "--name", name, *told, IMAGE, "sleep", "1000")
    try:
        provider = containers(host.settings, board).command_provider(KEY, own(command("echo", "cat")), as_it_is)
        at_work = Bench(provider)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(provider.run, at_work.ring)
            with anyio.fail_after(PATIENCE):
                while dead in await anyio.to_thread.run_sync(host.left):  # noqa: ASYNC110 - no bell rings for it
                    await anyio.sleep(0.1)
            tasks.cancel_scope.cancel()
        assert sorted(host.left()) == sorted([neighbour, "stranger", working])
    finally:
        host.clear()
