"""Pegboard: one wall for the tools of AI models."""

__version__ = "0.1.0"
