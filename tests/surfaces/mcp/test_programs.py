"""Programs of clients of either era: run, told of on the way, asked about in place, given up."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from tests.surfaces.mcp.inquiry import CURIOUS, Inquiry, Person, inquiry
from tests.surfaces.mcp.places import MODERN, MODES

from pegboard.core.model.ids import ToolId
from pegboard.core.model.settings import CodeSettings
from pegboard.core.overrides.model import Override
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

pytestmark = pytest.mark.anyio

SURFACES = ("memory", "http", "long")
LISTED: Mapping[str, Any] = {"code": CodeSettings(is_listed=True, runs=1)}
CONFIRMED: Mapping[str, Any] = {
    **LISTED,
    "overrides": (Override(CURIOUS.toolset, ToolId(CURIOUS, "held"), requires_confirmation=True, is_declared=True),),
}


@asynccontextmanager
async def programs(surface: str, changes: Mapping[str, Any] = LISTED, era: str = MODERN) -> AsyncIterator[Inquiry]:
    monty = MontySandbox(workers=1)
    try:
        async with inquiry(surface, era=era, changes=changes, programs=ProgramBackend(lambda _: monty)) as place:
            yield place
    finally:
        with anyio.CancelScope(shield=True):
            await monty.aclose()


def structured(result: CallToolResult) -> Any:
    assert isinstance(result, CallToolResult)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return result.structured_content


@pytest.mark.behaviour("programs.every_client", "programs.progress")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_client_runs_a_program_and_is_told_of_each_call(surface: str, mode: str) -> None:
    async with programs(surface) as place:
        client = await place.client(mode)
        (listed,) = [tool for tool in (await client.list_tools()).tools if tool.name == "python_execution"]
        assert listed.output_schema is not None
        told: list[tuple[float, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, message))

        code = 'held = await curious.held(count=0)\nprint("ja")\n[held, await curious.given_up(count=0)]'
        answer = await client.call_tool("python_execution", {"code": code}, progress_callback=hear)
        assert not answer.is_error
        said = structured(answer)
        calls = said.pop("tool_calls")
        assert said == {"result": ["0", "0"], "stdout": "ja\n", "truncated": False, "error": None}
        assert [(call["name"], call["ok"]) for call in calls] == [("curious.held", True), ("curious.given_up", True)]
        assert told == [(1.0, "curious.held: ok"), (2.0, "curious.given_up: ok")]
        failed = await client.call_tool("python_execution", {"code": "1 / 0"})
        assert failed.is_error
        assert structured(failed)["error"]["type"] == "ZeroDivisionError"


@pytest.mark.behaviour("programs.every_client", "programs.asked_in_place")
@pytest.mark.parametrize("era", MODES)
@pytest.mark.parametrize("mode", MODES)
async def test_a_person_is_asked_in_the_middle_of_a_program(mode: str, era: str) -> None:
    """By the gateway, whether a call may run, and by a tool, whatever it asks."""
    async with programs("http", CONFIRMED, era) as place:
        person = Confirming()
        client = await place.client(mode, person)
        code = "asked = await curious.ask()\n[asked, await curious.held(count=0)]"
        answer = await client.call_tool("python_execution", {"code": code})
        said = structured(answer)
        assert said["error"] is None, said
        assert [call["ok"] for call in said["tool_calls"]] == [True, True]
        colour, confirmed = person.asked
        assert colour == "Which colour?"
        assert str(confirmed).startswith("May the tool 'held' of 'curious~curious' run now?")


class Confirming(Person):
    """Says which colour, and yes."""

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        answers = {"colour": "teal"} if params.message == "Which colour?" else {"answer": "yes"}
        return ElicitResult(action="accept", content={**answers})


@pytest.mark.behaviour("programs.every_client", "programs.cancelled")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("surface", SURFACES)
async def test_who_gives_a_program_up_is_heard_by_the_servers_of_its_calls(surface: str, mode: str) -> None:
    async with programs(surface) as place:
        client, other = await place.client(mode), await place.client(mode)
        code = "import asyncio\nawait asyncio.gather(curious.hold(), curious.hold())"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "python_execution", {"code": code})
            await other.call_tool("held", {"count": 2})
            tasks.cancel_scope.cancel()
        await other.call_tool("given_up", {"count": 2})
        # The next program has the one turn that there is, so the former has ended.
        await other.call_tool("python_execution", {"code": "1"})
        assert sorted(place.ended) == [*["CallCancellation"] * 3, *["ToolSuccess"] * 3]
