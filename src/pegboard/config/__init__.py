"""Settings: pegboard.yaml, toolset.yaml, and server lists of other MCP clients."""
