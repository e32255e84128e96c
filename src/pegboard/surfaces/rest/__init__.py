"""The JSON API under /api/v1: what operators, the command line and the web UI are clients of."""
