"""Chat over one gateway: its model servers, and the door that it shares with the MCP endpoint.

Nothing of it is loaded before the first request.
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from .surroundings import folder_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from pegboard.core.ids import PrincipalId
    from pegboard.core.view import View
    from pegboard.gateway.board import Board
    from pegboard.surfaces.chat.faults import Refused
    from pegboard.surfaces.mcp.door import Door
    from pegboard.surfaces.mcp.entrance import Entrance

    from .house import House


def chat_of(house: "House", door: "Door", entrance: "Entrance") -> "ASGIApp":
    from pegboard.config.references import expander
    from pegboard.gateway.chat.chat import Chat
    from pegboard.gateway.chat.serving import Models
    from pegboard.providers.models.openai import OpenAiServer
    from pegboard.surfaces.chat.app import ChatApp
    from pegboard.surfaces.chat.gate import Gate
    from pegboard.surfaces.mcp.lent import lent_twice
    from pegboard.surfaces.mcp.view import refusal

    settings = house.chat
    assert settings is not None
    expand = expander(os.environ, folder_of(house.settings))
    servers = {name: OpenAiServer(said, expand) for name, said in settings.servers.items()}
    for server in servers.values():
        house.at_end(server.aclose)
    gate = Gate(
        principal=partial(_principal, entrance),
        view=partial(_view, house.gateway.board),
        unknown=lambda view: refusal(house.gateway.board.resolution(view)),
        own_headers=entrance.own_headers,
        lent_twice=partial(lent_twice, house.gateway),
        client=door.proxies.client,
        largest_body=door.largest_body,
        most_values=door.most_values,
        patience=door.patience,
        settle=door.settle,
    )
    return ChatApp(Chat(house.gateway, Models(settings, servers), settings.limits), gate)


def _principal(entrance: "Entrance", authorization: bytes | None, address: str) -> "PrincipalId | Refused":
    from pegboard.surfaces.chat.faults import Refused
    from pegboard.surfaces.mcp.door import Refused as TurnedAway

    found = entrance.principal_of(authorization, address)
    if not isinstance(found, TurnedAway):
        return found
    return Refused(found.status, found.message, headers=found.headers)


def _view(
    board: "Board", headers: Sequence[tuple[bytes, bytes]], query: bytes, principal: "PrincipalId"
) -> "View | Refused":
    from pegboard.core.docspace.on_board import docspace_on
    from pegboard.surfaces.chat.faults import bad
    from pegboard.surfaces.mcp.lending import unwelcome
    from pegboard.surfaces.mcp.view import BadOption, view_of

    docspace = docspace_on(board.policy)
    if docspace is not None and (why := unwelcome(docspace, dict(headers), query)) is not None:
        return bad(why)
    found = view_of(headers, query, principal)
    return bad(found.why) if isinstance(found, BadOption) else found
