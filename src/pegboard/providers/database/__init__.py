"""Database engines, one package each, behind one port."""
