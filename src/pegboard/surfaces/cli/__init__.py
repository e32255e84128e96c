"""The command line: a client of the JSON API, whether a gateway runs already or one is opened for the command."""
