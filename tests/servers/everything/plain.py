"""Tools that only answer: every kind of content, errors, logs and progress on the way, schemas with every keyword."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import anyio
from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    TextContent,
    TextResourceContents,
    Tool,
)

from .turn import Turn

Run: TypeAlias = Callable[[Turn], Awaitable[CallToolResult]]
STEP: Final = 0.05
LEVELS: Final[tuple[LoggingLevel, ...]] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
# The smallest valid PNG: one transparent pixel.
PIXEL: Final = b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000a49444154789c6300010000050001"
        "0d0a2db40000000049454e44ae426082"
    )
).decode()
# The head of a WAVE file that holds no sample: one channel, 8 bit, 8 kHz.
SILENCE: Final = b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0" + b"\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0" + b"data\0\0\0\0"
).decode()
NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
EVERY_KEYWORD: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Fixture:
    tool: Tool
    run: Run


def fixture(name: str, description: str, run: Run, schema: Mapping[str, Any] = NO_ARGUMENTS) -> Fixture:
    return Fixture(Tool(name=name, description=description, input_schema=dict(schema)), run)


def said(*blocks: ContentBlock | str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=block) if isinstance(block, str) else block for block in blocks])


def takes(**texts: str) -> dict[str, Any]:
    """A schema of required texts, each with its description."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": about} for name, about in texts.items()},
        "required": list(texts),
    }


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


def _always(*blocks: ContentBlock | str) -> Run:
    async def run(turn: Turn) -> CallToolResult:
        return said(*blocks)

    return run


async def _fails(turn: Turn) -> CallToolResult:
    return CallToolResult(content=[TextContent(text="This tool fails on purpose, for tests.")], is_error=True)


async def _reports_progress(turn: Turn) -> CallToolResult:
    for done in (0, 50, 100):
        await turn.ctx.session.report_progress(done, 100, f"{done} of 100")
        await anyio.sleep(STEP)
    return said("Progress was told three times.")


async def _echoes_header(turn: Turn) -> CallToolResult:
    return said(f"region={turn.arguments['region']}")


async def _closes_its_stream(turn: Turn) -> CallToolResult:
    """The client is to come back for the answer; over a transport without such streams it simply waits."""
    if turn.ctx.close_sse_stream is not None:
        await turn.ctx.close_sse_stream()
        await anyio.sleep(2 * STEP)
    return said("The answer came after the stream was closed.")


class Logging:
    """Log messages at or above what the client asked for: by session in the older era, by request in the newer."""

    def __init__(self) -> None:
        self._levels: dict[str, LoggingLevel] = {}

    def set_level(self, session: str, level: LoggingLevel) -> None:
        self._levels[session] = level

    async def log(self, turn: Turn, session: str, level: LoggingLevel, text: str) -> None:
        asked = (turn.ctx.meta or {}).get(LOG_LEVEL_KEY) if turn.stateless else self._levels.get(session, "debug")
        if asked not in LEVELS or LEVELS.index(level) < LEVELS.index(asked):
            return
        params = LoggingMessageNotificationParams(level=level, data=text, logger="everything")
        await turn.ctx.session.send_notification(LoggingMessageNotification(params=params), turn.ctx.request_id)


def logging_tool(name: str, logging: Logging, session_of: Callable[[Turn], str], pause: float) -> Fixture:
    async def run(turn: Turn) -> CallToolResult:
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await logging.log(turn, session_of(turn), "info", text)
            await anyio.sleep(pause)
        return said("Three messages were logged.")

    return fixture(name, "Logs three messages while it runs.", run)


PLAIN: Final[tuple[Fixture, ...]] = (
    fixture("test_simple_text", "Answers with a text.", _always("This is a simple text response for testing.")),
    fixture("test_image_content", "Answers with an image.", _always(ImageContent(data=PIXEL, mime_type="image/png"))),
    fixture("test_audio_content", "Answers with a sound.", _always(AudioContent(data=SILENCE, mime_type="audio/wav"))),
    fixture(
        "test_embedded_resource",
        "Answers with a resource inside.",
        _always(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    fixture(
        "test_multiple_content_types",
        "Answers with a text, an image and a resource.",
        _always(
            "Multiple content types test:",
            ImageContent(data=PIXEL, mime_type="image/png"),
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
    ),
    fixture("test_error_handling", "Fails, always.", _fails),
    fixture("test_tool_with_progress", "Tells progress while it runs.", _reports_progress),
    fixture("test_reconnection", "Closes its stream before it answers.", _closes_its_stream),
    fixture(
        "test_header_parameter",
        "Takes an argument that HTTP clients repeat in a header.",
        _echoes_header,
        {
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            "required": ["region"],
        },
    ),
    fixture(
        "json_schema_2020_12_tool",
        "Takes arguments by a schema with the keywords of JSON Schema 2020-12.",
        _always("The arguments were taken."),
        EVERY_KEYWORD,
    ),
)
