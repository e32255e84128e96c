"""Alembic's folder: `env.py` and one file a revision under `versions`. Run by `store/migrate.py`, never by hand."""
