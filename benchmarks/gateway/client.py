"""The load client: raw HTTP/1.1 on asyncio protocols, each request encoded once, each answer checked."""

import asyncio
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import httptools

from benchmarks.gateway import wire
from benchmarks.gateway.wire import Endpoint, Era
from benchmarks.sample import percentile

ANSWER_SECONDS = 120.0


class Operation(StrEnum):
    """What a client does over and over."""

    CALL = "tools/call"
    LIST = "tools/list"


class AnswerError(Exception):
    """A gateway answered, but not what the upstream says."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: dict[bytes, bytes]
    body: bytes

    def text(self, header: bytes) -> str:
        return self.headers.get(header, b"").decode("latin-1").strip()


@dataclass(frozen=True, slots=True)
class Listed:
    """A complete list: the tools' names, the cursors that led from page to page (None for the first), its length."""

    names: tuple[str, ...]
    cursors: tuple[str | None, ...]
    size: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One request, and what its answer must hold."""

    request: bytes
    expected: bytes


@dataclass(frozen=True, slots=True)
class Load:
    """What one stretch of load did: every call begun was awaited, so none is counted by halves."""

    calls: int
    errors: int
    seconds: float
    p50: float
    p99: float
    problem: str = ""


class Connection(asyncio.Protocol):
    """One kept connection with at most one request on it. httptools calls the `on_` methods while it is fed."""

    def __init__(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._waiting: asyncio.Future[Response] | None = None
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports inherit from none of asyncio's
        self._parser = httptools.HttpResponseParser(self)
        self.is_open = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError(f"the gateway closed the connection ({exc})"))

    def send(self, request: bytes) -> asyncio.Future[Response]:
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as problem:
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_exception(AnswerError(f"not HTTP: {problem}"))
            self._transport.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        response = Response(self._parser.get_status_code(), self._headers, body)
        self._headers, self._pieces = {}, []
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(response)


class Client:
    """One MCP client on one connection; in the session era it also has one session."""

    def __init__(self, endpoint: Endpoint, era: Era, number: int, tool: str = "echo") -> None:
        self._endpoint = endpoint
        self._tool = tool
        self._era = era
        self._number = number
        # Every client says something of its own, so an answer that went to the wrong client is seen.
        self._text = f"client {number} of the benchmark"
        self._session: str | None = None
        self.steps: tuple[Step, ...] = ()
        self._connection = Connection()

    async def open(self) -> None:
        """Connect and, where the era asks for it, shake hands."""
        await self.connect()
        if self._era is Era.SESSION:
            response = await self._sent(self._post("initialize", wire.INITIALIZE))
            _result(response, "initialize")
            self._session = response.text(b"mcp-session-id") or None
            await self._sent(self._post("notifications/initialized", {}, notification=True))

    async def connect(self) -> None:
        """A fresh connection in place of the one there was; a session outlives it."""
        self.abandon()
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_connection(Connection, self._endpoint.host, self._endpoint.port)

    async def listed(self) -> Listed:
        """Every tool's name, page by page to the end."""
        names: list[str] = []
        cursors: list[str | None] = []
        cursor: str | None = None
        size = 0
        while cursor is not None or not cursors:
            cursors.append(cursor)
            response = await self._sent(self._list_request(cursor))
            size += len(response.body)
            result = _result(response, "tools/list")
            names += [tool["name"] for tool in result["tools"]]
            cursor = result.get("nextCursor")
        return Listed(tuple(names), tuple(cursors), size)

    async def called(self) -> None:
        """One call of the tool, which gives back the text it gets; the answer is checked in full."""
        result = _result(await self._sent(self._call_request()), "tools/call")
        if result.get("isError") or result["content"] != [{"type": "text", "text": self._text}]:
            raise AnswerError(f"tools/call answered {str(result)[:200]}")

    def prepare(self, operation: Operation, listed: Listed, last_tool: str) -> None:
        """Encode what `perform` will send, and what it must get."""
        if operation is Operation.CALL:
            self.steps = (Step(self._call_request(), self._text.encode()),)
            return
        expected = [b'"tools"'] * (len(listed.cursors) - 1) + [last_tool.encode()]
        pages = zip(listed.cursors, expected, strict=True)
        self.steps = tuple(Step(self._list_request(cursor), words) for cursor, words in pages)

    async def perform(self) -> None:
        """The prepared operation once more, with a cheap check of each answer."""
        if not self._connection.is_open:
            await self.connect()
        for step in self.steps:
            response = await self._connection.send(step.request)
            if response.status != 200 or response.body.rfind(step.expected) < 0:
                raise AnswerError(f"status {response.status}, {response.body[:200]!r}")

    async def close(self) -> None:
        if self._session is not None:
            await self.connect()
            await self._sent(wire.delete(self._endpoint, self._session))
        self.abandon()

    def abandon(self) -> None:
        if self._connection.is_open:
            self._connection.close()

    async def _sent(self, request: bytes) -> Response:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await self._connection.send(request)

    def _list_request(self, cursor: str | None) -> bytes:
        return self._post("tools/list", {} if cursor is None else {"cursor": cursor})

    def _call_request(self) -> bytes:
        return self._post("tools/call", {"name": self._tool, "arguments": {"text": self._text}})

    def _post(self, method: str, params: wire.Json, *, notification: bool = False) -> bytes:
        number = None if notification else self._number
        return wire.post(self._endpoint, self._era, method, params, number=number, session=self._session)


async def connect_anew(clients: Sequence[Client]) -> None:
    """Fresh connections before a window: a gateway may close idle ones at any moment, so at the first request too."""
    for client in clients:
        await client.connect()


async def put_load(clients: Sequence[Client], seconds: float) -> Load:
    """All clients perform their operation until the time is up, then finish what they began."""
    latencies: list[float] = []
    problems: list[str] = []
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    try:
        async with asyncio.timeout(ANSWER_SECONDS + seconds), asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(_perform_until(client, started + seconds, latencies, problems))
    finally:
        gc.enable()
    elapsed = time.perf_counter() - started
    if not latencies:
        raise AnswerError(f"no call succeeded: {problems[0] if problems else 'none was begun'}")
    latencies.sort()
    return Load(
        calls=len(latencies),
        errors=len(problems),
        seconds=elapsed,
        p50=percentile(latencies, 0.5),
        p99=percentile(latencies, 0.99),
        problem=problems[0] if problems else "",
    )


async def _perform_until(client: Client, end: float, latencies: list[float], problems: list[str]) -> None:
    """Once at least: on a busy machine a short window may be over before it begins."""
    clock = time.perf_counter
    begun = clock()
    while True:
        try:
            await client.perform()
        except AnswerError as problem:
            problems.append(str(problem))
        except OSError as problem:
            problems.append(str(problem))
            return  # a client that is cut off stays away; the next window connects it again
        else:
            latencies.append(clock() - begun)
        if (begun := clock()) >= end:
            return


def _result(response: Response, method: str) -> dict[str, Any]:
    try:
        answer = wire.answer_in(response.body, response.text(b"content-type"))
    except ValueError as problem:
        raise AnswerError(f"{method}: status {response.status}, {response.body[:200]!r} ({problem})") from problem
    result = answer.get("result")
    if not isinstance(result, dict):
        raise AnswerError(f"{method}: status {response.status}, {str(answer)[:200]}")
    return result
