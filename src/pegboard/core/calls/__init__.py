"""Calls as values: admission, tickets, records, and programs of code mode. Nothing is executed here."""
