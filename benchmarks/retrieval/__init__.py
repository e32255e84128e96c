"""How well a search finds the right tools: ours, and FastMCP's on the same tools and requests."""
