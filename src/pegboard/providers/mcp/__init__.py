"""Upstream MCP servers over stdio, streamable HTTP and SSE."""

from collections.abc import Callable
from secrets import token_bytes

from pegboard.core.model.server import Server
from pegboard.ports.providers import Clock, ExpandForCaller, Provider
from pegboard.providers.mcp.oauth.sign_in import SignInService
from pegboard.providers.mcp.per_caller import PerCallerProvider, header_requirements
from pegboard.providers.mcp.provider import McpServerProvider

__all__ = ["McpServerProvider", "PerCallerProvider", "mcp_provider"]


def mcp_provider(
    server: Server,
    expand_for: ExpandForCaller,
    clock: Clock,
    desk: SignInService | None = None,
    tag_key: Callable[[], bytes] = token_bytes,
) -> Provider:
    """One connection for all callers, or one for each where the server is told who calls; there nobody signs in, and
    a person's yes to a call is bound to its credentials with the `tag_key`."""
    wants = header_requirements(server.connection)
    if wants is None:
        return McpServerProvider(server, expand_for({}), clock, desk=desk)
    return PerCallerProvider(server, wants, expand_for, clock, tag_key=tag_key)
