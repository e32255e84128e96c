"""Arguments so large that to check them on the event loop would hold up everybody else."""

import threading
from dataclasses import replace

import anyio
import anyio.from_thread
import pytest
from tests.gateway.test_caller import FILES, FITTING, GITHUB, SEARCH, workshop
from tests.support.doubles import OK
from tests.support.house import PATIENCE, call_of, declared, opened

from pegboard.core.calls.call import Arguments, BadArguments, LockedToolRefusal, ToolCall
from pegboard.core.commands.commands import SetSwitch
from pegboard.core.decision.status import SwitchedOff
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool
from pegboard.gateway.caller import OFF_LOOP_BYTES, CallOutcome

pytestmark = pytest.mark.anyio


def large(arguments: Arguments) -> ToolCall:
    return replace(call_of("search", arguments), raw=b" " * (OFF_LOOP_BYTES + 1))


@pytest.mark.behaviour("speed.large_messages_off_the_loop")
async def test_large_arguments_are_checked_beside_the_event_loop_and_other_calls_go_on_meanwhile() -> None:
    async with opened(declared(GITHUB, FILES), workshop()) as house:
        checking, checked = anyio.Event(), threading.Event()

        def slowly(tool: Tool, arguments: Arguments) -> tuple[str, ...]:
            anyio.from_thread.run_sync(checking.set)
            assert checked.wait(PATIENCE)
            return house.gateway.caller.validate_off_loop(tool, arguments)

        caller, ended = replace(house.gateway.caller, validate_off_loop=slowly), list[CallOutcome]()

        async def call() -> None:
            ended.append(await caller.call(large({"query": 5}), View()))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                await checking.wait()
                assert await caller.call(call_of("search", FITTING), View()) == OK
                checked.set()
        assert ended == [BadArguments(SEARCH, ('query: the value is not of type "string"',))]
        assert [record.outcome for record in house.audit.records] == [OK, *ended]


async def test_a_large_call_whose_tool_is_locked_while_it_is_checked_is_refused() -> None:
    async with opened(declared(GITHUB), workshop()) as house:
        seen: list[Arguments] = []

        def switched_off_meanwhile(tool: Tool, arguments: Arguments) -> tuple[str, ...]:
            seen.append(arguments)
            anyio.from_thread.run(house.does, SetSwitch(SEARCH, enabled=False))
            return ()

        caller = replace(house.gateway.caller, validate_off_loop=switched_off_meanwhile)
        ended = await caller.call(large(FITTING), View())
        assert isinstance(ended, LockedToolRefusal)
        assert isinstance(ended.reason, SwitchedOff)
        assert seen == [FITTING]
        assert house.provider(GITHUB).calls == []
