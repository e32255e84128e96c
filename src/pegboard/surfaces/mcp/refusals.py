"""An error of JSON-RPC in place of the answer to a request that is not served."""

import json
from typing import TYPE_CHECKING

from .door import Refused
from .wire import sound_text

if TYPE_CHECKING:
    from starlette.types import Send


async def refuse(send: "Send", refused: Refused) -> None:
    error = {"code": refused.code, "message": sound_text(refused.message)}
    body = json.dumps({"jsonrpc": "2.0", "id": refused.id, "error": error}, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *refused.headers,
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
