"""The gateway as an MCP server over stdio and streamable HTTP, in both protocol revisions."""
