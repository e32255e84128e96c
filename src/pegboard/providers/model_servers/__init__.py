"""Servers that run language models. Loaded for the first who chats."""
