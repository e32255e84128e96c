"""The databases in use and their two tools. Loaded only if a database is declared.

Imported only where a database is declared.
"""
