"""The files of the web UI."""
