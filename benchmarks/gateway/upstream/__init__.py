"""The MCP server behind every gateway of this benchmark: hand-written, so that it is never what limits the others."""
