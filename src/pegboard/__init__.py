"""Pegboard: one gateway and one library for all tools of AI models."""

__version__ = "0.1.0"
