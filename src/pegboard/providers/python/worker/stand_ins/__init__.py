"""Modules under the names of others, for toolsets that were made for other programs. A worker's imports end here."""
