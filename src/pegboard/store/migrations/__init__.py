"""Alembic's folder: `env.py` and one file a revision under `versions`. Run by `store/open.py`, never by hand."""
