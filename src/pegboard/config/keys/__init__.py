"""The keys of pegboard.yaml, section by section: names, types and descriptions. Reads no file."""
