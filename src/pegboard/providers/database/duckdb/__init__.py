"""DuckDB: a file opened to be read, with nothing of the machine in reach, in a worker of its own."""
