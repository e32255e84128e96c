"""SQLite: a file opened to be read, under an authorizer and limits, in a worker of its own."""
