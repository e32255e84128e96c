"""The stand-in as a web server: whose request it is, what was ordered for it, and every request as it came."""

import json
import re
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import anyio
import uvicorn
from benchmarks.docspace_replay.multipart import MultipartError, parts
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pegboard.surfaces.http.server import WebServer

from . import files, rooms
from .asking import Ask, Page, Route
from .faults import Fault, Hold
from .shapes import envelope, error, only
from .world import World, Wrong

ROUTES: Sequence[Route] = (*files.ROUTES, *rooms.ROUTES, *files.AFTER_ROOMS)
API = "api/2.0/"
UPLOADER = "ChunkedUploader.ashx"


@dataclass(frozen=True)
class Seen:
    """A request as it reached the server."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}{'?' if self.query else ''}{self.query}"

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class StandIn:
    """Each credential opens a world of its own. A key of `worlds` is the `Authorization` header that opens it."""

    worlds: dict[str, World]
    prefix: str = ""
    """Where below the root the API is, such as `portal/`."""
    seen: list[Seen] = field(default_factory=list[Seen])
    faults: list[Fault] = field(default_factory=list[Fault])
    holds: list[Hold] = field(default_factory=list[Hold])
    url: str = ""
    """With a slash at its end; set while it listens."""

    def lines(self) -> list[str]:
        """Every request so far, as its method and where it went."""
        return [each.line for each in self.seen]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        path = scope["path"]
        self.seen.append(
            Seen(request.method, path, scope["query_string"].decode("latin-1"), tuple(request.headers.items()), body)
        )
        for hold in self.holds:
            if hold.fits(request.method, path) and not await _let_go(hold, receive):
                return
        fault = next((each for each in self.faults if each.fits(request.method, path)), None)
        response = fault.response() if fault is not None else self._answer(request, path.lstrip("/"), body)
        await response(scope, receive, send)

    def _answer(self, request: Request, path: str, body: bytes) -> Response:
        authorization = request.headers.get("authorization", "")
        world = self.worlds.get(authorization)
        # A token comes without a scheme, and once more as the cookie of someone who is signed in.
        signed_in = " " in authorization or request.cookies.get("asc_auth_key") == authorization
        if world is None or not signed_in:
            return Response(status_code=401)
        if not path.startswith(self.prefix):
            return JSONResponse(error(404, f"Not found: /{path}"), 404)
        path = path.removeprefix(self.prefix)
        try:
            if path == UPLOADER:
                return _take_chunk(world, request, body)
            if path.startswith("dl/"):
                return _download(world, path.removeprefix("dl/"))
            return self._api(world, request, path, body)
        except Wrong as wrong:
            return JSONResponse(error(wrong.status, wrong.message), wrong.status)

    def _api(self, world: World, request: Request, path: str, body: bytes) -> Response:
        asked = path.removeprefix(API) if path.startswith(API) else None
        found = None if asked is None else _routed(request.method, asked)
        if found is None:
            raise Wrong(404, f"Not found: /{self.prefix}{path}")
        (_, _, answer), match = found
        query = parse_qsl(request.url.query, keep_blank_values=True)
        ask = Ask(world, self.url + self.prefix, match.groups(), query, _json(body))
        reply = answer(ask)
        page = reply if isinstance(reply, Page) else None
        shown = only(reply if page is None else page.response, ask.many("fields"))
        url = f"{self.url}{self.prefix}{path}"
        return JSONResponse(envelope(shown, url, method=request.method, total=None if page is None else page.total))


def _routed(method: str, path: str) -> tuple[Route, re.Match[str]] | None:
    for route in ROUTES:
        if route[0] == method and (match := route[1].match(path)):
            return route, match
    return None


def _json(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise Wrong(400, "The request body is not JSON") from None


async def _let_go(hold: Hold, receive: Receive) -> bool:
    hold.reached.set()
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            hold.hung_up.set()
            tasks.cancel_scope.cancel()

        tasks.start_soon(listen)
        await hold.let_go.wait()
        tasks.cancel_scope.cancel()
    return not hold.hung_up.is_set()


def _download(world: World, token: str) -> Response:
    content = world.downloads.get(token)
    if content is None:
        raise Wrong(404, "The required file was not found")
    return Response(content, media_type="text/plain; charset=utf-8")


def _take_chunk(world: World, request: Request, body: bytes) -> Response:
    session = world.sessions.get(request.query_params.get("uid", ""))
    if session is None:
        return JSONResponse({"success": False, "message": "The upload session has expired"})
    part = _one_part(request, body)
    if part is None:
        return JSONResponse({"success": False, "message": "There is no file in the form"})
    if len(session.received) + len(part) > session.total:
        return JSONResponse({"success": False, "message": "More was sent than the session was made for"})
    session.received += part
    uid = request.query_params["uid"]
    if len(session.received) < session.total:
        told = {"id": uid, "bytes_uploaded": len(session.received), "bytes_total": session.total}
        return JSONResponse({"success": True, "data": told, "message": ""})
    del world.sessions[uid]
    made = world.make_file(session.folder, session.name, bytes(session.received))
    told = {
        "folderId": made.folder,
        "id": made.id,
        "title": made.title,
        "version": made.version,
        "provider_key": "",
        "uploaded": True,
    }
    return JSONResponse({"success": True, "data": told, "message": ""}, 201)


def _one_part(request: Request, body: bytes) -> bytes | None:
    try:
        found = parts(request.headers.get("content-type", ""), body)
    except MultipartError:
        return None
    return next((part.content for part in found if part.name == "file"), None)


@asynccontextmanager
async def listening(app: ASGIApp, port: int = 0, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """A real server on loopback in this very event loop; its address, with a slash at its end."""
    # Named as TCP, it is one whose connections send what they have at once instead of waiting 40 ms for more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
        config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        web = WebServer(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listener])
            try:
                yield f"http://{host}:{listener.getsockname()[1]}/"
            finally:
                web.stop(at_once=True)
