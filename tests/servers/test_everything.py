"""The everything-server does the same in both eras, over both transports, and can be pinned to one era."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import stdio_client
from mcp.client.subscriptions import PromptsListChanged, ToolsListChanged
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    PromptReference,
    Root,
    TextContent,
    TextResourceContents,
)
from pydantic import FileUrl
from tests.servers import peers

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
DEADLINE = 60
OLDER_ERA = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
TRANSPORTS = pytest.mark.parametrize("transport", ["http", "stdio"])
FILLED_IN: dict[str, Any] = {"name": "Ada", "color": "green", "ok": True, "username": "ada", "email": "a@b.example"}


async def fill_in(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert isinstance(params, ElicitRequestFormParams)
    fields = params.requested_schema["properties"]
    return ElicitResult(action="accept", content={key: value for key, value in FILLED_IN.items() if key in fields})


async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    asked = params.messages[0].content
    assert isinstance(asked, TextContent)
    return CreateMessageResult(role="assistant", content=TextContent(text=f"You said: {asked.text}"), model="none")


async def list_roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///shelf"))])


@asynccontextmanager
async def client_of(transport: str, tmp_path: Path, *arguments: str, **options: Any) -> AsyncIterator[Client]:
    with anyio.fail_after(DEADLINE):
        if transport == "stdio":
            with (tmp_path / "stderr").open("w") as errlog:
                async with Client(stdio_client(peers.stdio("everything", *arguments), errlog), **options) as client:
                    yield client
        else:
            async with peers.http("everything", *arguments) as address, Client(address, **options) as client:
                yield client


def answering(**options: Any) -> dict[str, Any]:
    callbacks = {"elicitation_callback": fill_in, "sampling_callback": sample, "list_roots_callback": list_roots}
    return {**callbacks, **options}


def text_of(result: CallToolResult) -> str:
    assert not result.is_error, result
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@ERAS
@TRANSPORTS
async def test_it_asks_the_client_in_the_manner_of_its_era(mode: str, transport: str, tmp_path: Path) -> None:
    async with client_of(transport, tmp_path, **answering(mode=mode)) as client:

        async def call(name: str, **arguments: str) -> str:
            return text_of(await client.call_tool(name, arguments))

        assert await call("test_sampling", prompt="peg?") == "LLM response: You said: peg?"
        form = await call("test_elicitation", message="Who are you?")
        assert form == 'User response: <action=accept, content={"email": "a@b.example", "username": "ada"}>'
        assert await call("test_input_required_result_elicitation") == "Hello, Ada!"
        assert await call("test_input_required_result_list_roots") == "1 roots: file:///shelf"
        assert await call("test_input_required_result_multi_round") == "Ada likes green."
        assert await call("test_input_required_result_request_state") == (
            'state-ok: action=accept, content={"ok": true}'
        )
        assert await call("test_input_required_result_multiple_inputs") == (
            'action=accept, content={"name": "Ada"}\nYou said: Generate a greeting\n1 roots: file:///shelf'
        )
        prompt = await client.get_prompt("test_input_required_result_prompt")
        assert [message.content for message in prompt.messages] == [TextContent(text="Answer in this context: ")]


@ERAS
async def test_it_demands_what_a_client_cannot_do(mode: str, tmp_path: Path) -> None:
    async with client_of("http", tmp_path, mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("test_missing_capability")
    assert (refused.value.code, refused.value.data) == (
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        {"requiredCapabilities": {"sampling": {}}},
    )


@ERAS
@TRANSPORTS
async def test_it_offers_resources_prompts_and_completions(mode: str, transport: str, tmp_path: Path) -> None:
    async with client_of(transport, tmp_path, mode=mode) as client:
        assert [each.uri for each in (await client.list_resources()).resources] == [
            "test://static-text",
            "test://static-binary",
            "test://watched-resource",
        ]
        assert [each.uri_template for each in (await client.list_resource_templates()).resource_templates] == [
            "test://template/{id}/data"
        ]
        made = await client.read_resource("test://template/größe/data")
        assert made.contents == [
            TextResourceContents(
                uri="test://template/größe/data",
                mime_type="application/json",
                text='{"id": "gr\\u00f6\\u00dfe", "templateTest": true, "data": "Data for ID: gr\\u00f6\\u00dfe"}',
            )
        ]
        with pytest.raises(MCPError) as missing:
            await client.read_resource("test://nowhere")
        assert missing.value.code == (INVALID_PARAMS if mode == "2026-07-28" else -32002)
        assert missing.value.data == {"uri": "test://nowhere"}
        assert "test_prompt_with_arguments" in [each.name for each in (await client.list_prompts()).prompts]
        with pytest.raises(MCPError, match="needs arg2"):
            await client.get_prompt("test_prompt_with_arguments", {"arg1": "x"})
        reference = PromptReference(name="test_prompt_with_arguments")
        completed = await client.complete(reference, {"name": "arg1", "value": "par"})
        assert completed.completion.values == ["paris", "park", "party"]


@TRANSPORTS
async def test_it_tells_a_listening_client_what_changed(transport: str, tmp_path: Path) -> None:
    async with (
        client_of(transport, tmp_path, mode="2026-07-28") as client,
        client.listen(tools_list_changed=True, prompts_list_changed=True) as news,
    ):
        before = len((await client.list_tools()).tools)
        await client.call_tool("test_trigger_tool_change")
        assert await anext(news) == ToolsListChanged()
        assert len((await client.list_tools(cache_mode="bypass")).tools) == before + 1
        await client.call_tool("test_trigger_prompt_change")
        assert await anext(news) == PromptsListChanged()


@OLDER_ERA
@TRANSPORTS
async def test_it_tells_a_subscribed_session_that_its_resource_changed(transport: str, tmp_path: Path) -> None:
    told = anyio.Event()
    heard: list[str] = []

    async def hear(message: Any) -> None:
        method = getattr(message, "method", "")
        if method.startswith("notifications/resources"):
            heard.append(message.params.uri)
            told.set()

    async with client_of(transport, tmp_path, mode="legacy", message_handler=hear) as client:
        await client.call_tool("test_trigger_resource_change")
        await client.subscribe_resource("test://watched-resource")
        await client.call_tool("test_trigger_resource_change")
        await told.wait()
        read = await client.read_resource("test://watched-resource", cache_mode="bypass")
    assert heard == ["test://watched-resource"]
    assert [each.text for each in read.contents if isinstance(each, TextResourceContents)] == [
        "This is version 3 of the watched resource."
    ]


@OLDER_ERA
@TRANSPORTS
async def test_it_logs_from_the_level_that_was_asked_for(transport: str, tmp_path: Path) -> None:
    logged: list[object] = []

    async def note(params: LoggingMessageNotificationParams) -> None:
        logged.append(params.data)

    async with client_of(transport, tmp_path, mode="legacy", logging_callback=note) as client:
        await client.set_logging_level("warning")
        await client.call_tool("test_tool_with_logging")
        assert logged == []
        await client.set_logging_level("info")
        await client.call_tool("test_tool_with_logging")
    assert logged == ["Tool execution started", "Tool processing data", "Tool execution completed"]


async def test_an_answer_survives_the_stream_it_was_to_come_on(tmp_path: Path) -> None:
    async with client_of("http", tmp_path, mode="legacy") as client:
        answer = text_of(await client.call_tool("test_reconnection"))
    assert answer == "The answer came after the stream was closed."


@pytest.mark.parametrize(
    ("transport", "era", "known", "unknown", "code"),
    [
        ("http", "handshake", "legacy", "2026-07-28", INVALID_REQUEST),
        # A server of the handshake era has not been opened yet, so it finds fault with the request itself.
        ("stdio", "handshake", "legacy", "2026-07-28", INVALID_PARAMS),
        ("http", "stateless", "2026-07-28", "legacy", UNSUPPORTED_PROTOCOL_VERSION),
        ("stdio", "stateless", "2026-07-28", "legacy", UNSUPPORTED_PROTOCOL_VERSION),
    ],
)
async def test_pinned_to_one_era_it_refuses_the_other(
    transport: str, era: str, known: str, unknown: str, code: int, tmp_path: Path
) -> None:
    pinned = (transport, tmp_path, "--era", era)
    async with client_of(*pinned, **answering(mode=known)) as client:
        assert text_of(await client.call_tool("test_input_required_result_elicitation")) == "Hello, Ada!"
    refusal = pytest.RaisesExc(MCPError, check=lambda error: error.code == code)
    with pytest.RaisesGroup(refusal, flatten_subgroups=True):
        async with client_of(*pinned, mode=unknown) as client:
            await client.list_tools()
    async with client_of(*pinned, mode="auto") as client:
        assert client.protocol_version == ("2025-11-25" if era == "handshake" else "2026-07-28")
