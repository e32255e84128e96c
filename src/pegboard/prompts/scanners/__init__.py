"""What formats are read by: an engine for JSON behind markers, one for tags, one for Python literals."""
