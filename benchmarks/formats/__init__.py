"""How fast model output is read by each format, and what happens to output that nobody foresaw."""
