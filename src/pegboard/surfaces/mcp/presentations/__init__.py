"""How tools are listed and called over MCP, one module for each presentation."""
