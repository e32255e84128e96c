"""An error of JSON-RPC in place of the answer to a request that is not served."""

import json
from typing import TYPE_CHECKING

from .door import HttpRejection
from .wire import sanitize_text

if TYPE_CHECKING:
    from starlette.types import Send


async def send_rejection(send: "Send", refused: HttpRejection) -> None:
    error = {"code": refused.code, "message": sanitize_text(refused.message)}
    body = json.dumps({"jsonrpc": "2.0", "id": refused.id, "error": error}, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *refused.headers,
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
