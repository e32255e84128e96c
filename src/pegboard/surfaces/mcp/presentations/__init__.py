"""The presentations over MCP, one module each."""
