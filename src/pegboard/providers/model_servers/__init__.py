"""Servers of language models. Loaded when the first chat starts."""
