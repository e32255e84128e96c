"""The ways the suite goes: straight, or through a gateway; to our everything-server, or from a client of ours to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from tests.e2e.served import served
from tests.servers import peers

PROGRAM: Final = "everything"
DEADLINE: Final = 60


@dataclass(frozen=True)
class Way:
    name: str
    about: str
    upstream: Literal["http", "stdio"] = "http"
    era: Literal["both", "handshake", "stateless"] = "both"
    gateway: bool = True
    clients: bool = False
    """The suite plays the server and judges the client, which is the gateway in its other part."""


ALONE: Final = Way("alone", "the server alone, over HTTP", "http", gateway=False)
HTTP: Final = Way("http", "through the gateway, to HTTP", "http")
STDIO: Final = Way("stdio", "through the gateway, to stdio", "stdio")
CLIENT_ALONE: Final = Way("client-alone", "the client of the SDK, for comparison", gateway=False, clients=True)
WAYS: Final[tuple[Way, ...]] = (
    ALONE,
    HTTP,
    STDIO,
    Way("http-handshake", "through the gateway, to HTTP with sessions only", "http", "handshake"),
    Way("http-stateless", "through the gateway, to HTTP of 2026-07-28 only", "http", "stateless"),
    Way("stdio-handshake", "through the gateway, to stdio with sessions only", "stdio", "handshake"),
    Way("stdio-stateless", "through the gateway, to stdio of 2026-07-28 only", "stdio", "stateless"),
    CLIENT_ALONE,
    Way("client", "the gateway as a client of servers", clients=True),
)
MODELS: Final = {False: ALONE, True: CLIENT_ALONE}
"""What the other ways are held against, for servers and for clients."""


@asynccontextmanager
async def opened(way: Way, folder: Path) -> AsyncIterator[str]:
    """The address at which the suite finds the server, for as long as the block lasts."""
    await anyio.Path(folder).mkdir(parents=True)
    if way.upstream == "stdio":
        program, *arguments = peers.warm_command(PROGRAM, "--era", way.era)
        async with _gateway({"command": program, "args": arguments, "cwd": str(peers.ROOT)}, folder) as at:
            yield at
    else:
        async with peers.http(PROGRAM, "--era", way.era) as address:
            if not way.gateway:
                yield address
                return
            async with _gateway({"url": address}, folder) as at:
                yield at


@asynccontextmanager
async def _gateway(server: dict[str, Any], folder: Path) -> AsyncIterator[str]:
    """The only server of the board, so that names stay as they are; trusted, because the suite adds tools to it."""
    async with served(folder, {"servers": {PROGRAM: {**server, "trust": "open"}}}) as gateway:
        with anyio.fail_after(DEADLINE):
            await gateway.until("/servers", holds=is_up)
        yield gateway.endpoint


def is_up(body: Any) -> bool:
    return bool(body["servers"]) and all(server["health"]["state"] == "up" for server in body["servers"])
