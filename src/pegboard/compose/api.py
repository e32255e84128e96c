"""The operator's API over one gateway, for a listener or for a command in the same process."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.link import ApiClient

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from pegboard.gateway.access.reception import OperatorAuthentication

    from .house import Application


def make_rest_api(house: "Application", endpoint: str | None, reception: "OperatorAuthentication") -> "ASGIApp":
    from pegboard.surfaces.rest.app import rest_app
    from pegboard.surfaces.rest.settings import RuntimeInfo

    about = RuntimeInfo(house.config_file, str(house.data_dir), endpoint, house.store_url, house.storage)
    return rest_app(house.gateway, about, reception, lambda: house.sign_in_service, lambda: house.installer)


@asynccontextmanager
async def in_process_api(house: "Application") -> AsyncIterator[ApiClient]:
    import httpx2

    from pegboard.gateway.access.keys import TokenIndex, hash_token
    from pegboard.gateway.access.reception import OperatorAuthentication
    from pegboard.surfaces.cli.client import HttpApiClient

    token = secrets.token_urlsafe(32)
    keys = TokenIndex(house.gateway.board, hash_token(token), house.gateway.clock, house.token_usage)
    api = make_rest_api(
        house,
        None,
        OperatorAuthentication(
            keys, sessions=house.session_persistence.sessions, session_persistence=house.session_persistence
        ),
    )
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(api, raise_app_exceptions=False),
        base_url="http://127.0.0.1",
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
    ) as client:
        yield HttpApiClient(client, "the gateway in this process", is_running=False)
