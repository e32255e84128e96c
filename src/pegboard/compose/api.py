"""The operator's API over one gateway, for a listener or for a command in the same process."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.link import Api

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from pegboard.gateway.access.reception import Reception

    from .house import House


def rest_of(house: "House", endpoint: str | None, reception: "Reception") -> "ASGIApp":
    from pegboard.surfaces.rest.app import rest_app
    from pegboard.surfaces.rest.settings import About

    about = About(house.file, str(house.data_dir), endpoint, house.store_url, house.storage)
    return rest_app(house.gateway, about, reception, lambda: house.desk, lambda: house.installer)


@asynccontextmanager
async def in_process(house: "House") -> AsyncIterator[Api]:
    import httpx2

    from pegboard.gateway.access.keys import Keys, hashed
    from pegboard.gateway.access.reception import Reception
    from pegboard.surfaces.cli.client import HttpApi

    token = secrets.token_urlsafe(32)
    keys = Keys(house.gateway.board, hashed(token), house.gateway.clock, house.uses)
    api = rest_of(house, None, Reception(keys, visits=house.visits.visits, keeping=house.visits))
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(api, raise_app_exceptions=False),
        base_url="http://127.0.0.1",
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
    ) as client:
        yield HttpApi(client, "the gateway in this process", running=False)
