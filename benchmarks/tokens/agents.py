"""Agents: what each does, by the way in which it is shown tools, until it has read what the task takes.

Each goes through a real client of the protocol. What enters its context is counted once: the tools it is shown, what
the server says of itself, the calls it writes, the answers it reads. The calls of the task's own tools come after that,
cost the same in every way, and are left out.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcp import Client
from mcp_types import TextContent
from mcp_types import Tool as Listed

from pegboard.core.model.ids import ToolId, WireName
from pegboard.core.model.tool import ToolSpec
from pegboard.core.presentations.entries import estimate_tokens, tool_cost

from .tasks import Task


@dataclass(frozen=True, slots=True)
class Paid:
    tokens: int
    calls: int
    """Before the first call of a tool of the task."""
    seen: int
    """Of the tools that the task takes: those that the agent has read of so that it can call them."""
    needs: int


@dataclass
class Context:
    """What one agent has read and written."""

    client: Client
    needs: Mapping[WireName, ToolId]
    """What the task takes, by the names that the agent is shown."""
    tokens: int = 0
    calls: int = 0
    seen: set[str] = field(default_factory=set[str])
    _listed: set[str] = field(default_factory=set[str])

    async def lists(self) -> list[str]:
        """Reads the tools that it has not read yet; every name that is new."""
        tools: list[Listed] = []
        page = await self.client.list_tools(cache_mode="bypass")
        tools += page.tools
        while page.next_cursor is not None:
            page = await self.client.list_tools(cursor=page.next_cursor, cache_mode="bypass")
            tools += page.tools
        fresh = [tool for tool in tools if tool.name not in self._listed]
        self.tokens += sum(_cost(tool) for tool in fresh)
        self._listed.update(tool.name for tool in fresh)
        return [tool.name for tool in fresh]

    async def calls_for(self, name: str, arguments: dict[str, Any]) -> Any:
        """Writes a call and reads its answer."""
        self.calls += 1
        self.tokens += estimate_tokens(json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False))
        answer = await self.client.call_tool(name, arguments)
        texts = [block.text for block in answer.content if isinstance(block, TextContent)]
        if answer.is_error:
            raise RuntimeError(f"{name} was refused: {' '.join(texts)}")
        self.tokens += sum(map(estimate_tokens, texts))
        return json.loads(texts[0])

    def reads(self, text: str) -> None:
        self.tokens += estimate_tokens(text)

    def sees(self, names: Iterable[str]) -> None:
        self.seen.update(name for name in names if name in self.needs)

    @property
    def paid(self) -> Paid:
        return Paid(self.tokens, self.calls, len(self.seen), len(self.needs))


Agent: TypeAlias = Callable[[Context, Task], Awaitable[None]]


async def direct(context: Context, task: Task) -> None:
    """Reads everything."""
    context.sees(await context.lists())


async def searching_full(context: Context, task: Task) -> None:
    await context.lists()
    context.sees(_names(await context.calls_for("retrieve_tools", {"query": task.query, "detail": "full"})))


async def searching(context: Context, task: Task) -> None:
    """Chooses by the compact answer, and reads the whole of what it chose: what the task takes, if that is there, else
    what came first."""
    await context.lists()
    found = _names(await context.calls_for("retrieve_tools", {"query": task.query}))
    chosen = [name for name in found if name in context.needs] or found[:1]
    if chosen:
        context.sees(_names(await context.calls_for("describe_tool", {"names": chosen})))


async def looking_through(context: Context, task: Task) -> None:
    """Knows at once in which toolsets to look: no agent does better."""
    await context.lists()
    await context.calls_for("list_toolsets", {})
    for toolset in sorted({id.toolset for id in task.needs}):
        await context.calls_for("list_tools", {"toolset": toolset})
    for name in sorted(context.needs):
        context.sees([(await context.calls_for("get_tool_input_schema", {"tool": name}))["name"]])


async def deferring(context: Context, task: Task) -> None:
    """Reads what was found in its list, which has it from then on."""
    await context.lists()
    await context.calls_for("tool_search", {"query": task.query})
    context.sees(await context.lists())


async def deferring_stateless(context: Context, task: Task) -> None:
    """Reads what was found in the answer, and never lists again."""
    await context.lists()
    context.sees(_names(await context.calls_for("tool_search", {"query": task.query})))


def floor(specs: Iterable[ToolSpec]) -> Paid:
    """The least of all: to be shown what the task takes, and nothing else."""
    needed = [*specs]
    return Paid(sum(map(tool_cost, needed)), 0, len(needed), len(needed))


def _cost(tool: Listed) -> int:
    return tool_cost(ToolSpec(tool.name, description=tool.description or "", input_schema=tool.input_schema))


def _names(answer: Any) -> list[str]:
    return [entry["name"] for entry in answer["tools"]]
