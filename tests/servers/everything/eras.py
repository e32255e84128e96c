"""Pinning the server to one era, as if the other had never been or were long gone."""

from typing import Final, Literal

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .turn import Context

Era = Literal["both", "handshake", "stateless"]
ERAS: Final[tuple[Era, ...]] = ("both", "handshake", "stateless")


def pinned(app: ASGIApp, era: Era) -> ASGIApp:
    """Over HTTP the header tells the era; what belongs to the other one is refused as such servers refuse it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or era == "both":
            await app(scope, receive, send)
            return
        version = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode("latin-1")
        of_the_handshake = version == "" or version in HANDSHAKE_PROTOCOL_VERSIONS
        if of_the_handshake == (era == "handshake"):
            await app(scope, receive, send)
        else:
            await JSONResponse(_refusal(era, version), 400)(scope, receive, send)

    return answer


def _refusal(era: Era, version: str) -> dict[str, object]:
    if era == "handshake":
        error: dict[str, object] = {
            "code": INVALID_REQUEST,
            "message": f"Bad Request: Unsupported protocol version: {version}",
        }
    else:
        error = {
            "code": UNSUPPORTED_PROTOCOL_VERSION,
            "message": "Unsupported protocol version",
            "data": {"supported": [LATEST_MODERN_VERSION], "requested": version},
        }
    return {"jsonrpc": "2.0", "id": None, "error": error}


async def without_handshake(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Over stdio the first request tells the era."""
    if ctx.method == "initialize":
        asked = str((ctx.params or {}).get("protocolVersion", ""))
        raise MCPError(
            UNSUPPORTED_PROTOCOL_VERSION,
            "Unsupported protocol version",
            {"supported": [LATEST_MODERN_VERSION], "requested": asked},
        )
    return await call_next(ctx)
