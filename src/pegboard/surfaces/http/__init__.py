"""Listening: a bound socket and the server on it, ended in an orderly way."""
