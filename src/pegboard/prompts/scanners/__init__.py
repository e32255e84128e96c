"""Scanners: one for JSON behind markers, one for tags, one for Python literals, and others."""
