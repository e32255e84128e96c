"""A process that has a sandbox, as the gateway has one: it takes attacks line by line, and tells what came of each.

`python -m benchmarks.escapes.hosting MODE`; JSON lines in and out. It is a process of its own because an attack that
succeeds may end it.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import IO

import anyio

from benchmarks.sandboxes import MODES
from pegboard.core.json.values import Json
from pegboard.ports.sandbox import (
    HostReply,
    Program,
    ProgramHost,
    RunSuspension,
    Sandbox,
    SandboxFunction,
    SandboxLimits,
    SandboxUnavailable,
)

HOST_SECRET = ""
_DUMPS, _LEN = json.dumps, len


class Echo(ProgramHost):
    def __init__(self) -> None:
        self.calls = 0
        self.seen: list[str] = []

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        self.calls += 1
        if _LEN(self.seen) < 100:
            self.seen.append(_DUMPS(arguments)[:4_096])
        return arguments.get("x")

    def on_output(self, text: str) -> None:
        pass


async def attacked(sandbox: Sandbox, code: str, limits: SandboxLimits) -> dict[str, object]:
    host = Echo()
    began = time.monotonic()
    error: dict[str, object] | None = None
    stdout, result = "", None
    try:
        ran = await sandbox.run(Program(code, (SandboxFunction("", "echo", parameters=("x",)),)), host, limits)
    except SandboxUnavailable as away:
        return {"away": str(away)}
    if isinstance(ran, RunSuspension):
        error = {"type": "Suspended", "message": "", "line": None, "is_lacking": False}
    else:
        stdout, result = ran.stdout, ran.result
        if ran.error is not None:
            fault = ran.error
            error = {
                "type": fault.type,
                "message": fault.message,
                "line": fault.line,
                "is_lacking": fault.is_unsupported,
            }
    return {
        "stdout": stdout,
        "result": _DUMPS(result),
        "error": error,
        "arguments": host.seen,
        "calls": host.calls,
        "seconds": time.monotonic() - began,
        "is_changed": json.dumps is not _DUMPS or len is not _LEN or HOST_SECRET not in globals().values(),
    }


async def serve(mode: str, answers: IO[str]) -> None:
    global HOST_SECRET
    sandbox = MODES[mode]()
    try:
        first = json.loads(await anyio.to_thread.run_sync(sys.stdin.readline))
        HOST_SECRET = first["value"]
        limits = SandboxLimits(**first["limits"])

        async def answer(number: int, code: str, wall: float) -> None:
            told = await attacked(sandbox, code, replace(limits, wall=wall))
            print(_DUMPS({"number": number, **told}), file=answers, flush=True)

        # The first run starts what all others find started.
        await answer(first["number"], "1 + 1", limits.wall)
        async with anyio.create_task_group() as attacks:
            while line := await anyio.to_thread.run_sync(sys.stdin.readline):
                asked = json.loads(line)
                attacks.start_soon(answer, asked["number"], asked["code"], asked["wall"])
    finally:
        await sandbox.aclose()


if __name__ == "__main__":
    # With PYTHONUNBUFFERED, `sys.stdout` loses the rest of a long line when a signal interrupts its write.
    with open(sys.stdout.fileno(), "w", closefd=False) as answers:
        anyio.run(serve, sys.argv[1], answers)
