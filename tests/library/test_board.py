"""Functions of one's own program on a board, in three lines."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.support.sentences import unfit_arguments, unknown_tool

from pegboard.core.model.ids import ToolId, ToolsetId, ToolsetKey
from pegboard.library import ToolDescription, ToolResult, open_board
from pegboard.prompts import LaunchFilter, PromptSettings
from pegboard.tools import NotAToolError, ToolContext, tool

pytestmark = pytest.mark.anyio


def forecast(city: str, days: int = 1) -> list[str]:
    """What the weather will be.

    Args:
        city: Where.
    """
    return [f"{city}: sun"] * days


async def alert(context: ToolContext) -> str:
    context.progress(1, 2, "looking")
    context.log("nothing found")
    return f"none for {context.toolset}"


def slow(context: ToolContext) -> int:
    context.progress(1)
    return threading.get_ident()


def broken() -> None:
    raise TimeoutError("the station does not answer")


@tool(requires_confirmation=True)
def erase() -> str:
    return "erased"


@pytest.mark.behaviour("python.library")
async def test_functions_are_listed_and_called_as_a_model_would() -> None:
    async with open_board(weather=[forecast, alert]) as board:
        assert [shown.name for shown in board.tools()] == ["forecast", "alert"]
        assert board.tools()[0] == ToolDescription(
            "forecast",
            None,
            "What the weather will be.",
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "city": {"type": "string", "description": "Where."},
                    "days": {"type": "integer", "default": 1},
                },
                "required": ["city"],
            },
            {
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"type": "string"}}},
                "required": ["result"],
            },
        )
        assert await board.call("forecast", {"city": "Åre"}) == ToolResult('["Åre: sun"]', {"result": ["Åre: sun"]})
        assert await board.call("weather:forecast", {"city": "Oslo", "days": 0}) == ToolResult("[]", {"result": []})


@pytest.mark.behaviour("python.library")
async def test_what_goes_wrong_is_told_and_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    async with open_board(weather=[forecast, broken, erase]) as board:
        assert (await board.call("forecast", {"days": "many"})).text == unfit_arguments(
            ToolId(ToolsetKey(ToolsetId("weather")), "forecast"),
            'days: the value is not of type "integer"',
            '"city" is a required property',
        )
        assert await board.call("broken") == ToolResult("TimeoutError: the station does not answer", is_error=True)
        assert (await board.call("forcast")).text == unknown_tool("forcast", "forecast")
        refused = await board.call("erase")
        assert refused == ToolResult(
            "confirmation_unavailable: A person must confirm this call first, and there is nobody to ask here: no "
            "client of the caller can confirm it, and this gateway keeps no tickets. It has not run. Tell the user.",
            is_error=True,
        )
        assert caplog.records == []
        log = board.gateway.providers.log(next(iter(board.gateway.providers.sources)))
        assert log[-1] == "TimeoutError: the station does not answer"


@pytest.mark.behaviour("python.library")
async def test_the_context_speaks_from_the_loop_and_from_threads() -> None:
    steps: list[tuple[float, float | None, str | None]] = []
    heard = anyio.Event()

    def hear(*step: object) -> None:
        steps.append(step)  # type: ignore[arg-type]  # three, as progress has
        heard.set()

    async with open_board(weather=[alert, slow]) as board:
        assert (await board.call("alert", progress=hear)).text == "none for weather"
        assert steps == [(1, 2, "looking")]
        heard = anyio.Event()
        result = await board.call("slow", progress=hear)
        with anyio.fail_after(60):
            await heard.wait()
        assert steps[1:] == [(1, None, None)]
        assert result.structured != {"result": threading.get_ident()}


@pytest.mark.behaviour("python.library")
async def test_a_call_that_is_given_up_stops_an_async_function() -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def wait() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with open_board(mine=[wait]) as board:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(board.call, "wait")
            await begun.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            await ended.wait()


@pytest.mark.behaviour("python.library")
@pytest.mark.parametrize(
    ("toolset", "functions", "said"),
    [
        ("Weather", [forecast], "'Weather' is not a toolset id"),
        ("weather", [forecast, forecast], "two functions of weather are called 'forecast'"),
        ("weather", [ToolResult], "it is a class"),
    ],
)
async def test_what_cannot_be_on_a_board_is_an_error_at_once(
    toolset: str, functions: list[Callable[..., object]], said: str
) -> None:
    with pytest.raises((ValueError, NotAToolError), match=said):
        async with open_board(**{toolset: functions}):
            raise AssertionError


PROGRAM = """
import anyio
from pegboard.library import open_board

def double(number: int) -> int:
    print("not for the client")
    return 2 * number

async def main():
    async with open_board(mine=[double]) as board:
        await board.serve_stdio()

anyio.run(main)
"""


@pytest.mark.behaviour("python.library")
async def test_a_program_of_ones_own_is_an_mcp_server() -> None:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    server = StdioServerParameters(command=sys.executable, args=["-c", PROGRAM], env=environment)
    with anyio.fail_after(60):
        async with (
            stdio_client(server, errlog=subprocess.DEVNULL) as (read, write),  # type: ignore[arg-type]  # a number does
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            assert [found.name for found in (await session.list_tools()).tools] == ["double"]
            result = await session.call_tool("double", {"number": 21})
            assert getattr(result, "structured_content", None) == {"result": 42}


@pytest.mark.behaviour("python.library")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (forecast, "weather must be a list of functions, and it is one function: weather=[forecast]"),
        (3, "weather must be a list of functions, and it is of the type int: weather=[…]"),
        ("forecast", "weather must be a list of functions, and it is of the type str: weather=[…]"),
    ],
)
async def test_a_toolset_that_is_no_list_is_told(given: Any, told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        async with open_board(weather=given):
            raise AssertionError


@pytest.mark.behaviour("deferred.automatic")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("x", float("nan")), "billions is nan: give"),
        (("x", float("inf")), "billions is inf: give"),
        (("x", -1), "billions is -1: give"),
        (("x", 0), "billions is 0: give"),
        (("x", True), "billions is of type bool: give"),
        (("x", "8"), "billions is of type str: give"),
        ((None, 8), "user_text is of type NoneType: give"),
    ],
)
async def test_what_an_automatic_search_cannot_use_is_told_at_once(asked: Any, told: str) -> None:
    async with open_board(weather=[forecast]) as board:
        with pytest.raises((TypeError, ValueError), match=told):
            await board.automatic_search(*asked)


@pytest.mark.behaviour("prompt.library")
async def test_a_program_gets_the_whole_request_for_what_its_user_says() -> None:
    async with open_board(weather=[forecast, alert]) as board:
        native = await board.prompt("What will the weather be?", "qwen3:8b")
        assert native.request["model"] == "qwen3:8b"
        tools = native.request["tools"]
        assert isinstance(tools, list)
        assert len(tools) == len(native.prompt.shapes)
        assert "native: in, because the model can call tools natively" in native.decisions
        text = await board.prompt("", "nobody-knows", settings=PromptSettings(base="Brief."), launch=LaunchFilter())
        assert "tools" not in text.request
        assert text.prompt.system.startswith("Brief.")
        with pytest.raises(TypeError, match="user_text is of type int"):
            await board.prompt(7, "x")  # type: ignore[arg-type]
