"""How messages travel to a server: stdio, streamable HTTP, HTTP with server-sent events."""
