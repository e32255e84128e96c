"""The DocSpace of a board, if it has one."""

from typing import Final

from pegboard.core.ids import ToolsetId, ToolsetKey
from pegboard.core.policy import Policy

from .connection import DocSpace, Lends

_ANY: Final = ToolsetKey(ToolsetId("files"))
"""All of its toolsets are reached the same way."""


def docspace_on(policy: Policy) -> DocSpace | None:
    server = policy.servers.get(_ANY)
    return server.connection if server is not None and isinstance(server.connection, DocSpace) else None


def lends_on(policy: Policy) -> Lends | None:
    found = docspace_on(policy)
    return None if found is None else found.lends
