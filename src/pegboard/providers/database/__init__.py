"""Engines for databases: one package an engine, each behind the same port."""
