"""Calls that a program makes one after the other, beside the same calls of the same tool without a program.

Both go through one gateway with its policy, validation and audit, to one MCP server over stdio.
"""

import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final
from uuid import uuid4

import yaml

from benchmarks.codemode.row import Row
from pegboard.compose.house import open_house
from pegboard.compose.surroundings import every_server, now, settings_of
from pegboard.core.call import Call, Returned
from pegboard.core.code import CodeLimits, CodeSettings
from pegboard.core.ids import LOCAL, CallId, WireName
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.surfaces.cli.link import Options

_ROOT: Final = Path(__file__).parents[2]


@asynccontextmanager
async def _gateway(calls: int) -> AsyncIterator[Gateway]:
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["-m", "benchmarks.gateway.upstream.stdio", "--tools", "10"]
        server = {"command": sys.executable, "args": arguments, "cwd": str(_ROOT)}
        file = Path(folder) / "pegboard.yaml"
        board = {"servers": {"bench": {**server, "trust": "open"}}}
        file.write_text(yaml.safe_dump(board), "utf-8")
        options = Options(config=file, data_dir=Path(folder) / "data")
        settings = settings_of(options)
        assert settings is not None
        # As many calls as it takes, in one program: more than a file may allow.
        code = CodeSettings(limits=CodeLimits(calls=calls))
        unbounded = replace(settings, declared=replace(settings.declared, code=code))
        async with open_house(options, unbounded, every_server, follow=False) as house:
            assert await house.gateway.settled(60)
            yield house.gateway


def _call(name: str, arguments: dict[str, str]) -> Call:
    return Call(CallId(uuid4().hex), WireName(name), dict(arguments), LOCAL, now(), client="benchmark")


async def _directly(gateway: Gateway, count: int) -> None:
    for number in range(count):
        ended = await gateway.caller.call(_call("echo", {"text": str(number)}), View())
        assert isinstance(ended, Returned), ended


async def _in_a_program(gateway: Gateway, count: int) -> None:
    code = f"for number in range({count}):\n    await bench.echo(text=str(number))\n'done'"
    ended = await gateway.code.run(_call("python_execution", {"code": code}), View())
    assert isinstance(ended, Returned), ended
    said = json.loads(ended.body)["structuredContent"]
    assert (said["result"], len(said["tool_calls"])) == ("done", count)


async def measured(calls: int, rounds: int) -> Row:
    """Milliseconds for so many calls, the median of the rounds."""
    direct: list[float] = []
    nested: list[float] = []
    async with _gateway(calls) as gateway:
        await _directly(gateway, 20)
        await _in_a_program(gateway, min(calls, 20))
        for _ in range(rounds):
            started = time.perf_counter()
            await _directly(gateway, calls)
            between = time.perf_counter()
            await _in_a_program(gateway, calls)
            direct.append((between - started) * 1e3)
            nested.append((time.perf_counter() - between) * 1e3)
    return Row(f"{calls:,} calls in turn", median(direct), median(nested), None, calls)
