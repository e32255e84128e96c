"""JSON values, kept as text until they are read."""
