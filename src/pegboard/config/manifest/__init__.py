"""toolset.yaml, the manifest of a toolset: read, checked against the toolset's files, and written again."""
