"""Chat over one gateway: its model servers, and the door that it shares with the MCP endpoint.

Nothing of it is loaded before the first request.
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from .surroundings import reference_folder

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from pegboard.core.ids import PrincipalId
    from pegboard.core.view import View
    from pegboard.gateway.board import BoardState
    from pegboard.surfaces.chat.faults import ChatRejection
    from pegboard.surfaces.mcp.door import RequestChecks
    from pegboard.surfaces.mcp.entrance import BearerAuthentication

    from .house import Application


def make_chat_app(house: "Application", door: "RequestChecks", entrance: "BearerAuthentication") -> "ASGIApp":
    from pegboard.config.references import expander
    from pegboard.gateway.chat.chat import Chat
    from pegboard.gateway.chat.serving import ModelDirectory
    from pegboard.providers.models.openai import OpenAiServer
    from pegboard.surfaces.chat.app import ChatApp
    from pegboard.surfaces.chat.gate import ChatAccess
    from pegboard.surfaces.mcp.lent import duplicate_credential_header
    from pegboard.surfaces.mcp.view import explain_unknown_names

    settings = house.chat
    assert settings is not None
    expand = expander(os.environ, reference_folder(house.settings))
    servers = {name: OpenAiServer(said, expand) for name, said in settings.servers.items()}
    for server in servers.values():
        house.on_close(server.aclose)
    gate = ChatAccess(
        principal_of=partial(_principal, entrance),
        view_of=partial(_view, house.gateway.board),
        unknown_names=lambda view: explain_unknown_names(house.gateway.board.resolution(view)),
        forwardable_headers=entrance.forwardable_headers,
        duplicate_credential_header=partial(duplicate_credential_header, house.gateway),
        client_address=door.proxies.client_address,
        max_body_bytes=door.max_body_bytes,
        max_values=door.max_values,
        client_timeout_s=door.client_timeout_s,
        startup_wait_s=door.startup_wait_s,
    )
    return ChatApp(Chat(house.gateway, ModelDirectory(settings, servers), settings.limits), gate)


def _principal(
    entrance: "BearerAuthentication", authorization: bytes | None, address: str
) -> "PrincipalId | ChatRejection":
    from pegboard.surfaces.chat.faults import ChatRejection
    from pegboard.surfaces.mcp.door import HttpRejection as TurnedAway

    found = entrance.principal_of(authorization, address)
    if not isinstance(found, TurnedAway):
        return found
    return ChatRejection(found.status, found.message, headers=found.headers)


def _view(
    board: "BoardState", headers: Sequence[tuple[bytes, bytes]], query: bytes, principal: "PrincipalId"
) -> "View | ChatRejection":
    from pegboard.core.docspace.on_board import docspace_of
    from pegboard.surfaces.chat.faults import bad_request
    from pegboard.surfaces.mcp.lending import explain_unaccepted_credentials
    from pegboard.surfaces.mcp.view import BadOption, view_of

    docspace = docspace_of(board.policy)
    if docspace is not None and (why := explain_unaccepted_credentials(docspace, dict(headers), query)) is not None:
        return bad_request(why)
    found = view_of(headers, query, principal)
    return bad_request(found.why) if isinstance(found, BadOption) else found
