"""Schemas, rows and answers of databases."""
