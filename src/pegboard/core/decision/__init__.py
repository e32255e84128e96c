"""The decision: which tools a caller gets now, by which rules, and why a tool is missing."""
