"""The root of the HTTP surface: hands a request to the MCP endpoint, the API or the small answers of its own."""

import json

from starlette.types import ASGIApp, Receive, Scope, Send


class Root:
    def __init__(self, *, mcp: ASGIApp, api: ASGIApp) -> None:
        self._mcp = mcp
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http":
            await _refuse_websocket(receive, send)
        elif path == "/mcp" or path.startswith("/mcp/"):
            await self._mcp(scope, receive, send)
        elif path.startswith("/api/"):
            await self._api(scope, receive, send)
        elif path == "/health":
            await _answer(send, 200, {"status": "ok"})
        else:
            await _answer(send, 404, {"detail": f"Nothing is at {path!r}. MCP clients connect to /mcp."})


async def _answer(send: Send, status: int, body: dict[str, str]) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def _refuse_websocket(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 1003})
