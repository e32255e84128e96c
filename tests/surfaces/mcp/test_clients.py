"""What a stock client gets from the gateway: the same in each era and over each transport."""

import anyio
import pytest
from inline_snapshot import snapshot
from mcp import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from tests.support.sentences import unfit_opening, unknown_tool
from tests.surfaces.mcp.places import Connect
from tests.surfaces.mcp.workshop import BENCH, OPEN_TOOLS, PLAN, key

from pegboard.core.calls.call import LockedToolRefusal, refusal_text
from pegboard.core.decision.status import NoApproval
from pegboard.core.model.ids import ToolId

pytestmark = pytest.mark.anyio

OPEN_VAULT = ToolId(key("vault"), "open_vault")


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.behaviour(
    "mcp.out.stdio",
    "mcp.out.http",
    "mcp.out.protocol_2025_11_25",
    "mcp.out.protocol_2026_07_28",
    "mcp.out.direct",
    "mcp.out.order",
)
async def test_every_open_tool_is_listed_in_the_order_of_the_board_and_can_be_called(connect: Connect) -> None:
    client = await connect()
    for _ in range(3):
        listed = await client.list_tools(cache_mode="bypass")
        assert [tool.name for tool in listed.tools] == OPEN_TOOLS
    assert listed.next_cursor is None
    assert text_of(await client.call_tool("echo", {"text": "Grüße, 你好 🪛"})) == "Grüße, 你好 🪛"
    assert text_of(await client.call_tool("delete_folder")) == "done"


@pytest.mark.behaviour("mcp.out.tool_fields_intact", "overrides.name_is_for_display", "overrides.description")
async def test_what_a_tool_says_of_itself_reaches_the_client_unchanged_but_for_overrides(connect: Connect) -> None:
    client = await connect()
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    dumped = {name: tool.model_dump(by_alias=True, exclude_none=True) for name, tool in tools.items()}
    assert dumped["echo"] == snapshot(
        {
            "name": "echo",
            "title": "Echo",
            "description": "Says it again. Grüße, 你好.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            "icons": [{"src": "data:image/png;base64,AAAA", "sizes": ["48x48"]}],
            "annotations": {"title": "Echo!", "readOnlyHint": True},
            "_meta": {"example.org/shelf": 3},
        }
    )
    assert dumped["add"] == snapshot(
        {
            "name": "add",
            "description": "Adds two numbers.",
            "inputSchema": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
            "outputSchema": {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]},
        }
    )
    assert dumped["get_file"] == snapshot(
        {
            "name": "get_file",
            "title": "Look at a file",
            "description": "Shows what is in a file.",
            "inputSchema": {"type": "object"},
        }
    )
    assert tools["plan"].input_schema == PLAN


async def test_each_way_a_call_can_end_is_told_as_a_result(connect: Connect) -> None:
    client = await connect()
    await client.list_tools()
    summed = await client.call_tool("add", {"a": 20, "b": 22})
    assert (text_of(summed), summed.structured_content, summed.is_error) == ("42", {"total": 42}, False)
    ended = {name: await client.call_tool(name) for name in ("fail", "break_off", "vanish")}
    assert {name: (answer.is_error, text_of(answer)) for name, answer in ended.items()} == {
        "fail": (True, "The glue is dry."),
        "break_off": (
            True,
            "The call of 'break_off' failed: the server closed its end. "
            "It may have run all the same: check what it did before you call it again.",
        ),
        "vanish": (
            True,
            "The call of 'vanish' failed: the server does not take connections. "
            "It did not run, so you can call it again.",
        ),
    }


@pytest.mark.behaviour(
    "admission.unknown_tool_names_near_matches",
    "admission.problems_name_the_argument",
    "locked.call_is_refused_with_the_same_words",
)
async def test_each_refusal_says_what_and_why_and_what_to_do(connect: Connect) -> None:
    client = await connect()
    with pytest.raises(MCPError) as unknown:
        await client.call_tool("create_fil")
    assert (unknown.value.code, unknown.value.message) == (
        INVALID_PARAMS,
        unknown_tool("create_fil", "create_file", "create_folder", "get_file"),
    )
    locked = await client.call_tool("open_vault", {"word": "please"})
    assert (locked.is_error, text_of(locked)) == (
        True,
        refusal_text(LockedToolRefusal(OPEN_VAULT, NoApproval(OPEN_VAULT))),
    )
    unfit = await client.call_tool("add", {"a": "two"})
    assert unfit.is_error
    assert text_of(unfit).startswith(unfit_opening(ToolId(BENCH, "add")))
    assert '"b" is a required property' in text_of(unfit)
    assert "- a: " in text_of(unfit)
    with pytest.raises(MCPError) as cursor:
        await client.list_tools(cursor="page-2")
    assert (cursor.value.code, cursor.value.message) == (
        INVALID_PARAMS,
        "The cursor cannot be used: this is no cursor of this server. List again without a cursor.",
    )


async def test_progress_reaches_the_client_that_asked_for_it(connect: Connect) -> None:
    client = await connect()
    told: list[tuple[float, float | None, str | None]] = []
    last = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        if progress == 3:
            last.set()

    answer = await client.call_tool("steps", progress_callback=hear)
    await last.wait()
    assert (text_of(answer), sorted(told)) == ("all done", [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")])
    assert text_of(await client.call_tool("steps")) == "nobody listens"


async def test_a_call_that_the_client_gives_up_is_given_up_at_its_provider(connect: Connect) -> None:
    client = await connect()
    waiting = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        waiting.set()

    async def call() -> None:
        await client.call_tool("wait", progress_callback=hear)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await waiting.wait()
        tasks.cancel_scope.cancel()
    while text_of(await client.call_tool("wait", {"report": True})) != "1":
        pass
    assert text_of(await client.call_tool("echo", {"text": "still here"})) == "still here"


@pytest.mark.behaviour("supervision.two_hundred_parallel_calls")
async def test_two_hundred_parallel_calls_each_get_their_own_answer(connect: Connect) -> None:
    client = await connect()
    answers: dict[int, str] = {}

    async def call(number: int) -> None:
        answers[number] = text_of(await client.call_tool("echo", {"text": f"call {number}"}))

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(call, number)
    assert answers == {number: f"call {number}" for number in range(200)}
