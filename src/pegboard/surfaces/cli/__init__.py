"""The command line: a client of the REST API of a running gateway, or of one opened for the command."""
