"""The gateway as an MCP server: the direct presentation over stdio and streamable HTTP, in both protocol eras."""
