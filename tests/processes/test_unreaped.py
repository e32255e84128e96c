"""Processes that outlive the event loop which started them."""

import asyncio
import gc
import os
import sys
import warnings
from contextlib import suppress

import pytest

from pegboard.processes.child import ChildProcess, close_pipes, kill_group, start_child

pytestmark = pytest.mark.slow


async def start_and_kill() -> ChildProcess:
    child = await start_child([sys.executable, "-c", "import time; time.sleep(600)"], {}, None)
    kill_group(child)
    close_pipes(child)
    return child


def test_a_killed_process_whose_loop_ended_is_collected_at_the_next_start() -> None:
    async def leave() -> int:
        return (await start_and_kill()).pid

    async def start_another() -> None:
        await (await start_and_kill()).wait()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        left = asyncio.run(leave())
        gc.collect()
        with suppress(ChildProcessError):  # the first loop has seen the end just in time
            os.waitid(os.P_PID, left, os.WEXITED | os.WNOWAIT)
        asyncio.run(start_another())
    assert [str(each.message) for each in caught if "still running" in str(each.message)] == []
    with pytest.raises(ChildProcessError):
        os.waitid(os.P_PID, left, os.WEXITED | os.WNOWAIT | os.WNOHANG)
