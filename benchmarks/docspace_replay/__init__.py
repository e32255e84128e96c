"""Recorded calls of DocSpace's own MCP server, made again through the gateway: what is sent, and what is answered."""
