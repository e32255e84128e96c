"""The REST API under /api/v1, for operators, the command line and the web UI."""
