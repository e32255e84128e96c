"""Server lists of other MCP clients: where they are, and their entries as our settings."""
