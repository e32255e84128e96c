"""Tools of MCP servers, over stdio, streamable HTTP and SSE: connected, listed, called and kept alive."""

from .server import McpServer

__all__ = ["McpServer"]
