"""JSON as values, kept as text until somebody looks at it."""
