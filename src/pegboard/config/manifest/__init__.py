"""toolset.yaml, the manifest of a toolset: read, checked against the files, and written."""
