"""Databases as the core knows them: what a source is called, what of it may be read, and how much of an answer is."""
