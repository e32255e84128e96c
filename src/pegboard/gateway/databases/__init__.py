"""Databases as tools of the gateway's own: which are open, and what is answered from them.

Imported only where a database is declared.
"""
