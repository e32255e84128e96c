"""Serves the built pages of the UI, and signs browsers in."""
