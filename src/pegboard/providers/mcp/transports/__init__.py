"""Transports: stdio, streamable HTTP, HTTP with server-sent events."""
