"""The root of the HTTP server: MCP endpoints, REST API, web UI and health."""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


CheckAddress: TypeAlias = Callable[[Iterable[tuple[bytes, bytes]]], tuple[int, str] | None]
"""Who may address the gateway from where, by a request's headers: the status and the words of a refusal, or `None`."""

PHRASES: Final = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    421: "Misdirected Request",
}

_EMPTY_BODY: Final = (b"content-length", b"0")
CHAT_PREFIX: Final = "/v1/"
CHAT_NOT_CONFIGURED: Final = (
    "There is no chat here. Have the operator name a model server under chat in pegboard.yaml and start the gateway "
    "again. MCP clients connect to /mcp."
)


class HttpRouter:
    """`sign_in` are the pages for people. Where there is neither `mcp` nor `api`, they are all there is."""

    def __init__(
        self,
        *,
        sign_in: "ASGIApp",
        check: CheckAddress,
        mcp: "ASGIApp | None" = None,
        api: "ASGIApp | None" = None,
        chat: "ASGIApp | None" = None,
        pages: "ASGIApp | None" = None,
    ) -> None:
        self._mcp = mcp
        self._api = api
        self._chat = chat
        self._pages = pages
        self._sign_in = sign_in
        self._check = check

    def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> Awaitable[None]:
        path: str = scope.get("path", "")
        if self._mcp is not None and (path == "/mcp" or path.startswith("/mcp/")):
            # It checks by itself, and refuses in the words of its protocol.
            return self._mcp(scope, receive, send)
        return self._serve(path, scope, receive, send)

    async def _serve(self, path: str, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if (refused := self._check(scope["headers"])) is not None:
            await (_send_chat_error if path.startswith(CHAT_PREFIX) else _send_problem)(send, *refused)
        elif path.startswith("/sign-in/"):
            await self._sign_in(scope, receive, send)
        elif self._api is not None and path.startswith("/api/"):
            await self._api(scope, receive, send)
        elif path.startswith(CHAT_PREFIX):
            if self._chat is not None:
                await self._chat(scope, receive, send)
            else:
                await _send_chat_error(send, 404, CHAT_NOT_CONFIGURED)
        elif self._pages is not None and (path == "/ui" or path.startswith("/ui/")):
            await self._pages(scope, receive, send)
        elif self._pages is not None and path == "/" and _is_browser(scope):
            await send({"type": "http.response.start", "status": 307, "headers": [(b"location", b"/ui/"), _EMPTY_BODY]})
            await send({"type": "http.response.body", "body": b""})
        elif path != "/health":
            await _send_problem(send, 404, f"Nothing is at {path[:200]!r}. MCP clients connect to /mcp.")
        elif scope["method"] not in ("GET", "HEAD"):
            await _send_problem(send, 405, "Ask for /health with GET.", (b"allow", b"GET, HEAD"))
        else:
            await _send_json(send, 200, {"status": "ok"}, (b"content-type", b"application/json"))


def _is_browser(scope: "Scope") -> bool:
    """Whether somebody wants to see a page. A client that only looks around is told where MCP is."""
    return scope["method"] in ("GET", "HEAD") and any(
        name == b"accept" and b"text/html" in value.lower() for name, value in scope["headers"]
    )


class LazyApp:
    """An application that is made for its first request: most gateways are only called, and it takes its room."""

    def __init__(self, make: Callable[[], "ASGIApp"]) -> None:
        self._make = make
        self._app: ASGIApp | None = None
        self._lock = anyio.Lock()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if self._app is None:
            async with self._lock:
                if self._app is None:
                    self._app = await anyio.to_thread.run_sync(self._make)
        await self._app(scope, receive, send)


async def _send_problem(send: "Send", status: int, detail: str, *headers: tuple[bytes, bytes]) -> None:
    title = PHRASES.get(status, "Refused")
    body: dict[str, object] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    await _send_json(send, status, body, (b"content-type", b"application/problem+json"), *headers)


async def _send_chat_error(send: "Send", status: int, message: str) -> None:
    """In the words of the API that is spoken at /v1."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    await _send_json(send, status, {"error": error}, (b"content-type", b"application/json"))


async def _send_json(send: "Send", status: int, body: dict[str, object], *headers: tuple[bytes, bytes]) -> None:
    text = json.dumps(body).encode()
    length = (b"content-length", str(len(text)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": text})
