"""Talking with models: asks a model server, calls the tools that the model wants, and goes on until there is an answer.

Loaded for the first who chats.
"""
