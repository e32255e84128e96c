"""Processes that a provider starts: what they are given, what they write, and their end with all they started."""
