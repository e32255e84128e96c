"""A gateway in this process, with its store and one real server, in which programs run as for any caller."""

import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import yaml

from pegboard.bootstrap.application import open_application
from pegboard.bootstrap.environment import every_server, load_settings, now
from pegboard.core.calls.call import ToolCall
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, WireName
from pegboard.core.model.settings import CodeSettings
from pegboard.gateway.gateway import Gateway

ROOT: Final = Path(__file__).parents[2]
MIRROR: Final = ("-m", "benchmarks.codemode.mirror")
ECHO: Final = ("-m", "benchmarks.gateway.upstream.stdio", "--tools", "10")


def board(arguments: Sequence[str]) -> dict[str, object]:
    server = {"command": sys.executable, "args": [*arguments], "cwd": str(ROOT), "trust": "open"}
    return {"servers": {"bench": server}}


@asynccontextmanager
async def gateway(arguments: Sequence[str], code: CodeSettings) -> AsyncIterator[Gateway]:
    """`arguments` are those of the Python that is the server `bench`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pegboard.yaml"
        file.write_text(yaml.safe_dump(board(arguments)), "utf-8")
        settings = load_settings(file)
        assert settings is not None
        # More than a file may allow, where a benchmark asks for it.
        chosen = replace(settings, declared=replace(settings.declared, code=code))
        async with open_application(Path(folder) / "data", chosen, every_server, follow=False) as house:
            assert await house.gateway.board.wait_until_started(60)
            yield house.gateway


def call(name: str, arguments: dict[str, Json]) -> ToolCall:
    return ToolCall(CallId(uuid4().hex), WireName(name), arguments, LOCAL_PRINCIPAL, now(), client="benchmark")
