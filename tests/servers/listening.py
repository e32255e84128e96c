"""Serving a peer over HTTP on a free port that it tells.

A program beside this one imports it by its bare name: it is run as `python tests/servers/NAME.py`.
"""

import socket
import sys
from typing import Any

import uvicorn


def serve_http(app: Any, port: int) -> None:
    """Tells `PORT n` on stderr, then serves until it is told to end."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        # Listening before the port is told: a client that connects at once waits in the queue instead of being refused.
        listener.listen(128)
        print(f"PORT {listener.getsockname()[1]}", file=sys.stderr, flush=True)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])
