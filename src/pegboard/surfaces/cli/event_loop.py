"""Runs one command. The first signal ends it in order, the second one at once."""

import os
import signal
import sys
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import Any

import anyio
from anyio.abc import TaskStatus

from pegboard.surfaces.cli.output import CommandExit, Exit, unwrap_group


def run_to_end(
    main: Callable[[], Coroutine[Any, Any, int]], *, fast: bool = False, stops: Callable[[], bool] | None = None
) -> int:
    """`fast` is for what runs long: the loop it takes costs more to load. `stops` is asked first by Ctrl-C: whether
    there was something to stop, so that the command itself goes on."""
    options = {"use_uvloop": fast and find_spec("uvloop") is not None}
    try:
        return anyio.run(_run_with_signals, main, stops, backend_options=options)
    except BaseExceptionGroup as group:
        raise unwrap_group(group) from None


async def _run_with_signals(main: Callable[[], Coroutine[Any, Any, int]], stops: Callable[[], bool] | None) -> int:
    scope = anyio.CancelScope()
    heard: list[int] = []

    async def hear(*, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*_stop_signals()) as signals:
            task_status.started()
            async for number in signals:
                if number == signal.SIGINT and stops is not None and not heard and stops():
                    continue
                if heard:
                    # Whatever holds the end up, the person at the terminal has waited long enough.
                    os._exit(128 + number)
                heard.append(number)
                scope.cancel()

    code: int = Exit.OK
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            await tasks.start(hear)
        with scope:
            code = await main()
        tasks.cancel_scope.cancel()
    if scope.cancelled_caught:
        raise CommandExit(128 + heard[0])
    return code


def _stop_signals() -> tuple[signal.Signals, ...]:
    """One that whoever started us told us to ignore, as `nohup` does, stays ignored."""
    if sys.platform == "win32":
        return ()
    hung_up = () if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (signal.SIGHUP,)
    return (signal.SIGINT, signal.SIGTERM, *hung_up)
