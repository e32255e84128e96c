"""Attacks on databases, run on real engines and judged by what became of the database."""
