"""`python -m benchmarks.codemode.tokens`: what three tasks of many calls cost in tokens, with programs and without.

Real servers, a real gateway, a real client and the real sandbox. What a model reads and writes is counted twice: once
each, and as often as it is sent to the model, which reads all that came before in every turn.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp_types import TextContent

from benchmarks import table
from benchmarks.sample import ratio
from pegboard.bootstrap.application import open_application
from pegboard.bootstrap.environment import every_server, load_settings
from pegboard.core.model.settings import PresentationMode
from pegboard.core.presentations.entries import estimate_tokens
from pegboard.gateway.gateway import Gateway
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.server import GatewayMcpServer

from .tasks import NOTES, TASKS, Call, Task, journal

DEMO: Final = Path(__file__).resolve().parents[2] / "examples" / "demo" / "pegboard.yaml"
WAYS: Final = {
    "calls, every tool listed": PresentationMode.DIRECT,
    "calls, found by search": PresentationMode.SEARCH,
    "a program": PresentationMode.CODE,
}


@dataclass
class Model:
    """What one model has read and written. It makes no mistake, and says nothing but its calls."""

    client: Client
    presented: PresentationMode
    read: int = 0
    written: int = 0
    sent: int = 0
    """Summed up over the turns: each begins with all that there is."""
    turns: int = 0
    calls: int = 0
    texts: list[str] = field(default_factory=list)

    @property
    def context(self) -> int:
        return self.read + self.written

    def reads(self, text: str) -> None:
        self.read += estimate_tokens(text)

    async def lists(self) -> None:
        for tool in (await self.client.list_tools()).tools:
            told = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
            self.reads(json.dumps(told, ensure_ascii=False))

    async def turn(self, calls: Sequence[Call]) -> list[Any]:
        """Calls of tools of the board, by whatever way they are called here."""
        through = self.presented is PresentationMode.SEARCH
        return await self.own([("call_tool", {"name": n, "arguments": a}) if through else (n, a) for n, a in calls])

    async def own(self, calls: Sequence[Call]) -> list[Any]:
        self.turns += 1
        self.sent += self.context
        answers = [await self._called(name, arguments) for name, arguments in calls]
        return answers

    async def _called(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls += 1
        self.written += estimate_tokens(json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False))
        answer = await self.client.call_tool(name, arguments)
        [content] = answer.content
        assert isinstance(content, TextContent)
        if answer.is_error:
            raise RuntimeError(f"{name} was refused: {content.text}")
        self.reads(content.text)
        return content.text if answer.structured_content is None else answer.structured_content


@dataclass(frozen=True)
class Row:
    task: str
    way: str
    once: int
    sent: int
    turns: int
    calls: int


async def done(gateway: Gateway, task: Task, presented: PresentationMode, way: str) -> tuple[Row, Any]:
    server = GatewayMcpServer(gateway, presentation=presentation_of(presented, gateway)).server
    async with Client(InMemoryTransport(server)) as client:
        model = Model(client, presented)
        model.reads(task.asked)
        await model.lists()
        if presented is PresentationMode.CODE:
            await model.own([("tool_search", {"query": task.query, "limit": task.limit})])
            [ran] = await model.own([("python_execution", {"code": task.program})])
            answer = ran["result"]
        else:
            if presented is PresentationMode.SEARCH:
                await model.own([("retrieve_tools", {"query": task.query, "limit": task.limit})])
            answer = await task.by_calls(model.turn)
        # The turn in which it answers.
        model.turns += 1
        model.sent += model.context
    return Row(task.name, way, model.context, model.sent, model.turns, model.calls), answer


@asynccontextmanager
async def demo(folder: Path) -> AsyncIterator[Gateway]:
    """The demo's board, with notes on its desk."""
    os.environ["DESK_DIR"] = str(folder / "desk")
    os.environ.setdefault("PYTHON_FOR_DEMO", sys.executable)
    async with open_application(folder / "data", load_settings(DEMO), every_server, follow=False) as house:
        await house.gateway.board.wait_until_started(60)
        async with Client(InMemoryTransport(GatewayMcpServer(house.gateway).server)) as client:
            for number in range(NOTES):
                name, arguments = journal(number)
                await client.call_tool(name, arguments)
        yield house.gateway


async def rows(tasks: Sequence[Task] = TASKS) -> list[Row]:
    found: list[Row] = []
    for task in tasks:
        answers: list[Any] = []
        for way, presented in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                async with demo(Path(folder)) as gateway:
                    row, answer = await done(gateway, task, presented, way)
            found.append(row)
            answers.append(answer)
        if any(answer != answers[0] for answer in answers):
            raise RuntimeError(f"{task.name}: the ways come to different answers: {answers}")
    return found


def as_text(found: Sequence[Row]) -> str:
    cells = []
    for row in found:
        floor = next(each for each in found if each.task == row.task and each.way == "a program")
        numbers = [table.number(value) for value in (row.once, row.sent)]
        cells.append(
            (
                f"{row.task}: {row.way}",
                *(numbers[0], table.times(ratio(row.once, floor.once))),
                *(numbers[1], table.times(ratio(row.sent, floor.sent))),
                *(str(row.turns), str(row.calls)),
            )
        )
    headings = ("tokens of a task", "each once", "of a program", "over all turns", "of a program", "turns", "calls")
    return table.render(headings, cells)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.codemode.tokens",
        description="What three tasks of many calls cost in tokens, with programs and without.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    asked = parser.parse_args(arguments)
    found = anyio.run(rows)
    if asked.json:
        print(json.dumps([vars(row) for row in found], indent=2))
    else:
        print(as_text(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
