"""The API of the replay: a server that answers with the recorded responses and keeps every request as it came."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio
import uvicorn
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Incoming
from starlette.types import Receive, Scope, Send

from pegboard.surfaces.http.server import WebServer

from .addresses import Addresses
from .cases import polls
from .recordings import HANG, Recording, Request, Response

UNKNOWN: Final = Response(
    404,
    {"Content-Type": "application/json"},
    {
        "error": {"message": "This request was not recorded", "type": "Replay", "stack": "", "hresult": -1},
        "status": 1,
        "statusCode": 404,
    },
)
UPLOADED: Final = Response(
    201, {"Content-Type": "application/json"}, {"success": True, "data": {"uploaded": True}, "message": ""}
)
"""For a chunk that was never recorded, since the recorded server sent none of an empty file."""
ENDS_AFTER: Final = 3
"""Polls beyond the recorded ones."""


@dataclass(frozen=True)
class Made:
    """A request of ours, and the port it came to."""

    request: Request
    port: int


@dataclass
class Scene:
    """One recording on stage: the next answer for each request, and what was asked."""

    recording: Recording
    made: list[Made] = field(default_factory=list[Made])
    used: set[int] = field(default_factory=set[int])
    again: int = 0
    """Requests beyond the recorded ones."""
    hanging: anyio.Event = field(default_factory=anyio.Event)
    hung_up: anyio.Event = field(default_factory=anyio.Event)

    def answer(self, request: Request) -> Response | str:
        """The first recorded answer to such a request that nobody has had; after the last, that one again."""
        places = [
            place
            for place, recorded in enumerate(self.recording.requests)
            if place < len(self.recording.responses)
            and (recorded.method, recorded.path) == (request.method, request.path)
        ]
        if not places:
            began = request.method == "POST" and request.path.endswith("/ChunkedUploader.ashx")
            return UPLOADED if began else UNKNOWN
        place = next((each for each in places if each not in self.used), None)
        if place is None:
            self.again += 1
            return _ended(self.recording.responses[places[-1]], request, self.again)
        self.used.add(place)
        return self.recording.responses[place]


def _ended(last: Response | str, request: Request, again: int) -> Response | str:
    """Whoever asks about an operation for longer than the recorded server did hears of its end."""
    if not polls(request) or again < ENDS_AFTER or not isinstance(last, Response) or not isinstance(last.body, dict):
        return last
    told = last.body.get("response")
    if not isinstance(told, list):
        return last
    ended = [each | {"progress": 100, "finished": True} if isinstance(each, dict) else each for each in told]
    return replace(last, body={**last.body, "response": ended})


@dataclass
class Stage:
    """The server. It shows one scene at a time, since a call is over before the next one begins."""

    scene: Scene | None = None
    where: Addresses | None = None
    ports: tuple[int, ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        incoming = Incoming(scope, receive)
        try:
            body = await incoming.body()
        except ClientDisconnect:
            return
        request = Request(
            incoming.method,
            scope["raw_path"].decode("latin-1"),
            scope["query_string"].decode("latin-1"),
            dict(incoming.headers),
            body or None,
        )
        scene, answer = self.scene, UNKNOWN
        if scene is not None and self.where is not None:
            scene.made.append(Made(request, scope["server"][1]))
            found = scene.answer(request)
            if found == HANG:
                await _hang(scene, receive)
                return
            assert isinstance(found, Response)
            answer = found
        await self._send(answer, send)

    async def _send(self, answer: Response, send: Send) -> None:
        def ours(text: str) -> str:
            return text if self.where is None else self.where.to_ours(text)

        body = ours(answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
        mentioned = ("content-length", "transfer-encoding", "connection", "date", "content-encoding")
        headers = [
            (name.lower().encode("latin-1"), ours(value).encode("latin-1"))
            for name, value in answer.headers.items()
            if name.lower() not in mentioned
        ]
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _hang(scene: Scene, receive: Receive) -> None:
    scene.hanging.set()
    while (await receive())["type"] != "http.disconnect":
        pass
    scene.hung_up.set()


@asynccontextmanager
async def staged(servers: int) -> AsyncIterator[Stage]:
    """So many servers on ports of loopback, each with the same stage."""
    stage = Stage()
    async with AsyncExitStack() as stack:
        stage.ports = tuple([await stack.enter_async_context(_listening(stage)) for _ in range(servers)])
        yield stage


@asynccontextmanager
async def _listening(app: Any) -> AsyncIterator[int]:
    # Named as TCP, it is one whose connections send what they have at once instead of waiting 40 ms for more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        web = WebServer(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listener])
            try:
                yield listener.getsockname()[1]
            finally:
                web.stop(at_once=True)
