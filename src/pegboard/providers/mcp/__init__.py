"""Tools of MCP servers, over stdio, streamable HTTP and SSE: connected, listed, called and kept alive."""

from pegboard.core.server import Server
from pegboard.ports import Clock, ExpandFor, Provider

from .callers import asked
from .oauth import Desk
from .per_caller import PerCaller
from .server import McpServer

__all__ = ["McpServer", "PerCaller", "mcp_provider"]


def mcp_provider(server: Server, expand_for: ExpandFor, clock: Clock, desk: Desk | None = None) -> Provider:
    """One connection for all callers, or one for each where the server is told who calls; there nobody signs in."""
    wants = asked(server.connection)
    if wants is None:
        return McpServer(server, expand_for({}), clock, desk=desk)
    return PerCaller(server, wants, expand_for, clock)
