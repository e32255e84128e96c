"""Child processes: start, environment, output, end."""
