"""Tools of MCP servers, over stdio, streamable HTTP and SSE: connected, listed, called and kept alive."""

from collections.abc import Callable
from secrets import token_bytes

from pegboard.core.server import Server
from pegboard.ports import Clock, ExpandFor, Provider

from .callers import asked
from .oauth import Desk
from .per_caller import PerCaller
from .server import McpServer

__all__ = ["McpServer", "PerCaller", "mcp_provider"]


def mcp_provider(
    server: Server,
    expand_for: ExpandFor,
    clock: Clock,
    desk: Desk | None = None,
    tag_key: Callable[[], bytes] = token_bytes,
) -> Provider:
    """One connection for all callers, or one for each where the server is told who calls; there nobody signs in, and
    a person's yes to a call is bound to its credentials with the `tag_key`."""
    wants = asked(server.connection)
    if wants is None:
        return McpServer(server, expand_for({}), clock, desk=desk)
    return PerCaller(server, wants, expand_for, clock, tag_key=tag_key)
